package address

import "strings"

// Mongo says what is wrong with the URI of a MongoDB, mongodb://user:password@host:port,host:port/database?options or
// mongodb+srv://host; empty is nothing. Options are the driver's to check.
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
	if !isEscaped(query) {
		return "has an option with a % that has to be written as %25"
	}
	return ""
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
