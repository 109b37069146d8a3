package scoring

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
)

// mostSubset bounds the addresses of a subset that are looked at.
const mostSubset = 1024

// hostPlace is an endpoint by the hash of its host.
type hostPlace struct {
	host     uint64
	endpoint int32
}

// indexHosts sorts the endpoints by their hosts, as a subset may name as many as there are.
func (p *Pool) indexHosts() {
	p.hosts = p.hosts[:0]
	for i := range p.Endpoints {
		p.hosts = append(p.hosts, hostPlace{journal.HashName(p.Endpoints[i].Host()), int32(i)})
	}
	slices.SortFunc(p.hosts, func(a, b hostPlace) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.endpoint, b.endpoint))
	})
}

// readSubset finds out which endpoints the request's subset names. Ports do not count, as in the endpoint picker
// protocol.
func (c *Cycle) readSubset() {
	if !c.Request.Restricted {
		return
	}
	c.named = scratch.Resize(c.named, len(c.Pool.Endpoints))
	clear(c.named)
	rest := c.Request.Subset
	for range mostSubset {
		var address string
		if address, rest = nextAddress(rest); address == "" {
			break
		}
		c.name(hostOf(address))
	}
}

// name marks the endpoints of a host.
func (c *Cycle) name(host string) {
	hash := journal.HashName(host)
	at, _ := slices.BinarySearchFunc(c.Pool.hosts, hash, func(h hostPlace, hash uint64) int {
		return cmp.Compare(h.host, hash)
	})
	for _, h := range c.Pool.hosts[at:] {
		if h.host != hash {
			break
		}
		if c.Pool.Endpoints[h.endpoint].Host() == host {
			c.named[h.endpoint] = true
		}
	}
}

// inSubset reports whether the request may go to an endpoint, as far as its subset says.
func (c *Cycle) inSubset(i int) bool { return !c.Request.Restricted || c.named[i] }

// reaches reports whether any of the endpoints that serve the model is in the subset.
func (c *Cycle) reaches() bool {
	for i, serves := range c.serving {
		if serves && c.inSubset(i) {
			return true
		}
	}
	return false
}

// removedBy says what keeps an endpoint from being a candidate, empty for nothing.
func (c *Cycle) removedBy(i int) string {
	switch {
	case !c.serving[i]:
		return removedModel
	case !c.inSubset(i):
		return removedSubset
	case len(c.excluded) > 0 && c.excluded[i]:
		return removedScreen
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
