package address

import (
	"slices"
	"strings"
)

// Mongo says what is wrong with the URI of a MongoDB, mongodb://user:password@host:port,host:port/database?options or
// mongodb+srv://host; empty is nothing. What options say together, and the files that they name, is the driver's to
// check.
func Mongo(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || rest == "" || scheme != "mongodb" && scheme != "mongodb+srv" {
		return "is not a URI of mongodb:// or mongodb+srv://"
	}
	if user, behind, ok := strings.Cut(rest, "@"); ok {
		name, password, _ := strings.Cut(user, ":")
		switch {
		case name == "":
			return "has no user before its password"
		case strings.Contains(user, "/") || strings.Contains(password, ":") || !isEscaped(user):
			return unescaped
		}
		rest = behind
	}
	hosts, behind, slash := strings.Cut(rest, "/")
	switch {
	case strings.Contains(hosts, "@"):
		return unescaped
	case strings.Contains(hosts, "?"):
		return "has no / before its options"
	case scheme == "mongodb+srv" && !isHostOnly(hosts):
		return "has more than one host, or a port; mongodb+srv:// has one name that is looked up"
	case !areMongoHosts(hosts):
		return "has no servers of the form host or host:port"
	case !slash:
		return ""
	}
	database, query, _ := strings.Cut(behind, "?")
	if !isEscaped(database) {
		return "has a database's name with a % that has to be written as %25"
	}
	return mongoOptions(query, scheme == "mongodb+srv")
}

func isHostOnly(hosts string) bool { return hosts != "" && !strings.ContainsAny(hosts, ",:") }

// areMongoHosts reports whether a text is a list of hosts, of which one at least is not empty.
func areMongoHosts(text string) bool {
	some := false
	for host := range strings.SplitSeq(text, ",") {
		if host == "" {
			continue
		}
		some = true
		bare := strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") && isIPv6(host[1:len(host)-1]) ||
			!strings.ContainsAny(host, ":[] ")
		if _, port, ok := HostPort(host); !isEscaped(host) || !bare && (!ok || port == 0) {
			return false
		}
	}
	return some
}

// optionsOfMongo are those whose values are checked; others are text, or not known, which the driver does not mind.
var optionsOfMongo = []option{{"connecttimeoutms", aCount},
	{"enableoverloadretargeting", trueOrFalse}, {"heartbeatfrequencyms", aCount}, {"heartbeatintervalms", aCount},
	{"journal", trueOrFalse}, {"loadbalanced", trueOrFalse}, {"localthresholdms", aCount},
	{"maxadaptiveretries", aCount}, {"maxconnecting", aCount}, {"maxidletimems", aCount}, {"maxpoolsize", aCount},
	{"maxstaleness", aCount}, {"maxstalenessseconds", aCount}, {"minpoolsize", aCount}, {"retryreads", trueOrFalse},
	{"retrywrites", trueOrFalse}, {"serverselectiontimeoutms", aCount}, {"sockettimeoutms", aCount},
	{"srvmaxhosts", aCount}, {"ssl", trueOrFalse}, {"sslinsecure", trueOrFalse}, {"timeoutms", aCount},
	{"tls", trueOrFalse}, {"tlsdisablecertificaterevocationcheck", trueOrFalse},
	{"tlsdisableocspendpointcheck", trueOrFalse}, {"tlsinsecure", trueOrFalse}, {"zlibcompressionlevel", aNumber},
	{"zstdcompressionlevel", aNumber}}

// choicesOfMongo are the options that have one of some values, in lower case.
var choicesOfMongo = []struct{ name, values string }{
	{"authmechanism", " gssapi mongodb-aws mongodb-oidc mongodb-x509 plain scram-sha-1 scram-sha-256 "},
	{"connect", " automatic direct "},
	{"directconnection", " true false "},
	{"readpreference", " primary primarypreferred secondary secondarypreferred nearest "},
	{"servermonitoringmode", " auto stream poll "},
}

func mongoOptions(query string, srv bool) string {
	for _, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return "has an option without a name or a value"
		}
		lower := strings.ToLower(name)
		if !isEscaped(pair) {
			return "has an option with a % that has to be written as %25"
		}
		if !srv && (lower == "srvmaxhosts" || lower == "srvservicename") {
			return "has the option " + name + ", which is one of mongodb+srv://"
		}
		if !isOfMongo(lower, value) {
			return "has a wrong value of the option " + name
		}
	}
	return ""
}

// isOfMongo reports whether an option may have a value.
func isOfMongo(name, value string) bool {
	if i := slices.IndexFunc(optionsOfMongo, func(o option) bool { return o.name == name }); i >= 0 {
		return optionsOfMongo[i].kind.allows(value)
	}
	for _, c := range choicesOfMongo {
		if c.name == name && value != "" {
			return strings.Contains(c.values, " "+strings.ToLower(value)+" ")
		}
	}
	return true
}
