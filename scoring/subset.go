package scoring

import "strings"

// mostSubset bounds the addresses of a subset that are looked at.
const mostSubset = 1024

// restrict finds out which endpoints the request's subset names, and reports whether any of those that serve the model
// is among them. Ports do not count, as in the endpoint picker protocol.
func (c *Cycle) restrict() (left bool) {
	if !c.Request.Restricted {
		return true
	}
	c.named = resizeBools(c.named, len(c.Pool.Endpoints))
	clear(c.named)
	rest := c.Request.Subset
	for range mostSubset {
		var address string
		if address, rest = nextAddress(rest); address == "" {
			break
		}
		host := hostOf(address)
		for i := range c.Pool.Endpoints {
			if c.serving[i] && c.Pool.Endpoints[i].Host() == host {
				c.named[i], left = true, true
			}
		}
	}
	return left
}

// removedBy says what keeps an endpoint from being a candidate, empty for nothing.
func (c *Cycle) removedBy(i int) string {
	switch {
	case !c.serving[i]:
		return removedModel
	case c.Request.Restricted && !c.named[i]:
		return removedSubset
	}
	return ""
}

// nextAddress takes the first address off a list, empty for none. Between addresses stands what is in none: commas, or
// the bytes by which Envoy tells a list.
func nextAddress(list string) (address, rest string) {
	start := 0
	for start < len(list) && !isAddressByte(list[start]) {
		start++
	}
	end := start
	for end < len(list) && isAddressByte(list[end]) {
		end++
	}
	return list[start:end], list[end:]
}

func isAddressByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' || c == '.' || c == ':' || c == '[' || c == ']'
}

// hostOf is an address without its port and without brackets.
func hostOf(address string) string {
	if address[0] == '[' {
		host, _, _ := strings.Cut(address[1:], "]")
		return host
	}
	host, port, found := strings.Cut(address, ":")
	if found && strings.IndexByte(port, ':') >= 0 {
		return address
	}
	return host
}
