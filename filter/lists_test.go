package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// readsModels is a configuration that goes by the models that servers list.
const readsModels = `{"featureGates":["dataLayer"],"plugins":[{"type":"queue-scorer"},{"type":"models-data-source"},
	{"type":"model-server-protocol-models"}],
	"data":{"sources":[{"pluginRef":"models-data-source","extractors":[{"pluginRef":"model-server-protocol-models"}]}]}}`

// TestListsAreAskedForByAnyPlugin: what takes the snapshots asks for lists of models where another plug-in of the VM
// goes by them, for as long as that is there.
func TestListsAreAskedForByAnyPlugin(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	w := g.workers[0]
	want := func(when, wants string) {
		t.Helper()
		h := w.post(newPool(0).message(t, g.next())).ResponseHeaders()
		if got := h.Get("x-pintle-wants"); got != wants || h.Get(":status") != "204" {
			t.Errorf("%s: got %v, want it to ask for %q", when, h, wants)
		}
	}
	want("no plug-in goes by lists", "")
	bare := startPlugin(t, w.Worker, wazerohost.PluginConfig{Configuration: readsModels, Listener: "127.0.0.1:10001"})
	want("a bare document", "models")
	bare.Stop()
	want("it is gone", "")
}

// listing is three endpoints of which the first lists model m and the second another one. Without lists a sidecar has
// yet to read them, as one that was started anew does once an Envoy has asked for them.
func listing(lists bool) *pool {
	p := newPool(1, 0, 9)
	if lists {
		p.Topology.Endpoints[0].Models, p.Topology.Endpoints[1].Models = []string{"m"}, []string{"other"}
		p.Topology.Endpoints[2].Models = []string{"m"}
	}
	return p
}

// TestListsOfANewSidecar: requests go to servers that have their model while a new sidecar has yet to read what they
// serve, for 30 seconds, and as the sidecar says as soon as it does.
func TestListsOfANewSidecar(t *testing.T) {
	tests := []struct {
		name string
		then func(g *gateway)
		want int
	}{
		{"listed", func(g *gateway) {}, 0},
		{"not read yet", func(g *gateway) { g.news(listing(false)) }, 0},
		{"read one after the other", func(g *gateway) {
			g.news(listing(false))
			p := listing(false)
			p.Topology.Endpoints[2].Models = []string{"m"}
			g.news(p)
		}, 0},
		{"another model", func(g *gateway) {
			g.news(listing(false))
			p := listing(false)
			p.Topology.Endpoints[0].Models = []string{"other"}
			g.news(p)
		}, 2},
		{"at another address", func(g *gateway) {
			p := listing(false)
			p.Topology.Endpoints[1].Address = address(7)
			g.news(p)
		}, 7},
		{"of another name", func(g *gateway) {
			p := listing(false)
			p.Topology.Endpoints[1].Name = "default/vllm-7"
			g.news(p)
		}, 1},
		{"after 20 seconds", func(g *gateway) {
			g.news(listing(false))
			g.clock.Advance(20 * time.Second)
			g.tick()
		}, 0},
		{"never read", func(g *gateway) {
			g.news(listing(false))
			g.clock.Advance(20 * time.Second)
			p := listing(false).label(0, "a", "b") // other news do not begin the time anew
			g.news(p)
			g.clock.Advance(11 * time.Second)
			g.tick()
			g.news(p)
		}, 1},
		{"never read, and no other news", func(g *gateway) {
			g.news(listing(false))
			g.clock.Advance(31 * time.Second)
			g.tick()
		}, 1},
		{"never read, and news before a tick", func(g *gateway) {
			g.news(listing(false))
			g.clock.Advance(31 * time.Second)
			g.news(listing(false).label(0, "a", "b"))
		}, 1},
		{"read, and another new sidecar", func(g *gateway) {
			g.news(listing(false))
			g.clock.Advance(20 * time.Second)
			g.news(listing(true))
			g.news(listing(false))
			g.clock.Advance(20 * time.Second)
			g.tick()
		}, 0},
		{"dropped, then read, and another new sidecar", func(g *gateway) {
			g.news(listing(false))
			g.clock.Advance(31 * time.Second)
			g.tick()
			g.news(listing(true))
			g.news(listing(false))
		}, 0},
		{"never read, then read, and another new sidecar", func(g *gateway) {
			g.news(listing(false))
			g.clock.Advance(31 * time.Second)
			g.news(listing(false).label(0, "a", "b"))
			g.news(listing(true))
			g.news(listing(false))
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGateway(t, modes[2], 2, modes[2].configuration(readsModels, `"stale":{"policy":"last"},`))
			g.publish(listing(true))
			g.wantRanked(g.workers[1].ask(), address(0))
			tt.then(g)
			g.wantRanked(g.workers[1].ask(), address(tt.want))
		})
	}
}

// TestListsThatAreNotReadAnyMore: where the configuration does not go by what servers list, a source that no longer
// says what a server has is taken at its word.
func TestListsThatAreNotReadAnyMore(t *testing.T) {
	g := newGateway(t, modes[2], 1, modes[2].configuration(byQueue, ""))
	g.publish(listing(true))
	g.wantRanked(g.workers[0].ask(), address(0))
	g.publish(listing(false))
	g.wantRanked(g.workers[0].ask(), address(1))
}

// news publishes a pool and has every worker see it.
func (g *gateway) news(p *pool) {
	g.publish(p)
	g.tick()
}

// tick has a second's tick come in every worker.
func (g *gateway) tick() {
	for _, w := range g.workers {
		w.Tick()
	}
}

// TestMissingListsAreToldOnce: the operator is told once that servers have listed no models for half a minute, not
// before, and not of lists that have gone.
func TestMissingListsAreToldOnce(t *testing.T) {
	m := modes[0]
	for _, tc := range []struct {
		name   string
		listed bool
		waits  []time.Duration
		want   int // by each of the two listeners
	}{
		{"half a minute", false, []time.Duration{30 * time.Second}, 0},
		{"longer", false, []time.Duration{30*time.Second + 1}, 2},
		{"much longer", false, []time.Duration{31 * time.Second, 31 * time.Second, time.Hour}, 2},
		{"lists that have gone", true, []time.Duration{31 * time.Second, 31 * time.Second, time.Hour}, 0},
	} {
		g := newGateway(t, m, 1, m.configuration(readsModels, ""))
		g.news(listing(tc.listed))
		g.news(listing(false))
		for _, d := range tc.waits {
			g.clock.Advance(d)
			g.tick()
		}
		told := 0
		for _, line := range g.host.Logs(wazerohost.Warn) {
			if strings.Contains(line.Text, "no endpoint lists its models") {
				told++
			}
		}
		if told != tc.want {
			t.Errorf("%s: the log says %d times that there are no models, want %d", tc.name, told, tc.want)
		}
	}
}
