package config

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// ParseEndpoints reads a file with an endpoint list under the key endpoints, and the rules that go with it.
func (c *Config) ParseEndpoints(content []byte) (part topology.Part, err error) {
	root, err := parseYAML(content)
	if err != nil {
		return topology.Part{}, err
	}
	there := false
	err = root.fields(map[string]func(value) error{
		"endpoints": func(v value) (err error) {
			there = true
			part.Endpoints, err = c.readEndpoints(v)
			return err
		},
		"objectives":    func(v value) (err error) { part.Objectives, err = readObjectives(v); return err },
		"modelRewrites": func(v value) (err error) { part.Rewrites, err = readRewrites(v); return err },
	})
	if err == nil && !there {
		return topology.Part{}, root.errorf("endpoints: missing; a list is right, [] when empty")
	}
	return part, err
}

func (c *Config) readEndpoints(v value) ([]topology.Endpoint, error) {
	items, err := v.items()
	if err != nil {
		return nil, err
	}
	endpoints := make([]topology.Endpoint, len(items))
	for i, item := range items {
		if endpoints[i], err = c.readEndpoint(item); err != nil {
			return nil, err
		}
	}
	return endpoints, nil
}

func (c *Config) readEndpoint(v value) (e topology.Endpoint, err error) {
	err = v.fields(map[string]func(value) error{
		"name": func(v value) (err error) {
			e.Name, err = v.nonEmpty("a unique name such as default/vllm-0")
			return err
		},
		"address": func(v value) (err error) { e.Address, err = readAddress(v); return err },
		"labels":  func(v value) (err error) { e.Labels, err = readLabels(v); return err },
		"engine":  func(v value) (err error) { e.Engine, err = c.readEngine(v); return err },
		"models":  func(v value) (err error) { e.Models, err = v.texts(); return err },
	})
	switch {
	case err != nil:
		return e, err
	case e.Name == "":
		return e, v.errorf("name is missing; a unique name such as default/vllm-0 is right")
	case e.Address == "":
		return e, v.errorf("address is missing; ip:port is right")
	}
	return e, nil
}

func (v value) nonEmpty(right string) (string, error) {
	text, err := v.text()
	if err == nil && text == "" {
		return "", v.errorf(`"" is wrong; %s is right`, right)
	}
	return text, err
}

func readAddress(v value) (string, error) {
	text, err := v.text()
	if err != nil {
		return "", err
	}
	address, err := netip.ParseAddrPort(text)
	if err != nil || address.Port() == 0 || address.Addr().Zone() != "" || address.Addr().IsUnspecified() {
		return "", v.errorf("%q is no endpoint address; ip:port is right, an IPv6 address in brackets", text)
	}
	return address.String(), nil
}

func readLabels(v value) ([]snapshot.Label, error) {
	entries, err := v.entries()
	if err != nil {
		return nil, err
	}
	labels := make([]snapshot.Label, len(entries))
	for i, e := range entries {
		labels[i].Key = e.key
		if labels[i].Value, err = e.text(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(labels, func(a, b snapshot.Label) int { return cmp.Compare(a.Key, b.Key) })
	return labels, nil
}

func (c *Config) readEngine(v value) (string, error) {
	text, err := v.text()
	if err != nil {
		return "", err
	}
	kind := c.Engines.ByName(text)
	if kind == nil {
		return "", v.errorf("%q is no known engine; right is one of %s, or no engine, which is then detected", text, strings.Join(c.Engines.Names(), ", "))
	}
	return kind.Name(), nil
}
