package config

import (
	"path/filepath"
	"strconv"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/stores"
)

// Responses says where the conversations of the Responses API are kept and asked for.
type Responses struct {
	// Network and Address are where the filter asks.
	Network, Address string
	Backend          scoring.StoreBackend
	// At is what stands before the keys of Backend in mistakes: the file and what is on the way to them.
	At string
}

func (c *Config) readResponses(o *strictjson.Object) {
	address := askedAddress
	o.String("address", &address)
	backend := stores.ReadBackend(o, "storeConfig")
	if backend.Tiered != nil && o.Member("storeConfig").Has("inMemoryConfig") {
		c.idle = append(c.idle, "responses.storeConfig.inMemoryConfig has no effect: conversations are kept as "+
			"tieredConfig says")
	}
	o.Close()
	if !o.Present() {
		return
	}
	c.Responses = &Responses{Backend: backend, At: c.Path + ": responses."}
	c.Responses.Network, c.Responses.Address = readAsked(o, address)
	c.placeResponses(filepath.Dir(c.Path))
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// placeResponses has a relative file start from a folder.
func (c *Config) placeResponses(folder string) {
	if file := &c.Responses.Backend.Memory.File; *file != "" && !filepath.IsAbs(*file) {
		*file = filepath.Join(folder, *file)
	}
}

// applyResponses takes over what a responses-store of the filter's configuration says. Where it leaves open where
// conversations are kept, c's own word stands.
func (c *Config) applyResponses(s *scoring.ResponsesStore) {
	if s == nil {
		return
	}
	if c.Responses == nil {
		c.Responses = &Responses{Network: "tcp", Address: askedAddress}
	}
	if s.Backend.Stated || !c.Responses.Backend.Stated {
		c.Responses.Backend, c.Responses.At = s.Backend, c.Plugins+": responses-store: "
		c.placeResponses(filepath.Dir(c.Plugins))
	}
}
