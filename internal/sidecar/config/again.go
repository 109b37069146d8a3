package config

import (
	"maps"
	"reflect"
)

// ParseAgain is Parse of what c's file has become, and ApplyPlugins as c had it. Other files that c names are not read
// again: what has become of them since the start is for the next one.
func (c *Config) ParseAgain(content []byte) (*Config, error) {
	changed, err := parse(c.Path, content, maps.Clone(c.secrets))
	if err != nil {
		return nil, err
	}
	return changed, changed.applyPluginsOf(c)
}

// applyPluginsOf has c do what ApplyPlugins had o do.
func (c *Config) applyPluginsOf(o *Config) error {
	if o.layer == nil {
		return nil
	}
	c.Plugins, c.layer, c.store, c.Prefix.Index = o.Plugins, o.layer, o.store, o.Prefix.Index
	return c.take()
}

// SameButStatic reports whether c and o differ in nothing but what is read again when the file changes, and what has no
// effect.
func (c *Config) SameButStatic(o *Config) bool {
	same := *c
	same.Static, same.idle = o.Static, o.idle
	return reflect.DeepEqual(&same, o)
}
