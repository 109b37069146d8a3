package config

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
)

// readEngines reads the configuration's engines, which endpoints anywhere in it may name.
func (c *Config) readEngines(root value) error {
	entries, err := root.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.key != "engines" {
			continue
		}
		engines, err := e.entries()
		if err != nil {
			return err
		}
		for _, one := range engines {
			if err := c.changeEngine(one); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Config) changeEngine(e entry) error {
	var change engine.Change
	text := func(to *string) func(value) error {
		return func(v value) (err error) { *to, err = v.nonEmpty("the name of a metric"); return err }
	}
	err := e.fields(map[string]func(value) error{
		"path": func(v value) error {
			path, err := v.text()
			if err == nil && (!strings.HasPrefix(path, "/") || strings.ContainsAny(path, " #")) {
				return v.errorf("%q is no path; one such as /metrics is right", path)
			}
			change.Path = path
			return err
		},
		"port":         func(v value) error { return readPort(v, &change.Port) },
		"waiting":      text(&change.Waiting),
		"running":      text(&change.Running),
		"kvCacheUsage": text(&change.KVCacheUsage),
		"cacheInfo":    text(&change.CacheInfo),
		"loraInfo":     text(&change.LoRAInfo),
	})
	if err != nil {
		return err
	}
	changed, err := c.Engines.With(e.key, change)
	if err != nil {
		return e.errorf("%v", err)
	}
	c.Engines = changed
	return nil
}

func readPort(v value, to *uint16) error {
	port, err := v.integer(1, 65535)
	*to = uint16(port)
	return err
}
