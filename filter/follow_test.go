package main_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// follow asks the ingest listener as a follower does.
func (w *worker) follow(path string, headers ...[2]string) *wazerohost.Stream {
	h := wazerohost.Headers{{":method", "GET"}, {":path", path}, {"authorization", "Bearer " + token}}
	return w.ingest.Request(set(h, headers...), true)
}

// follower follows a gateway.
type follower struct {
	journal.Follower
	*gateway
	// sample is of how many in a million decisions it wants the steps.
	sample int
}

// events asks for what is new.
func (f *follower) events() (all []journal.Event) {
	f.t.Helper()
	at := f.At()
	s := f.workers[0].follow(fmt.Sprintf("/pintle/v1/journal?at=%d.%d.%d.%d&sample=%d", at.Epoch, at.Page, at.Seq,
		at.Offset, f.sample))
	a, ok := journal.ParseAnswer(s.ResponseBody())
	if !ok || s.ResponseHeaders().Get(":status") != "200" {
		f.t.Fatalf("got %v %q, want an answer", s.ResponseHeaders(), s.ResponseBody())
	}
	f.Read(&a, func(e *journal.Event, _ journal.Position) {
		copied := *e
		copied.Chains, copied.Encode, copied.Steps = nil, nil, slices.Clone(e.Steps)
		all = append(all, copied)
	})
	return all
}

// names asks for the names behind the hashes.
func (f *follower) names() map[string]string {
	f.t.Helper()
	text := f.workers[0].follow("/pintle/v1/names").ResponseBody()
	kinds := []string{"", "model", "user", "profile", "reason", "plugin", "fairness"}
	all := map[string]string{}
	journal.ReadNames(text[4:], func(kind journal.NameKind, hash uint64, name []byte) {
		if journal.HashName(string(name)) == hash {
			all[kinds[kind]] += string(name) + " "
		}
	})
	return all
}

func TestFollowersAreRefused(t *testing.T) {
	tests := []struct {
		name, path string
		headers    [][2]string
		from       string
		status     int
		code       string
	}{
		{"no token", "/pintle/v1/journal", [][2]string{{"authorization", ""}}, "", 401, "unauthorized"},
		{"another token", "/pintle/v1/names", [][2]string{{"authorization", "Bearer x"}}, "", 401, "unauthorized"},
		{"another machine", "/pintle/v1/journal", nil, "10.0.0.9:4000", 403, "foreign_peer"},
		{"POST", "/pintle/v1/journal", [][2]string{{":method", "POST"}}, "", 405, "method"},
		{"a position that is none", "/pintle/v1/journal?at=1.2.3", nil, "", 400, "bad_position"},
		{"a position with too much", "/pintle/v1/journal?at=1.2.3.4.5", nil, "", 400, "bad_position"},
		{"a position far out", "/pintle/v1/journal?keep=1.2.3.1048576", nil, "", 400, "bad_position"},
		{"too many positions", "/pintle/v1/journal?" + strings.Repeat("at=1.2.3.4&", 9), nil, "", 400, "bad_position"},
		{"a sample above one", "/pintle/v1/journal?sample=1000001", nil, "", 400, "bad_position"},
	}
	for _, m := range []mode{modes[0], modes[2]} {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		for _, tc := range tests {
			t.Run(m.hold+" "+tc.name, func(t *testing.T) {
				h := set(wazerohost.Headers{{":method", "GET"}, {":path", tc.path},
					{"authorization", "Bearer " + token}}, tc.headers...)
				from := wazerohost.From(cmp.Or(tc.from, "127.0.0.1:4000"))
				e := wantError(t, g.workers[0].ingest.Request(h, true, from), tc.status, tc.code)
				if e.Error.Type != "follower_refused" {
					t.Errorf("type: got %q, want follower_refused", e.Error.Type)
				}
			})
		}
		if _, _, ok := g.host.SharedData("pintle/v1/followed"); ok {
			t.Error("what was refused counts as followed")
		}
		g.publish(newPool(0))
		for _, path := range []string{"/pintle/v1/journal?keep=1.2.3.1048575&sample=1000000", "/pintle/v1/names",
			"/pintle/v1/journal?" + strings.Repeat("at=1.2.3.4&", 8)} {
			h := g.workers[0].follow(path).ResponseHeaders()
			if h.Get(":status") != "200" || h.Get("content-type") != "application/octet-stream" {
				t.Errorf("%s: got %v, want 200 and bytes", path, h)
			}
		}
		elsewhere := g.workers[0].requests.Request(
			wazerohost.Headers{{":method", "GET"}, {":path", "/pintle/v1/journal"}}, true)
		if !elsewhere.Sent() {
			t.Errorf("on another listener: got %v, want an ordinary request", elsewhere.ResponseHeaders())
		}
	}
}

// TestFollowersWithLongTokens: what a follower asks for outlasts the look at its token, however long that is.
func TestFollowersWithLongTokens(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 16)
	m := modes[0]
	g := newGateway(t, m, 1, strings.Replace(m.configuration(byPrefix, ""), token, long, 1))
	authorization := [2]string{"authorization", "Bearer " + long}
	names := g.workers[0].follow("/pintle/v1/names", authorization)
	if got := names.ResponseBody(); !bytes.Equal(got, make([]byte, 8)) {
		t.Errorf("names: got %v %q, want two empty lists", names.ResponseHeaders(), got)
	}
	wantError(t, g.workers[0].follow("/pintle/v1/journal?at=1.2.3", authorization), 400, "bad_position")
}

// byPrefix looks for prompts in caches.
const byPrefix = `{"plugins":[{"type":"prefix-cache-scorer"}]}`

// TestInventedModelsHaveNoNames: clients do not fill the list of names.
func TestInventedModelsHaveNoNames(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	p := newPool(0)
	p.Topology.Endpoints[0].Models = []string{"real"}
	g.publish(p)
	f := &follower{gateway: g}
	f.events()
	g.workers[0].Tick()
	for i := range 300 {
		wantError(t, g.workers[0].askBody(fmt.Sprintf(`{"model":"invented-%d","prompt":"x"}`, i)), 404, "model_not_found")
	}
	g.workers[0].askBody(`{"model":"real","prompt":"x"}`).Finish()
	if got := f.names()["model"]; got != "real " {
		t.Errorf("got the models %q, want the real one", got)
	}
}

// TestNamesFromBeforeFollowing: what was journaled before somebody followed has its names.
func TestNamesFromBeforeFollowing(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byPrefix, ""))
	g.publish(newPool(0))
	g.workers[0].askBody(`{"model":"early","prompt":"x"}`).Finish()
	f := &follower{gateway: g}
	got := f.events()
	if len(got) == 0 || got[0].Kind != journal.Decision || got[0].Model != journal.HashName("early") {
		t.Fatalf("got %+v, want the decision for early", got)
	}
	if got := f.names()["model"]; got != "early " {
		t.Errorf("got the models %q, want early", got)
	}
}

// TestRefusedModelsHaveNames: which models were asked for in vain is known where somebody serves them.
func TestRefusedModelsHaveNames(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(
		`{"plugins":[{"type":"label-selector-filter","parameters":{"matchLabels":{"no":"such"}}}]}`, ""))
	p := newPool(0)
	p.Rewrites = []snapshot.Rewrite{{Models: []string{"alias"}, Targets: []snapshot.RewriteTarget{{Model: "real",
		Weight: 1}}}}
	g.publish(p)
	f := &follower{gateway: g}
	f.events()
	g.workers[0].Tick()
	wantError(t, g.workers[0].askBody(`{"model":"alias","prompt":"x"}`), 429, "filtered_out")
	got := strings.Fields(f.names()["model"])
	if slices.Sort(got); !slices.Equal(got, []string{"alias", "real"}) {
		t.Errorf("got the models %q, want the one that was asked for and the one behind it", got)
	}
}

// TestFollowersAreToldEverything has a configuration that needs no journal itself, and one that does.
func TestFollowersAreToldEverything(t *testing.T) {
	for _, document := range []string{byQueue, byPrefix} {
		m := modes[0]
		g := newGateway(t, m, 2, m.configuration(document, ""))
		p := newPool(0, 3)
		p.Objectives = []snapshot.Objective{{Name: "batch", Priority: -7}}
		g.publish(p)
		f := &follower{gateway: g}
		refuse := func() { g.workers[1].askBody(`{"model":`).Finish() }
		refuse()
		if got := f.events(); len(got) != 0 {
			t.Errorf("before anybody followed: got %+v, want nothing", got)
		}
		for _, w := range g.workers {
			w.Tick()
		}
		refuse()
		s := g.workers[0].askBody(`{"model":"m1","prompt":"hello","user":"somebody"}`,
			[2]string{"x-gateway-inference-objective", "batch"}, [2]string{"x-gateway-inference-fairness-id", "old"},
			[2]string{"x-llm-d-inference-fairness-id", "tenant"})
		s.SetServer(address(0))
		s.Respond(wazerohost.Headers{{":status", "200"}}, false)
		s.RespondBody([]byte(`{"usage":`), false)
		s.RespondBody([]byte(`{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}}}`),
			true)
		s.Finish()
		got := f.events()
		if len(got) != 3 {
			t.Fatalf("got %+v, want a refusal, a decision and a completion", got)
		}
		model, profile, tenant := journal.HashName("m1"), journal.HashName("default"), journal.HashName("tenant")
		if r := got[0]; r.Kind != journal.Refused || r.Reason != journal.HashName("invalid_body") || r.Code != 400 {
			t.Errorf("got %+v, want a refusal", r)
		}
		if d := got[1]; d.Kind != journal.Decision || d.Model != model || d.Asked != model || d.Profile != profile ||
			d.PromptBytes == 0 || d.Fairness != tenant || d.Priority != -7 ||
			d.Predicted != (document == byPrefix) {
			t.Errorf("got %+v, want a decision", d)
		}
		if c := got[2]; c.Kind != journal.Completion || c.Code != 200 || c.Ended != journal.EndedWhole ||
			c.InputTokens != 7 ||
			c.OutputTokens != 2 || c.CachedTokens != 3 || c.Asked != model || c.Profile != profile ||
			c.Primary != endpointID(0) || c.Fairness != tenant || c.Priority != -7 {
			t.Errorf("got %+v, want a completion", c)
		}
		want := map[string]string{"model": "m1 ", "profile": "default ", "reason": "invalid_body ",
			"fairness": "tenant "}
		if got := f.names(); !reflect.DeepEqual(got, want) {
			t.Errorf("names: got %v, want %v", got, want)
		}
		if got := f.events(); len(got) != 0 {
			t.Errorf("asked again: got %+v, want nothing", got)
		}
	}
}

// TestPositionsAreKept: where the next process of a follower shall go on is told to it, and stays until another
// position is named.
func TestPositionsAreKept(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byPrefix, ""))
	g.publish(newPool(0))
	g.workers[0].ask().Finish()
	f := &follower{gateway: g}
	f.events()
	at := f.At()
	keep := fmt.Sprintf("?keep=%d.%d.%d.%d", at.Epoch, at.Page, at.Seq, at.Offset)
	for _, query := range []string{keep, "", "?sample=7", "?at=" + strings.TrimPrefix(keep, "?keep=")} {
		a, ok := journal.ParseAnswer(g.workers[0].follow("/pintle/v1/journal" + query).ResponseBody())
		if !ok || a.Kept != at || at == (journal.Position{}) {
			t.Errorf("%q: got %v, %v, want %v kept", query, a.Kept, ok, at)
		}
	}
}

// TestNamesComeWithTheTopology: whoever asks for names is told the endpoints that there are, too.
func TestNamesComeWithTheTopology(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	g.publish(newPool(0))
	body := g.workers[0].follow("/pintle/v1/names").ResponseBody()
	names, _, _ := g.host.SharedData(keyNames)
	topology, _, _ := g.host.SharedData(keyTopology)
	want := binary.LittleEndian.AppendUint32(nil, uint32(len(names)))
	want = binary.LittleEndian.AppendUint32(append(want, names...), uint32(len(topology)))
	if want = append(want, topology...); !bytes.Equal(body, want) || len(topology) == 0 {
		t.Errorf("got %q, want the names and the topology, each behind its length: %q", body, want)
	}
}
