package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/stack"
)

// side is one of the ways to choose a server that are compared.
type side struct {
	// name is for people, key for files.
	name, key string
	// pintle is false for an Envoy that chooses by itself.
	pintle bool
	// document is the EndpointPickerConfig as JSON.
	document string

	requestsPort, firstServer int
	// exact is whether it goes by exact prefix caches: the sidecar is asked at prefixPort then.
	exact      bool
	prefixPort int
	adminPort  int // Envoy's
}

// sides are the shipped configuration and three that know nothing of prefixes. Of the two for least-request Pintle's is
// the harder one to beat: it counts for all of Envoy's workers and looks at every server, where Envoy by default
// compares two at random.
func sides() []*side {
	return []*side{
		{name: "Pintle, as shipped", key: "shipped", pintle: true, document: shipped.JSON()},
		{name: "random choice", key: "random", pintle: true, document: profile("random-picker")},
		{name: "least-request, Pintle", key: "active", pintle: true, document: profile("active-request-scorer")},
		{name: "least-request, Envoy", key: "least", pintle: false},
	}
}

// exactSides are the shipped configuration, and the same by exact prefix caches for which requests wait, or do not.
func exactSides() ([]*side, error) {
	all := []*side{{name: "Pintle, as shipped", key: "shipped", pintle: true, document: shipped.JSON()}}
	for _, mode := range []string{"inline", "background"} {
		var document map[string]any
		if err := json.Unmarshal([]byte(shipped.JSON()), &document); err != nil {
			return nil, err
		}
		plugins, _ := document["plugins"].([]any)
		for _, p := range plugins {
			if p, _ := p.(map[string]any); p["type"] == approximate {
				p["name"], p["type"] = approximate, "precise-prefix-cache-scorer"
				p["parameters"] = map[string]any{"mode": mode, "indexerConfig": map[string]any{
					"tokenizersPoolConfig": map[string]any{"modelName": "sim-model"}}}
			}
		}
		text, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		all = append(all, &side{name: "exact, " + mode, key: mode, pintle: true, exact: true, document: string(text)})
	}
	return all, nil
}

// approximate is the scorer that exact sides have another one in place of.
const approximate = "prefix-cache-scorer"

// profile is a configuration of one plug-in.
func profile(kind string) string {
	return fmt.Sprintf(
		`{"plugins": [{"type": %[1]q}], "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": %[1]q}]}]}`, kind)
}

// compared is a further side, with the EndpointPickerConfig of a file in JSON.
func compared(path string) (*side, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: want an EndpointPickerConfig as JSON: %w", path, err)
	}
	text, err = json.Marshal(document) // on one line
	name := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".json")
	return &side{name: name, key: "compared-" + name, pintle: true, document: string(text)}, err
}

const (
	serverPrefix = "sim"
	token        = "bench-routing"
)

func (s *side) config(adminPort, ingestPort, servers int) (string, error) {
	c := stack.EnvoyConfig{AdminPort: adminPort, Balance: "LEAST_REQUEST", Module: "bin/pintle.wasm",
		StorePort: s.prefixPort}
	for i := range servers {
		c.Hosts = append(c.Hosts, stack.Loopback(s.firstServer+i)...)
	}
	plugin := ""
	if s.pintle {
		c.Hold = "pause"
		document := ""
		if s.document != "" {
			document = `, "config": ` + s.document
		}
		plugin = fmt.Sprintf(`{"ingest": {"port": %d, "token": %q}, "hold": "pause"%s}`, ingestPort, token, document)
	}
	c.Listeners = append(c.Listeners, stack.EnvoyListener{Name: "requests", Port: s.requestsPort, Plugin: plugin})
	if s.pintle {
		c.Listeners = append(c.Listeners,
			stack.EnvoyListener{Name: "ingest", Port: ingestPort, Ingest: true, Plugin: plugin})
	}
	return c.Text()
}

// start runs the servers, the Envoy and, with Pintle, the sidecar of a side. All sides' servers have the same names.
func (s *side) start(ctx context.Context, st *stack.Stack, m model, speed float64) error {
	first, err := stack.FreePorts(2*m.servers + 5)
	if err != nil {
		return err
	}
	admin, ingest, sidecarAdmin := first, first+1, first+2
	s.requestsPort, s.firstServer, s.adminPort = first+3, first+5, admin
	flags := m.flags(speed)
	if s.exact {
		s.prefixPort = first + 4
		flags = append(flags, "-kv-events", stack.Address(s.firstServer+m.servers))
	}
	if _, err := st.Sims(ctx, s.key+"-servers", serverPrefix, s.firstServer, m.servers, flags...); err != nil {
		return err
	}
	config, err := s.config(admin, ingest, m.servers)
	if err != nil {
		return err
	}
	if _, err := st.Envoy(ctx, s.key+"-envoy", config, admin); err != nil || !s.pintle {
		return err
	}
	c := stack.Sidecar{
		IngestPorts: []int{ingest}, Token: token, AdminPort: sidecarAdmin,
		Endpoints: stack.Endpoints(serverPrefix, s.firstServer, m.servers),
	}
	if s.exact {
		c.PrefixPort, c.Plugins = s.prefixPort, s.document
	}
	_, err = st.Sidecar(ctx, s.key+"-sidecar", c)
	return err
}

// model is what the simulated servers are and what they are asked. See docs/performance.md for where the figures come
// from.
type model struct {
	servers, slots, blocks int
	prefillPerSecond       int
	perToken               string
	slowdown               float64
	groups, users          int
	// Lengths in tokens.
	system, question, output int
}

// published is the setup of llm-d's report "73-capacity": Qwen3-32B on 8 servers of two H100 each.
var published = model{
	servers: 8, slots: 256, blocks: 19208, prefillPerSecond: 12000, perToken: "11ms", slowdown: 0.028,
	groups: 150, users: 5, system: 6000, question: 1200, output: 1000,
}

// streamedTokens share one event after the first: the pace of tokens stays, and copying them does not keep the
// processors busy.
const streamedTokens = 50

func (m model) flags(speed float64) []string {
	return []string{
		"-speed", strconv.FormatFloat(speed, 'g', -1, 64), "-max-num-seqs", strconv.Itoa(m.slots),
		"-num-blocks", strconv.Itoa(m.blocks), "-prefill-tokens-per-second", strconv.Itoa(m.prefillPerSecond),
		"-time-per-output-token", m.perToken, "-batch-slowdown", strconv.FormatFloat(m.slowdown, 'g', -1, 64),
		"-stream-interval", strconv.Itoa(streamedTokens),
	}
}
