package address

import (
	"strconv"
	"strings"
)

// Redis says what is wrong with the URL of a Redis or Valkey, which has the schemes redis and valkey, and with an s
// behind for TLS; empty is nothing. Options are the client's to check.
func Redis(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || rest == "" || scheme != "redis" && scheme != "rediss" && scheme != "valkey" && scheme != "valkeys" {
		return "is not a URL of redis://, rediss://, valkey:// or valkeys://"
	}
	if strings.Contains(rest, "#") {
		return "has a #, which has to be written as %23"
	}
	rest, query, _ := strings.Cut(rest, "?")
	server, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(server, '@'); at >= 0 {
		if !isUser(server[:at]) {
			return unescaped
		}
		server = server[at+1:]
	}
	switch {
	case !isServer(server) && strings.Contains(path+query, "@"):
		return unescaped
	case !isServer(server):
		return "has no server of the form host or host:port"
	case !isDatabase(path):
		return "has a path that is no number of a database"
	case strings.ContainsFunc(text, isControl):
		return "has a control character"
	}
	return ""
}

// isServer reports whether a text is a host, a port behind a colon, both or none.
func isServer(text string) bool {
	text = strings.TrimSuffix(text, ":")
	if host, port, ok := HostPort(text); ok {
		return port > 0 && (isHost(host) || isIPv6InURL(host))
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && isIPv6InURL(inner)
	}
	return isHost(text)
}

// isIPv6InURL reports whether a text is an address as URLs have it: the percent sign of a zone is %25 (RFC 6874), and
// its name has none.
func isIPv6InURL(host string) bool {
	_, zone, zoned := strings.Cut(host, "%")
	name, ok := strings.CutPrefix(zone, "25")
	return isIPv6(host) && (!zoned || ok && name != "" && isHost(name))
}

// isHost reports whether a text may be a host's name or address, or is empty.
func isHost(text string) bool {
	for _, r := range text {
		if r < 0x80 && !isLetter(r) && !strings.ContainsRune("-._~", r) {
			return false
		}
	}
	return true
}

func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// isUser reports whether a text may stand before an @ (RFC 3986, userinfo, with @ itself).
func isUser(text string) bool {
	for _, r := range text {
		if !isLetter(r) && !strings.ContainsRune("-._~:!$&'()*+,;=%@", r) {
			return false
		}
	}
	return isEscaped(text)
}

// isDatabase reports whether a path is empty or a number.
func isDatabase(path string) bool {
	path = strings.Trim(path, "/")
	_, err := strconv.ParseUint(path, 10, 31)
	return path == "" || err == nil
}
