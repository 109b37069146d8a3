package config

import (
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// Prefix says where the filter asks which servers have the beginning of a prompt, and how that is known; Index is nil
// when the filter does not ask.
type Prefix struct {
	Network, Address string
	Index            *scoring.PreciseIndex
	// given is set where the configuration has the key prefix.
	given bool
}

// askedAddress is where the filter asks by default.
const askedAddress = "127.0.0.1:10003"

func (c *Config) readPrefix(o *strictjson.Object) {
	c.Prefix.Network, c.Prefix.Address = "tcp", askedAddress
	if c.Responses != nil {
		c.Prefix.Network, c.Prefix.Address = c.Responses.Network, c.Responses.Address
	}
	address := askedAddress
	o.String("address", &address)
	o.Close()
	if o.Has("address") {
		c.Prefix.Network, c.Prefix.Address = readAsked(o, address)
	}
	c.Prefix.given = o.Present()
}

// Idle says of each key of the configuration that has no effect why that is.
func (c *Config) Idle() []string {
	all := slices.Clone(c.idle)
	if c.Prefix.given && c.Prefix.Index == nil {
		all = append(all, "prefix has no effect: no document of -plugins asks for exact prefixes")
	}
	return all
}

// checkListening notes an address that two parts would listen on.
func (c *Config) checkListening(root *strictjson.Object) {
	c.twoAtOne(root.Member("prefix").Has("address"), root.Mistake)
}

// twoAtOne tells note of each address that two parts would listen on; prefix is set where prefix.address is one. What
// the filter asks for may be at one.
func (c *Config) twoAtOne(prefix bool, note func(key, problem string)) {
	type place struct{ key, address string }
	places := []place{{"admin.address", c.AdminAddress}, {"admin.public", c.PublicAddress}}
	if c.Responses != nil {
		places = append(places, place{"responses.address", c.Responses.Address})
	}
	if prefix {
		places = append(places, place{"prefix.address", c.Prefix.Address})
	}
	for i, p := range places {
		for _, other := range places[:min(i, 2)] {
			if p.address == other.address && p.address != "" && !strings.HasSuffix(p.address, ":0") {
				note(p.key, strictjson.Quote(p.address)+" is "+other.key+", too; an address of its own is right")
			}
		}
	}
}

// readAsked reads an address where the filter asks.
func readAsked(o *strictjson.Object, address string) (network, at string) {
	if path, ok := strings.CutPrefix(address, "unix://"); ok && filepath.IsAbs(path) && path != "/" {
		return "unix", path
	}
	if _, port, err := net.SplitHostPort(address); err != nil || !isPort(port) {
		o.Mistake("address", strictjson.Quote(address)+" is no address; host:port such as "+askedAddress+
			" or unix:///path.sock is right")
	}
	return "tcp", address
}
