// Package address says what is wrong with the addresses in configurations. The filter, validate and the sidecar read
// them here, so that what one of them takes the others take, too. Nothing is looked up and nobody is asked.
//
// It compiles into the module, and is for start-up, not for the request path.
package address

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// HostPort takes host:port apart. A host with colons stands in brackets, and may be empty; a port is a number.
func HostPort(text string) (host string, port uint16, ok bool) {
	host, port, ok = cutPort(text)
	if inner, bracket := strings.CutPrefix(host, "["); bracket {
		host, bracket = strings.CutSuffix(inner, "]")
		return host, port, ok && bracket && isIPv6(host)
	}
	return host, port, ok && !strings.ContainsAny(host, ":[]/@ ")
}

// Endpoint takes ZeroMQ's tcp://host:port apart. The last colon is the port's, so that brackets may be left out.
func Endpoint(text string) (host string, port uint16, ok bool) {
	rest, ok := strings.CutPrefix(text, "tcp://")
	if !ok {
		return "", 0, false
	}
	host, port, ok = cutPort(rest)
	return strings.Trim(host, "[]"), port, ok
}

// HTTP reports whether a text is a URL of http:// or https:// with a host, a port of this machine, or both.
func HTTP(text string) bool {
	scheme, rest, ok := strings.Cut(text, "://")
	rest, _, _ = strings.Cut(rest, "?")
	server, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(server, '@'); at >= 0 {
		ok, server = ok && isUser(server[:at]), server[at+1:]
	}
	return ok && (scheme == "http" || scheme == "https") && strings.TrimSuffix(server, ":") != "" &&
		isServer(server) && isEscaped(path) && !strings.ContainsFunc(text, isControl)
}

// cutPort cuts a text at its last colon, behind which a number of 16 bits stands.
func cutPort(text string) (host string, port uint16, ok bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(text[colon+1:], 10, 16)
	return text[:colon], uint16(n), err == nil
}

func isIPv6(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Is6()
}

// CheckRedis notes what is wrong with the URL under key, and shows no password.
func CheckRedis(o *strictjson.Object, key, text string) {
	if problem := Redis(text); problem != "" {
		o.Mistake(key, Shown(text)+" "+problem+"; one such as redis://host:6379/0 is right")
	}
}

// CheckMongo is CheckRedis for the URI of a MongoDB.
func CheckMongo(o *strictjson.Object, key, text string) {
	if problem := Mongo(text); problem != "" {
		o.Mistake(key, Shown(text)+" "+problem+"; one such as mongodb://host:27017 is right")
	}
}

// unescaped is what is wrong with the most passwords.
const unescaped = "has a user or a password with characters that have to be written as %XX"

// hidden stands in place of what may be a secret.
const hidden = "xxxxx"

// Shown is a URL as mistakes show it: without what stands before an @, in the query, or where a password stands when
// its @ is missing.
func Shown(text string) string {
	if _, _, ok := HostPort(text); ok {
		return strictjson.Quote(text)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || strings.ContainsAny(scheme, "@?#:/ ") {
		return "the value"
	}
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, rest = hidden+"@", rest[at+1:]
	}
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end+1] + hidden
	}
	if user == "" {
		rest = withoutPassword(rest)
	}
	return strictjson.Quote(scheme + "://" + user + rest)
}

// withoutPassword hides what stands behind a colon and is no port.
func withoutPassword(rest string) string {
	hosts, _, _ := strings.Cut(rest, "/")
	from := 0
	for host := range strings.SplitSeq(hosts, ",") {
		name := 0
		if bracket := strings.IndexByte(host, ']'); strings.HasPrefix(host, "[") && bracket > 0 {
			name = bracket
		}
		if colon := strings.IndexByte(host[name:], ':'); colon >= 0 && !isDigits(host[name+colon+1:]) {
			return rest[:from+name+colon+1] + hidden
		}
		from += len(host) + 1
	}
	return rest
}

func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// isEscaped reports whether each % of a text has two hexadecimal digits behind it.
func isEscaped(text string) bool {
	for {
		_, behind, ok := strings.Cut(text, "%")
		if !ok {
			return true
		}
		if len(behind) < 2 || strings.Trim(behind[:2], "0123456789abcdefABCDEF") != "" {
			return false
		}
		text = behind[2:]
	}
}
