package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/stack"
)

// variant is one of the Envoys that are compared.
type variant struct {
	name string
	// hold is how Pintle holds a request; empty is an Envoy without Pintle.
	hold string
	// module is the .wasm file.
	module string
	// document is the EndpointPickerConfig, settings are the plug-in's further keys, each with a comma before it.
	document, settings string
	requestsPort       int
	ingestPort         int
	envoy              *stack.Process
	// sidecar is its own one, if it is alone.
	sidecar *stack.Process
	// unfollowed has the sidecar leave the journal alone. With alone each Envoy has a sidecar of its own, which answers
	// at adminPort.
	unfollowed bool
	alone      bool
	adminPort  int
	// replicated is the address of the server over which that sidecar shares what it knows; empty for not at all.
	replicated string
	// meanwhile, when set, goes on while the Envoy is loaded.
	meanwhile func(ctx context.Context)
	// stored has that sidecar keep conversations, at storePort; see stack.Sidecar for redis.
	stored    bool
	storePort int
	redis     string
	// precise is the mode of exact prefix caches, which the sidecar is asked for at storePort; empty is without.
	// Publishers of KV events connect to it at eventsPort. tokenizer is the file by which it makes tokens.
	precise    string
	eventsPort int
	tokenizer  string
	// envoyPort is Envoy's admin port, firstServer that of the first server.
	envoyPort, firstServer int
}

// followVariants are the filter whose journal nobody follows, and one that the sidecar follows.
func followVariants(module string) []*variant {
	return []*variant{
		{name: "alone", hold: "pause", module: module, document: shipped.JSON(), alone: true, unfollowed: true},
		{name: "followed", hold: "pause", module: module, document: shipped.JSON(), alone: true},
	}
}

// storeVariants are the shipped configuration, and the same with responses-store.
func storeVariants(o options) []*variant {
	all := withAndWithout(o, "stored", shipped.With(map[string]any{"type": "responses-store"}, "prepareDataPlugins"))
	all[1].stored, all[1].redis = true, o.redis
	return all
}

// saltVariants are the shipped configuration, and the same with tenant-cache-salt.
func saltVariants(o options) []*variant {
	return withAndWithout(o, "salted", shipped.With(map[string]any{"type": "tenant-cache-salt",
		"parameters": map[string]any{"tenantHeader": "x-team", "secret": "a secret of some length"}}))
}

// withAndWithout are the shipped configuration, and the one with something more, by a name.
func withAndWithout(o options, name, document string) []*variant {
	return []*variant{
		{name: "without", hold: "pause", module: o.module, document: shipped.JSON(), alone: true},
		{name: name, hold: "pause", module: o.module, document: document, alone: true},
	}
}

// variants are the Envoy without Pintle, one for each way to hold with the module, and one with pause for each further
// module.
func variants(module string, compare []string) []*variant {
	all := []*variant{
		{name: "plain"},
		{name: "pause", hold: "pause", module: module, document: shipped.JSON()},
		{name: "buffer", hold: "buffer", module: module, document: shipped.JSON()},
	}
	for _, path := range compare {
		all = append(all, &variant{name: strings.TrimSuffix(filepath.Base(path), ".wasm"), hold: "pause", module: path,
			document: shipped.JSON()})
	}
	return all
}

// bareVariants are those of variants without prefix scorer and journal, which their sidecar does not follow either.
func bareVariants(all []*variant) []*variant {
	for _, v := range all[1:] {
		v.document, v.settings, v.unfollowed = byLoad, journalOff, true
	}
	all[1].name, all[2].name = "bare", "bare-buffer"
	return all
}

// journalOff leaves nothing that needs the journal.
const journalOff = `, "load": {"correction": false}, "failing": {"policy": "ignore"}`

// journalVariants are the filter with the journal off, with it, and with it and the shipped configuration, whose prefix
// scorer puts the hashes of prompts there. Each has a sidecar of its own, as whoever is followed keeps the journal.
func journalVariants(module string) []*variant {
	return []*variant{
		{name: "off", hold: "pause", module: module, document: byLoad, settings: journalOff, alone: true,
			unfollowed: true},
		{name: "on", hold: "pause", module: module, document: byLoad, alone: true},
		{name: "prefixes", hold: "pause", module: module, document: shipped.JSON(), alone: true},
	}
}

const (
	serverPrefix = "sim"
	token        = "overhead"
)

func (v *variant) config(adminPort int, servers []int) (string, error) {
	plugin := fmt.Sprintf(
		`{"ingest": {"port": %d, "token": %q}, "hold": %q, "destination": "original-dst", "config": %s%s}`,
		v.ingestPort, token, v.hold, v.document, v.settings)
	c := stack.EnvoyConfig{
		AdminPort: adminPort, Hold: v.hold, Module: v.module, Hosts: stack.Loopback(servers...), Balance: "ROUND_ROBIN",
		StorePort: v.storePort, ExactBalance: v.alone,
		Listeners: []stack.EnvoyListener{{Name: "requests", Port: v.requestsPort, Plugin: plugin}},
	}
	if v.hold != "" {
		c.Listeners = append(c.Listeners,
			stack.EnvoyListener{Name: "ingest", Port: v.ingestPort, Ingest: true, Plugin: plugin})
	}
	return c.Text()
}

// byLoad has no prefix scorer, so that the journal alone differs.
const byLoad = `{"plugins": [{"type": "queue-scorer"}, {"type": "kv-cache-utilization-scorer"}], "schedulingProfiles": [{"name": "default",` +
	` "plugins": [{"pluginRef": "queue-scorer", "weight": 2}, {"pluginRef": "kv-cache-utilization-scorer", "weight": 2}]}]}`

// together are the variants that the one sidecar feeds. It follows the journals of all of them or of none, and whoever
// is followed keeps a journal.
func together(all []*variant) (fed []*variant, err error) {
	for _, v := range all {
		if v.hold == "" || v.alone {
			continue
		}
		if fed = append(fed, v); v.unfollowed != fed[0].unfollowed {
			return nil, fmt.Errorf("%s and %s have one sidecar, which follows both or neither", fed[0].name, v.name)
		}
	}
	return fed, nil
}

// start runs the servers, the Envoys and the one sidecar that feeds those with Pintle that have none of their own.
func start(ctx context.Context, st *stack.Stack, all []*variant, servers int, serverFlags []string) error {
	fed, err := together(all)
	if err != nil {
		return err
	}
	first, err := stack.FreePorts(servers + 1 + 6*len(all))
	if err != nil {
		return err
	}
	if _, err := st.Sims(ctx, "servers", serverPrefix, first, servers, serverFlags...); err != nil {
		return err
	}
	var serverPorts []int
	for i := range servers {
		serverPorts = append(serverPorts, first+i)
	}
	next := first + servers
	for _, v := range all {
		v.firstServer = first
		next = v.takePorts(next)
		if v.precise != "" {
			v.document = preciseDocument(v)
		}
		config, err := v.config(v.envoyPort, serverPorts)
		if err != nil {
			return err
		}
		if v.envoy, err = st.Envoy(ctx, "envoy-"+v.name, config, v.envoyPort); err != nil {
			return err
		}
	}
	for _, v := range all {
		if !v.alone {
			continue
		}
		v.adminPort = next
		next++
		if err := v.startSidecar(ctx, st, servers); err != nil {
			return err
		}
	}
	if len(fed) == 0 {
		return nil
	}
	var ingestPorts []int
	for _, v := range fed {
		ingestPorts = append(ingestPorts, v.ingestPort)
	}
	if _, err = st.Sidecar(ctx, "sidecar", stack.Sidecar{
		IngestPorts: ingestPorts, Token: token, AdminPort: next, Unfollowed: fed[0].unfollowed,
		Endpoints: stack.Endpoints(serverPrefix, first, servers),
	}); err != nil {
		return fmt.Errorf("with snapshots for ports %v: %w", ingestPorts, err)
	}
	return nil
}

// takePorts takes the ports from one on that the variant's Envoy and store need, and returns the next one.
func (v *variant) takePorts(next int) int {
	v.envoyPort, v.requestsPort, v.ingestPort = next, next+1, next+2
	next += 3
	if v.stored || v.precise != "" {
		v.storePort, v.eventsPort = next, next+1
		next += 2
	}
	return next
}

// startSidecar starts the sidecar that feeds this variant's Envoy alone.
func (v *variant) startSidecar(ctx context.Context, st *stack.Stack, servers int) (err error) {
	c := stack.Sidecar{
		IngestPorts: []int{v.ingestPort}, Token: token, AdminPort: v.adminPort, Unfollowed: v.unfollowed,
		Redis: v.redis, Replicated: v.replicated,
		Endpoints: stack.Endpoints(serverPrefix, v.firstServer, servers),
	}
	if v.stored {
		c.StorePort = v.storePort
	}
	if v.precise != "" {
		c.PrefixPort, c.Plugins = v.storePort, v.document
	}
	if v.sidecar, err = st.Sidecar(ctx, "sidecar-"+v.name, c); err != nil {
		return fmt.Errorf("with snapshots for port %d: %w", v.ingestPort, err)
	}
	return nil
}
