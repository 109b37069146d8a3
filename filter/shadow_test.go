package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
)

// counters are those of the shadow, which all begin with pintle.shadow.
func (g *gateway) counters(names ...string) string {
	var parts []string
	for _, name := range names {
		value, _ := g.host.Counter("pintle.shadow." + name)
		parts = append(parts, fmt.Sprint(name, " ", value))
	}
	return strings.Join(parts, ", ")
}

// shadowed is a configuration with a shadow.
func (m mode) shadowed(document, shadow string) string {
	return m.configuration(document, `"shadow":{"config":`+shadow+`},`)
}

// TestShadow: the shadow's choice is counted and nothing goes by it.
func TestShadow(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.shadowed(byQueue,
			`{"plugins":[{"type":"prefix-cache-scorer","parameters":{"autoTune":false}}]}`))
		g.publish(newPool(0, 5))
		body := `{"model":"m1","prompt":"` + strings.Repeat("hello ", 200) + `"}`
		send := func(w *worker, by int) *wazerohost.Stream {
			s := w.askBody(body)
			s.SetServer(address(by))
			s.Respond(wazerohost.Headers{{":status", "200"}}, false)
			s.RespondBody([]byte(usageBody), true)
			return s
		}
		send(g.workers[0], 0).Finish()
		before, _ := g.host.Counter("pintle.shadow.load") // where nothing is known the shadow chooses at random
		p := newPool(4, 0)                                // the queue is now shorter where the prompt is not
		p.Load.Endpoints[0].RunningRequests = 1
		g.publish(p)
		s := send(g.workers[1], 1)
		g.wantRanked(s, address(1))
		if got := reported(t, s); !strings.Contains(got, "shadow_endpoint default/vllm-0") {
			t.Errorf("got %s, want the endpoint that has the prompt", got)
		}
		s.Finish()
		// 1,200 bytes are 18 blocks of 64, of 16 tokens each.
		want := "decisions 2, refused 0, cached_tokens 288, cached_tokens_acting 0, load_acting 0"
		got := g.counters("decisions", "refused", "cached_tokens", "cached_tokens_acting", "load_acting")
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		g.wantShadowed(2, journal.Shadowed{Decided: true, Primary: endpointID(0), Cached: 288, Load: 5})
		if load, _ := g.host.Counter("pintle.shadow.load"); load-before != 5 {
			t.Errorf("the shadow's choice had %d requests, want 5", load-before)
		}
	})
}

// TestShadowCountsWhatActs: what is believed of the endpoint that was chosen is counted apart from the shadow's.
func TestShadowCountsWhatActs(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.shadowed(`{"plugins":[{"type":"prefix-cache-scorer","parameters":{"autoTune":false}}]}`,
		byQueue))
	send := func(p *pool) {
		g.publish(p)
		s := g.workers[0].askBody(`{"model":"m1","prompt":"` + strings.Repeat("hello ", 200) + `"}`)
		s.SetServer(g.ranked(s))
		serve(s, 300, 2)
		s.Finish()
	}
	send(newPool(0, 0))
	busier := newPool(7, 2)
	if g.events(journal.Decision)[0].Primary == endpointID(1) {
		busier = newPool(2, 7)
	}
	send(busier)
	want := journal.Shadowed{Decided: true, ActingCached: 288, Load: 2, ActingLoad: 7}
	got := g.events(journal.Decision)[1].Shadowed
	if got.Primary = 0; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := g.counters("cached_tokens", "cached_tokens_acting"); got != "cached_tokens 0, cached_tokens_acting 288" {
		t.Error(got)
	}
}

// TestShadowReadsItsOwnKeys: a shadow's plug-ins read other keys of the body than those of the plan that acts.
func TestShadowReadsItsOwnKeys(t *testing.T) {
	affinity := func(key string) string {
		return `{"plugins":[{"type":"session-affinity-scorer","parameters":{"strategy":"consistent_hash",
			"sessionIdConfig":{"sources":[{"body":"` + key + `"}]}}}]}`
	}
	m := modes[2]
	g := newGateway(t, m, 1, m.shadowed(affinity("mine"), affinity("other")))
	g.publish(newPool(0, 0, 0, 0, 0, 0, 0, 0))
	at := map[uint64]bool{}
	for i := range 20 {
		g.workers[0].askBody(fmt.Sprintf(`{"model":"m1","prompt":"hello","mine":"%d","other":"same"}`, i)).Finish()
	}
	for _, e := range g.events(journal.Decision) {
		at[e.Shadowed.Primary] = true
	}
	if len(at) != 1 {
		t.Errorf("requests of one session would have gone to %d servers, want one", len(at))
	}
}

// TestShadowReadsItsOwnHeaders: and other headers.
func TestShadowReadsItsOwnHeaders(t *testing.T) {
	affinity := func(header string) string {
		return `{"plugins":[{"type":"session-affinity-scorer","parameters":{"strategy":"consistent_hash",
			"sessionIdConfig":{"sources":[{"header":"` + header + `"}]}}}]}`
	}
	m := modes[2]
	g := newGateway(t, m, 1, m.shadowed(affinity("x-mine"), affinity("x-other")))
	g.publish(newPool(0, 0, 0, 0, 0, 0, 0, 0))
	for i := range 20 {
		g.workers[0].ask([2]string{"x-mine", "same"}, [2]string{"x-other", fmt.Sprint(i % 10)}).Finish()
	}
	at, shadows, sessions := map[uint64]bool{}, map[uint64]bool{}, map[string]bool{}
	for i, e := range g.events(journal.Decision) {
		at[e.Primary], shadows[e.Shadowed.Primary] = true, true
		sessions[fmt.Sprint(i%10, " ", e.Shadowed.Primary)] = true
	}
	if len(at) != 1 || len(shadows) < 2 || len(sessions) != 10 {
		t.Errorf("requests of one session went to %d servers, those of ten would have gone to %d, %d of them alike",
			len(at), len(shadows), len(sessions))
	}
}

// TestShadowChoosesTheModelItself: of the client's model, whatever the plan that acts has made of it.
func TestShadowChoosesTheModelItself(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.shadowed(selecting, byQueue))
	p := newPool(0, 5, 9)
	p.Topology.Endpoints[0].Models = []string{"m"}
	p.Topology.Endpoints[1].Models = []string{"auto"}
	p.Topology.Endpoints[2].Models = []string{"m"}
	g.publish(p)
	s := g.workers[0].askBody(`{"model":"auto","prompt":"hello"}`)
	g.wantRanked(s, address(0))
	s.Finish()
	if all := g.events(journal.Decision); len(all) != 1 || all[0].Shadowed.Primary != endpointID(1) {
		t.Errorf("got %+v, want the shadow at default/vllm-1, which is %x and lists what the client asked for", all,
			endpointID(1))
	}
}

// TestShadowForgets: what a shadow goes by grows old as what the plan that acts goes by does.
func TestShadowForgets(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(byQueue, `"load":{"correction":false},"shadow":{"config":{"plugins":[
		{"type":"active-request-scorer","parameters":{"requestTimeout":"10s"}},{"type":"queue-scorer"}],
		"schedulingProfiles":[{"name":"default","plugins":[{"pluginRef":"active-request-scorer"},
		{"pluginRef":"queue-scorer","weight":0.1}]}]}},`))
	g.publish(newPool(0, 1))
	g.wantRanked(g.workers[0].ask(), address(0)) // and stays
	g.workers[0].ask().Finish()
	g.clock.Advance(11 * time.Second)
	g.publish(newPool(0, 1))
	g.workers[0].ask().Finish()
	var got []uint64
	for _, e := range g.events(journal.Decision) {
		got = append(got, e.Shadowed.Primary)
	}
	if want := []uint64{endpointID(0), endpointID(1), endpointID(0)}; !slices.Equal(got, want) {
		t.Errorf("the shadow chose %x, want %x: the second one only while a request is at the first", got, want)
	}
}

// TestShadowReadsMetricsByName: a shadow's plug-ins find the pool's further metrics, also when another push has others,
// or the same in another order.
func TestShadowReadsMetricsByName(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.shadowed(byQueue, `{"plugins":[{"type":"queue-scorer"},
		{"type":"endpoint-attribute-filter","parameters":{"attribute":"Heat/mine","onMissing":"Fail",
		"fallbackOnEmpty":true,"algorithm":{"type":"threshold","threshold":{"operator":"LessThan","value":5}}}}]}`))
	p := newPool(0, 5)
	g.publish(p)
	for _, test := range []struct {
		name  string
		names []string
		load  [2][]float64 // of the two servers
		want  int          // where the shadow would go
	}{
		{"alone", []string{"Heat/mine"}, [2][]float64{{9}, {1}}, 1},
		{"in another order", []string{"Other/mine", "Heat/mine"}, [2][]float64{{1, 9}, {9, 1}}, 1},
		{"no longer there", []string{"Other/mine"}, [2][]float64{{9}, {1}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.Load.Attributes = test.names
			for i := range test.load {
				p.Load.Endpoints[i].Attributes = test.load[i]
			}
			g.workers[0].post(p.loadMessage(t, g.next()))
			g.wantRanked(g.workers[0].ask(), address(0))
			decisions := g.events(journal.Decision)
			if got := decisions[len(decisions)-1].Shadowed.Primary; got != endpointID(test.want) {
				t.Errorf("the shadow would go to %x, want default/vllm-%d, which is %x", got, test.want,
					endpointID(test.want))
			}
		})
	}
}

// wantShadowed: the last of so many decisions tells followers what the shadow made of it.
func (g *gateway) wantShadowed(n int, want journal.Shadowed) {
	g.t.Helper()
	var got []journal.Shadowed
	for _, e := range (&follower{gateway: g}).events() {
		if e.Kind == journal.Decision || e.Kind == journal.Refused {
			got = append(got, e.Shadowed)
		}
	}
	if len(got) != n || got[n-1] != want {
		g.t.Errorf("followers are told %+v, want %d with %+v at last", got, n, want)
	}
}

// TestShadowsMistakes: neither what the shadow refuses nor what is wrong with it touches a request.
func TestShadowsMistakes(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.shadowed(byQueue,
		`{"plugins":[{"type":"label-selector-filter","parameters":{"matchLabels":{"no":"such"}}},{"type":"queue-scorer"}]}`))
	g.publish(newPool(0))
	g.wantRanked(g.workers[0].ask(), address(0))
	if got := g.counters("decisions", "refused", "agreed"); got != "decisions 1, refused 1, agreed 0" {
		t.Error(got)
	}
	g.wantShadowed(1, journal.Shadowed{Decided: true})
	g = newGateway(t, m, 1, m.shadowed(
		`{"plugins":[{"type":"label-selector-filter","parameters":{"matchLabels":{"no":"such"}}},{"type":"queue-scorer"}]}`,
		byQueue))
	g.publish(newPool(0))
	(&follower{gateway: g}).events()
	g.workers[0].Tick()
	wantError(t, g.workers[0].ask(), 429, "filtered_out")
	if got := g.counters("decisions", "admitted", "agreed"); got != "decisions 1, admitted 1, agreed 0" {
		t.Error(got)
	}
	g.wantShadowed(1, journal.Shadowed{Decided: true, Primary: endpointID(0)})
	g = newGateway(t, m, 1, m.shadowed(
		`{"plugins":[{"type":"label-selector-filter","parameters":{"matchLabels":{"no":"such"}}}]}`,
		`{"plugins":[{"type":"label-selector-filter","parameters":{"matchLabels":{"neither":"this"}}}]}`))
	g.publish(newPool(0))
	wantError(t, g.workers[0].ask(), 429, "filtered_out")
	if got := g.counters("decisions", "agreed", "refused", "admitted"); got !=
		"decisions 1, agreed 1, refused 0, admitted 0" {
		t.Error(got)
	}
	g = newGateway(t, m, 1, m.shadowed(byQueue, `{"plugins":[{"type":"queue-scorrer"}]}`))
	g.publish(newPool(0))
	g.wantRanked(g.workers[0].ask(), address(0))
	if got := g.counters("decisions"); got != "decisions 0" {
		t.Error(got)
	}
}

// TestShadowSharesBlocks: what a shadow's scorer remembers of prompts by the same blocks as one of the acting plan's is
// remembered once, and by it as well as where it is by blocks of its own.
func TestShadowSharesBlocks(t *testing.T) {
	byBlocks := func(sizes ...int) string {
		var plugins []string
		for _, size := range sizes {
			plugins = append(plugins, fmt.Sprintf(`{"type":"prefix-cache-scorer","name":"by-%d","parameters":
				{"autoTune":false,"blockSizeTokens":%[1]d}}`, size))
		}
		return `{"plugins":[` + strings.Join(plugins, ",") + `]}`
	}
	m := modes[2]
	for _, size := range []int{16, 32, 64} {
		g := newGateway(t, m, 1, m.shadowed(byBlocks(16, 32), byBlocks(size)))
		g.publish(newPool(0, 0, 0, 0, 0, 0, 0, 0))
		for i := range 8 {
			body := fmt.Sprintf(`{"model":"m1","prompt":"%d %s"}`, i, strings.Repeat("hello ", 200))
			for range 2 {
				g.workers[0].askBody(body).Finish()
			}
		}
		for i, e := range g.events(journal.Decision) {
			if i%2 == 1 && e.Shadowed.Primary != e.Primary {
				t.Errorf("blocks of %d tokens, prompt %d again: the shadow would go to %x, want %x, which has it", size,
					i/2, e.Shadowed.Primary, e.Primary)
			}
		}
	}
}
