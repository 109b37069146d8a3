package main_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// toldHeaders are of a request of a user's, of a class and of a flow.
var toldHeaders = [][2]string{{"user", "somebody"}, {"x-gateway-inference-objective", "batch"},
	{"x-llm-d-inference-fairness-id", "tenant"}}

// followed is a gateway with the objective batch that somebody follows.
func followed(t *testing.T, document string) *follower {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(document, ""))
	p := newPool(0)
	p.Objectives = []snapshot.Objective{{Name: "batch", Priority: -7}}
	g.publish(p)
	f := &follower{gateway: g}
	f.events()
	g.workers[0].Tick()
	return f
}

// TestEventsOfOneRequest: what a decision says of its request, the beginning and the end of the answer say, too.
func TestEventsOfOneRequest(t *testing.T) {
	f := followed(t, `{"plugins":[{"type":"prefix-cache-scorer","parameters":{"autoTune":false}},{"type":"vtc-basic"}]}`)
	body := `{"model":"m1","stream":true,"prompt":"` + strings.Repeat("hello ", 200) + `"}`
	f.workers[0].askBody(body, toldHeaders...).Finish()
	f.events()
	s := f.workers[0].askBody(body, toldHeaders...)
	s.SetServer(address(0))
	s.Respond(wazerohost.Headers{{":status", "200"}}, false)
	s.RespondBody([]byte("data: {}\n\n"), false)
	s.RespondBody([]byte(`data: {"usage":{"prompt_tokens":300,"completion_tokens":2}}`+"\n\n"), true)
	s.Finish()
	got := f.events()
	if len(got) != 3 {
		t.Fatalf("got %+v, want a decision, the beginning and the end of its answer", got)
	}
	// said is what events of one request have in common, about is what only two of them say.
	type said struct {
		lease                        uint32
		primary, model, user, client uint64
		streamed                     bool
	}
	type about struct {
		asked, profile, fairness uint64
		bytes, predictedTokens   uint32
		predicted                bool
		priority                 int32
	}
	common := func(e journal.Event) said {
		return said{e.Lease, e.Primary, e.Model, e.User, e.Client, e.Streamed}
	}
	further := func(e journal.Event) about {
		return about{e.Asked, e.Profile, e.Fairness, e.PromptBytes, e.PredictedTokens, e.Predicted, e.Priority}
	}
	d, b, c := got[0], got[1], got[2]
	if d.Kind != journal.Decision || b.Kind != journal.Began || c.Kind != journal.Completion {
		t.Fatalf("got %+v, want a decision, the beginning and the end of its answer", got)
	}
	want := said{d.Lease, endpointID(0), journal.HashName("m1"), journal.HashName("somebody"), d.Client, true}
	if common(d) != want || d.Lease == 0 || d.Client == 0 {
		t.Errorf("the decision says %+v, want %+v, and a lease and a client", common(d), want)
	}
	for name, e := range map[string]journal.Event{"beginning": b, "end": c} {
		if common(e) != want {
			t.Errorf("the %s says %+v, want %+v as the decision", name, common(e), want)
		}
	}
	if told := further(d); told != further(c) || told.bytes != 1200 || told.predictedTokens != 288 || !told.predicted ||
		told.priority != -7 || told.fairness != journal.HashName("tenant") {
		t.Errorf("the decision says %+v and the end %+v, want 1,200 bytes, 288 tokens predicted, priority -7, "+
			"and a tenant", told, further(c))
	}
	if b.Status != 200 {
		t.Errorf("the beginning has status %d, want 200", b.Status)
	}
	if users := f.names()["user"]; users != "somebody " {
		t.Errorf("got the users %q, want somebody", users)
	}
}

// TestRefusalsTellOfTheirRequest: followers are told whose requests were refused, and of what class and size they are.
func TestRefusalsTellOfTheirRequest(t *testing.T) {
	f := followed(t, `{"plugins":[{"type":"label-selector-filter","parameters":{"matchLabels":{"no":"such"}}}]}`)
	f.workers[0].askBody(`{"model":"m1","prompt":"hello"}`, toldHeaders...).Finish()
	all := f.events()
	if len(all) != 1 {
		t.Fatalf("got %+v, want a refusal", all)
	}
	if e := all[0]; e.Kind != journal.Refused || e.Reason != journal.HashName("filtered_out") || e.Client == 0 ||
		e.Fairness != journal.HashName("tenant") || e.Priority != -7 || e.PromptBytes != 5 ||
		e.Model != journal.HashName("m1") || e.Asked != e.Model || e.Time != f.clock.Now().UnixNano() {
		t.Errorf("got %+v, want a refusal of m1 by a client and for a tenant, with priority -7 and 5 bytes", e)
	}
}

// TestFlowsOfRequests: a request's flow goes by the header's name of today, else by the one of before.
func TestFlowsOfRequests(t *testing.T) {
	today, before := [2]string{"x-llm-d-inference-fairness-id", "a"}, [2]string{"x-gateway-inference-fairness-id", "b"}
	for _, tc := range []struct {
		name    string
		headers [][2]string
		want    string
	}{
		{"none", nil, ""}, {"today's", [][2]string{today}, "a"}, {"that of before", [][2]string{before}, "b"},
		{"both", [][2]string{before, today}, "a"},
	} {
		f := followed(t, byQueue)
		f.workers[0].ask(tc.headers...).Finish()
		if all := f.events(); len(all) != 2 || all[0].Fairness != journal.HashName(tc.want) ||
			strings.TrimSpace(f.names()["fairness"]) != tc.want {
			t.Errorf("%s: got %+v and the names %q, want %q", tc.name, all, f.names()["fairness"], tc.want)
		}
	}
}

// TestRewrittenModelsHaveNames: the one that was asked for and the one behind it.
func TestRewrittenModelsHaveNames(t *testing.T) {
	f := followed(t, selecting)
	f.workers[0].askBody(`{"model":"auto","prompt":"x"}`).Finish()
	got := strings.Fields(f.names()["model"])
	if slices.Sort(got); !slices.Equal(got, []string{"auto", "m"}) {
		t.Errorf("got the models %q, want auto and m", got)
	}
}

// TestFirstRequestIsRefused: followers are told of it, though nothing was journaled before.
func TestFirstRequestIsRefused(t *testing.T) {
	f := followed(t, byQueue)
	wantError(t, f.workers[0].requests.Request(wazerohost.Headers{{":path", "/sleep"}}, true), 403, "management_path")
	if all := f.events(); len(all) != 1 || all[0].Kind != journal.Refused || all[0].Code != 403 || all[0].Asked != 0 {
		t.Errorf("got %+v, want a refusal with 403, of no model", all)
	}
}

// TestRefusalsHaveNoStepsOfOthers: when nobody wants steps any more, refusals do not tell those of an earlier decision.
func TestRefusalsHaveNoStepsOfOthers(t *testing.T) {
	f := followed(t, filtering)
	for _, step := range []struct {
		sample int
		told   bool
	}{{1_000_000, true}, {0, false}} {
		f.sample = step.sample
		f.events()
		f.workers[0].Tick()
		wantError(t, f.workers[0].ask(), 503, "filtered_out")
		if all := f.events(); len(all) != 1 || len(all[0].Steps) > 0 != step.told {
			t.Errorf("a sample of %d: got %+v, want a refusal with steps: %v", step.sample, all, step.told)
		}
	}
}

// TestServersOwnCaches: what is remembered of a server's cache is as much as it says to have room for, of the process
// that it says to be.
func TestServersOwnCaches(t *testing.T) {
	prompt := func(text string) string {
		return `{"model":"m1","prompt":"` + strings.Repeat(text+" ", 200) + `"}` // 4 blocks of 64 tokens, and a bit
	}
	for _, tc := range []struct {
		name   string
		blocks uint32
		starts [2]uint64
		want   uint32
	}{
		{"nothing said", 0, [2]uint64{}, 256},
		{"room for both prompts", 40, [2]uint64{}, 256},
		{"room for one", 16, [2]uint64{}, 0},
		{"the same process", 0, [2]uint64{1_790_000_000_000_000_000, 1_790_000_000_000_000_000}, 256},
		{"another process", 0, [2]uint64{1_790_000_000_000_000_000, 1_799_999_000_000_000_000}, 0},
	} {
		m := modes[2]
		g := newGateway(t, m, 1, m.configuration(byPrefix, ""))
		p := newPool(0)
		load := &p.Load.Endpoints[0]
		load.KVBlockTokens, load.KVBlocks = 16, tc.blocks
		for i, text := range []string{"hello", "other", "hello"} {
			load.ProcessStart = tc.starts[i/2]
			g.publish(p)
			s := g.workers[0].askBody(prompt(text))
			s.SetServer(address(0))
			serve(s, 300, 2)
			s.Finish()
		}
		var got []uint32
		for _, e := range g.events(journal.Decision) {
			got = append(got, e.PredictedTokens)
		}
		if want := []uint32{0, 0, tc.want}; !slices.Equal(got, want) {
			t.Errorf("%s: %d tokens were predicted, want %d", tc.name, got, want)
		}
	}
}
