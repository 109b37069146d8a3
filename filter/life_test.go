package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

func TestRebuiltVMKeepsTheSnapshot(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(byQueue, ""))
		g.publish(newPool(2, 1, 0))
		w := g.workers[0]
		g.wantRanked(w.ask(), address(2))
		held := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
		held.Body([]byte(completion[:5]), false)
		if err := w.Rebuild(); err != nil {
			t.Fatalf("Rebuild: %v", err)
		}
		g.wantRanked(w.ask(), address(2))
		held.Body([]byte(completion[5:]), true)
		if got := held.ResponseHeaders().Get(":status"); got != "503" {
			t.Errorf("a request of the old VM: got %q, want 503", got)
		}
		g.publish(newPool(0, 1, 2))
		for _, w := range g.workers {
			g.wantRanked(w.ask(), address(0))
		}
		if s := w.post(newPool(1).message(t, g.last)); s.ResponseHeaders().Get(":status") != "409" {
			t.Errorf("the same snapshot again: got %v, want 409", s.ResponseHeaders())
		}
	})
}

func TestBadConfiguration(t *testing.T) {
	tests := []struct {
		name, configuration string
		want                []string
	}{
		{"nothing", ``, []string{"configuration: is empty"}},
		{"white space", " \n", []string{"configuration: is empty"}},
		{"not JSON", `hold: buffer`, []string{"configuration"}},
		{"an unknown key", `{"holt":"buffer"}`, []string{"holt"}},
		{"an unknown key of a plug-in", `{"config":{"plugins":[{"type":"max-score-picker","parameters":{"max":3}}]}}`,
			[]string{"max"}},
		{"an unknown plug-in", `{"config":{"plugins":[{"type":"best-scorer"}]}}`, []string{"best-scorer"}},
		{"several", `{"hold":"wait","destination":"there","ingest":{"port":0,"token":"short"},"stale":{"after":"-1s"}}`,
			[]string{"hold", "wait", "destination", "there", "ingest.port", "ingest.token", "stale.after"}},
		{"flow control", `{"config":{"featureGates":["flowControl"],"flowControl":{}}}`, []string{"flowControl"}},
	}
	clock := wazerohost.NewClock(startTime)
	for _, canary := range []bool{false, true} {
		o := modes[0].options(clock)
		o.Canary = canary
		host := newHost(t, o)
		w, err := host.Worker()
		if err != nil {
			t.Fatalf("Worker: %v", err)
		}
		for _, tc := range tests {
			t.Run(fmt.Sprintf("%s, canary %v", tc.name, canary), func(t *testing.T) {
				_, err := w.Start(wazerohost.PluginConfig{Configuration: tc.configuration})
				if err == nil {
					t.Fatal("Start: got no error, want one")
				}
				for _, want := range tc.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error: got %v, want it to name %s", err, want)
					}
				}
				if w.Failed() != nil {
					t.Errorf("the VM is dead: %v", w.Failed())
				}
			})
		}
		// A mistake in one configuration leaves the VM's other plug-ins alone.
		p := startPlugin(t, w, wazerohost.PluginConfig{Configuration: modes[0].configuration(byQueue, "")})
		wantError(t, (&worker{requests: p}).ask(), 503, "no_endpoints")
	}
}

// TestPluginsOfOneVM: listeners with configurations of their own share a VM and its finished streams, and nothing else.
func TestPluginsOfOneVM(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	g.publish(newPool(0, 5, 9).label(1, "zone", "b").label(2, "zone", "c"))
	zone := func(name string) string {
		return `{"plugins":[{"type":"by-label","parameters":{"label":"zone","validValues":["` + name +
			`"]}},{"type":"response-header-handler"}]}`
	}
	configurations := []string{
		m.configuration(byQueue, ""),
		m.configuration(zone("b"), ""),
		m.configuration(zone("c"), `"debug":true,`),
		mode{"pause", "override-host"}.configuration(sticky, ""),
		m.configuration(zone("nowhere"), ""),
	}
	var plugins []*worker
	for i, configuration := range configurations {
		p := startPlugin(t, g.workers[0].Worker,
			wazerohost.PluginConfig{Configuration: configuration, Listener: fmt.Sprintf("127.0.0.1:%d", 20000+i)})
		plugins = append(plugins, &worker{requests: p})
	}
	for round := range 20 {
		var held []*wazerohost.Stream
		for _, p := range plugins {
			s := p.requests.Request(wazerohost.Headers{{":path", "/v1/completions"},
				{"x-session-token", sessionToken(2)}}, false)
			s.Body([]byte(completion[:8]), false)
			held = append(held, s)
		}
		slices.Reverse(held)
		for _, s := range held {
			s.Body([]byte(completion[8:]), true)
			s.SetServer(s.UpstreamHeaders().Get("x-envoy-original-dst-host"))
		}
		slices.Reverse(held)
		for i, want := range []string{address(0), address(1), address(2), address(2) + "," + address(0), ""} {
			if got := held[i].UpstreamHeaders().Get("x-gateway-destination-endpoint"); got != want {
				t.Errorf("round %d, plug-in %d: got %q, want %q", round, i, got, want)
			}
			if got := held[i].UpstreamHeaders().Has("x-envoy-original-dst-host"); got != (i < 3) {
				t.Errorf("round %d, plug-in %d: x-envoy-original-dst-host: got %v, want %v", round, i, got, i < 3)
			}
			held[i].Finish()
			if got := held[i].ResponseHeaders().Has("x-pintle-explain"); got != (i == 2) {
				t.Errorf("round %d, plug-in %d: explained: got %v, want %v", round, i, got, i == 2)
			}
			if got := held[i].ResponseHeaders().Has("x-decoder-host-port"); got != (i == 1 || i == 2) {
				t.Errorf("round %d, plug-in %d: x-decoder-host-port: got %v, want %v", round, i, got, i == 1 || i == 2)
			}
		}
		wantError(t, held[4], 503, "filtered_out")
	}
}

func TestStoppedPluginLeavesTheOthers(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	g.publish(newPool(1, 0))
	for range 5 {
		p := startPlugin(t, g.workers[0].Worker,
			wazerohost.PluginConfig{Configuration: m.configuration(byQueue, `"debug":true,`)})
		s := (&worker{requests: p}).ask()
		g.wantRanked(s, address(1))
		s.Finish()
		p.Stop()
		if !p.Stopped() {
			t.Error("the plug-in does not stop")
		}
		g.wantRanked(g.workers[0].ask(), address(1))
		g.workers[0].Tick()
	}
}

// TestReplacedPluginsTickNoMore: Envoy goes on with the timer of a plug-in that is gone, at its last period, as long as
// there is the VM.
func TestReplacedPluginsTickNoMore(t *testing.T) {
	tests := []struct {
		name   string
		period int
		play   func(g *gateway)
	}{
		{"at rest", 1000, func(g *gateway) { g.publish(newPool(0)) }},
		{"busy", 10, func(g *gateway) {
			g.publish(newPool(0))
			g.makeBusy(g.workers[0], func() { g.workers[0].ask().Finish() })
		}},
		{"a request waits", 10, func(g *gateway) { g.workers[0].ask() }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := modes[0]
			g := newGateway(t, m, 1, m.configuration(byQueue, waits))
			p := g.workers[0].requests
			tc.play(g)
			if got := p.TickMillis(); got != tc.period {
				t.Fatalf("before its end: got a tick every %d ms, want %d", got, tc.period)
			}
			if p.Stop(); !p.Stopped() {
				t.Fatal("the plug-in does not stop")
			}
			if got := p.TickMillis(); got != 0 {
				t.Errorf("after its end: got a tick every %d ms, want none", got)
			}
		})
	}
}

// TestMetricsAreDefinedOnce: each definition takes memory in Envoy for as long as there is the VM, which outlives its
// plug-ins.
func TestMetricsAreDefinedOnce(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.shadowed(byQueue, byQueue))
	g.publish(newPool(0))
	w := g.workers[0]
	defined := func() int { return w.HostCalls()["env.proxy_define_metric"] }
	want := defined()
	for range 3 {
		w.requests.Stop()
		w.requests = startPlugin(t, w.Worker,
			wazerohost.PluginConfig{Configuration: m.shadowed(byQueue, byQueue), Listener: requestListener})
		w.ask().Finish()
	}
	if got := defined(); got != want {
		t.Errorf("after three changes: got %d definitions, want the %d of before", got, want)
	}
	if got := g.counters("decisions"); got != "decisions 3" {
		t.Errorf("got %s, want those of all plug-ins", got)
	}
}
