package e2e

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// strategyConfig has a profile for each role, in which that server is the only candidate, and one for each strategy
// under test.
func strategyConfig() map[string]any {
	references := func(names ...string) (list []map[string]any) {
		for _, name := range names {
			list = append(list, map[string]any{"pluginRef": name})
		}
		return list
	}
	var plugins, profiles []map[string]any
	for _, role := range []string{"one", "two"} {
		plugins = append(plugins, map[string]any{"type": "by-label-selector", "name": role,
			"parameters": map[string]any{"matchLabels": map[string]any{"role": role}}})
		profiles = append(profiles, map[string]any{"name": role, "plugins": references(role, "least-request")})
	}
	for _, kind := range []string{"routing-strategy-handler", "least-request", "least-kv-cache", "least-latency",
		"least-busy-time", "throughput", "aibrix-prefix-cache", "vtc-basic"} {
		plugins = append(plugins, map[string]any{"type": kind})
		if kind != "routing-strategy-handler" {
			profiles = append(profiles, map[string]any{"name": kind, "plugins": references(kind, "max-score-picker")})
		}
	}
	for _, kind := range []string{"max-score-picker", "random-picker", "power-of-two"} {
		plugins = append(plugins, map[string]any{"type": kind})
	}
	profiles = append(profiles,
		map[string]any{"name": "power-of-two", "plugins": references("power-of-two")},
		map[string]any{"name": "random", "plugins": references("random-picker")})
	return map[string]any{"config": map[string]any{"plugins": plugins, "schedulingProfiles": profiles},
		"stale": map[string]any{"after": "1h"}, "debug": true}
}

// strategies is an Envoy with two workers in front of servers with the roles one, two, and so on.
type strategies struct {
	*harness.Envoy
	endpoints []harness.Endpoint
}

func startStrategies(t *testing.T, cell harness.Cell, configs ...sim.Config) *strategies {
	t.Helper()
	s := &strategies{}
	var endpoints []harness.Endpoint
	var addresses []string
	for i, config := range configs {
		config.Name = fmt.Sprintf("sim-%d", i)
		server, err := harness.NewServer(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		addresses = append(addresses, server.Address)
		role := []string{"one", "two", "three", "four"}[i]
		endpoints = append(endpoints,
			harness.Endpoint{Name: config.Name, Address: server.Address, Labels: map[string]string{"role": role}})
	}
	environment := map[string]string{"ROUTING_ALGORITHM": "two", "AIBRIX_PREFIX_CACHE_BLOCK_SIZE": "64"}
	var err error
	s.Envoy, err = harness.Start(cell, addresses,
		&harness.Listener{Name: "requests", Plugin: strategyConfig(), Environment: environment},
		&harness.Listener{Name: "ingest", Plugin: strategyConfig(), Environment: environment, Ingest: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	s.LogOnFailure(t)
	s.endpoints = endpoints
	s.Publish(t, endpoints...)
	return s
}

// send sends a chat body by a strategy, for a user, on a new connection and so to any worker.
func (s *strategies) send(t testing.TB, strategy, user, body string) harness.Answer {
	t.Helper()
	return harness.Send(t, harness.Client(t, false), s.request(t, strategy, user, body))
}

func (s *strategies) request(t testing.TB, strategy, user, body string) *http.Request {
	t.Helper()
	request := harness.Request(t, http.MethodPost, s.URL("requests", chatPath), body, false)
	if strategy != "" {
		request.Header.Set("routing-strategy", strategy)
	}
	if user != "" {
		request.Header.Set("user", user)
	}
	return request
}

// TestRoutingStrategy: the header names the strategy, the environment the default, and what cannot be read is answered
// with 400.
func TestRoutingStrategy(t *testing.T) {
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			s := startStrategies(t, cell, sim.Config{}, sim.Config{})
			for range 6 {
				wantServer(t, s.send(t, "one", "", chatBody), "sim-0")
				wantServer(t, s.send(t, "two:3", "", chatBody), "sim-1")
				wantServer(t, s.send(t, "", "", chatBody), "sim-1")
				wantServer(t, s.send(t, "least-request:2,one:1", "", chatBody), "sim-0")
				list := harness.Request(t, http.MethodGet, s.URL("requests", "/v1/models/sim-model"), "", false)
				list.Header.Set("routing-strategy", "least-request:2,one:1")
				wantServer(t, harness.Send(t, harness.Client(t, false), list), "sim-0")
			}
			s.endpoints[1].KV = 0.5
			s.Publish(t, s.endpoints...)
			s.wantMix(t, "least-kv-cache:3,least-request:1", []any{"sim-0", 1.0}, []any{"sim-1", 0.25})
			for _, strategy := range []string{
				"least-request", "least-kv-cache", "least-latency", "least-busy-time", "throughput",
				"aibrix-prefix-cache", "vtc-basic", "power-of-two", "random",
				"aibrix-prefix-cache:2,vtc-basic,least-kv-cache:0", "least-request,prefix-cache-preble:0",
			} {
				if got := s.send(t, strategy, "someone", chatBody); got.Status != http.StatusOK {
					t.Errorf("%s: got %d: %.300s", strategy, got.Status, got.Body)
				}
			}
			for strategy, reason := range map[string]string{"fastest": "unknown_strategy",
				"one:1.5": "invalid_strategy", "one,random": "invalid_strategy"} {
				got := s.send(t, strategy, "", chatBody)
				wantError(t, got, http.StatusBadRequest, reason)
			}
		})
	}
}

// wantMix waits until nothing is in flight, which counts, and the totals by which several strategies together decide
// are these.
func (s *strategies) wantMix(t testing.TB, strategy string, want ...[]any) {
	t.Helper()
	harness.WaitFor(t, 10*time.Second, "the totals of a mix", func() (bool, string) {
		got := s.send(t, strategy, "", chatBody)
		wantServer(t, got, "sim-0")
		e := explained(t, got)
		return reflect.DeepEqual(e.Mix, want), fmt.Sprintf("%v, want %v", e.Mix, want)
	})
}

// TestAIBrixPrefixCacheSticks: prompts with the same beginning go to one server, whichever worker decides; others
// spread.
func TestAIBrixPrefixCacheSticks(t *testing.T) {
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			s := startStrategies(t, cell, sim.Config{OutputTokens: 2}, sim.Config{OutputTokens: 2},
				sim.Config{OutputTokens: 2}, sim.Config{OutputTokens: 2})
			servers := map[string]bool{}
			for i := range 12 {
				beginning := fmt.Sprintf("conversation %d ", i) + strings.Repeat("text ", 100)
				prompt := func(end int) string {
					return fmt.Sprintf(
						`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":"%s turn %d"}]}`,
						beginning, end)
				}
				first := s.send(t, "aibrix-prefix-cache", "", prompt(0))
				servers[first.Server()] = true
				for turn := range 5 {
					wantServer(t, s.send(t, "aibrix-prefix-cache", "", prompt(turn+1)), first.Server())
				}
			}
			if len(servers) < 2 {
				t.Errorf("12 conversations all went to %v, want them spread", servers)
			}
		})
	}
}
