package address

import (
	"slices"
	"strconv"
	"strings"
)

// Redis says what is wrong with the URL of a Redis or Valkey, which has the schemes redis and valkey, and with an s
// behind for TLS; empty is nothing.
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
	return redisOptions(query, scheme == "rediss" || scheme == "valkeys")
}

// isServer reports whether a text is a host, a port behind a colon, both or none.
func isServer(text string) bool {
	text = strings.TrimSuffix(text, ":")
	if host, port, ok := HostPort(text); ok {
		return port > 0 && (isHost(host) || isIPv6(host))
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && isIPv6(inner)
	}
	return isHost(text)
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

// optionsOfRedis are those that the client knows. What they say of time limits and connections does not count, as the
// sidecar has its own.
var optionsOfRedis = []option{{"db", aCount}, {"protocol", aNumber}, {"client_name", aText}, {"max_retries", aNumber},
	{"min_retry_backoff", aDuration}, {"max_retry_backoff", aDuration}, {"dial_timeout", aDuration},
	{"read_timeout", aDuration}, {"write_timeout", aDuration}, {"pool_fifo", aBool}, {"pool_size", aNumber},
	{"pool_timeout", aDuration}, {"min_idle_conns", aNumber}, {"max_idle_conns", aNumber},
	{"max_active_conns", aNumber}, {"max_concurrent_dials", aNumber}, {"pipeline_pool_size", aNumber},
	{"pipeline_read_buffer_size", aNumber}, {"pipeline_write_buffer_size", aNumber},
	{"conn_max_idle_time", aDuration}, {"idle_timeout", aDuration}, {"conn_max_lifetime", aDuration},
	{"max_conn_age", aDuration}, {"conn_max_lifetime_jitter", aDuration}}

func redisOptions(query string, secure bool) string {
	known := optionsOfRedis
	if secure {
		known = append(slices.Clip(known), option{"skip_verify", aBool})
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		at := slices.IndexFunc(known, func(o option) bool { return o.name == name })
		switch {
		case pair == "":
		case at < 0:
			return "has an option that is not known"
		case value != "" && !known[at].kind.allows(value):
			return "has a wrong value of the option " + name
		}
	}
	return ""
}
