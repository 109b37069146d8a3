package traffic

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// prompt takes a request with a prompt of blocks of 64 tokens, at an endpoint that answers it; by another gateway when
// relayed is set.
func (f *fixture) prompt(endpoint string, relayed bool, instance uint64, blocks ...uint64) {
	f.lease++
	e := journal.Event{
		Kind: journal.Decision, Instance: instance, Lease: f.lease, Model: journal.HashName("m1"),
		Primary: journal.EndpointID(endpoint), Relayed: relayed, Steps: steps(),
		Chains: []journal.Chain{{ID: 256, Blocks: blocks}},
	}
	f.take(e, false)
	e.Kind, e.Chains, e.Steps = journal.Completion, nil, nil
	e.Status, e.Code, e.TTFTMicros, e.Ended = 200, 200, 1000, journal.EndedWhole
	f.take(e, false)
}

func (f *fixture) wantPrefixes(when, endpoint string, want Prefixes) {
	f.t.Helper()
	if got, ok := f.Prefixes(endpoint); !ok || got != want {
		f.t.Errorf("%s: %s has %+v, %v, want %+v", when, endpoint, got, ok, want)
	}
}

// TestPrefixes: who has the beginnings of which prompts is known, of other gateways' requests, too, and what a restart
// takes away.
func TestPrefixes(t *testing.T) {
	f := newFixtureWith(t, Options{Prefixes: true})
	f.prompt("vllm-0", false, 1, 1, 2, 3)
	f.prompt("vllm-0", false, 1, 1, 2, 4)
	f.wantPrefixes("after two prompts", "vllm-0", Prefixes{Blocks: 4})
	f.prompt("vllm-1", true, 2, 1, 2)
	f.prompt("vllm-1", true, 1, 7, 8, 9) // heard of it before, from the Envoy itself
	f.wantPrefixes("after another gateway's prompt", "vllm-1", Prefixes{Blocks: 2})
	if n := len(f.Decisions(0).Decisions); n != 2 {
		t.Errorf("%d decisions are listed, want the Envoy's own 2", n)
	}
	f.prompt("vllm-1", false, 1, 1, 2, 3, 5)
	x, ok := f.Decision(f.Decisions(0).Decisions[0].ID)
	want := &Held{Blocks: 4, Of: map[string]int{"vllm-0": 3, "vllm-1": 2}}
	if !ok || !reflect.DeepEqual(x.Held, want) {
		t.Errorf("the last prompt was held by %+v, want %+v", x.Held, want)
	}
	f.want(`pintle_believed_prefix_blocks{endpoint="vllm-0"} 4`, `pintle_believed_prefix_blocks{endpoint="vllm-1"} 4`)
	if strings.Contains(f.page(), "pintle_believed_prefix_capacity_blocks{") {
		t.Error("a capacity is known that nobody told")
	}

	target := &pool.Target{Name: "vllm-0"}
	sample := func(start uint64) {
		f.now = f.now.Add(time.Minute)
		target.Read(&engine.Sample{KVBlocks: 12, KVBlockTokens: 16, ProcessStart: start}, f.now, nil)
		g := &pool.Generation{Topology: &snapshot.Topology{}, Targets: []*pool.Target{target, {Name: "gone"}}}
		f.Sample(g, &config.Metrics{QueueDepth: 5, KVUsage: 0.8})
	}
	sample(1_000_000)
	f.wantPrefixes("with room for 192 tokens", "vllm-0", Prefixes{Blocks: 3, Capacity: 3})
	f.want(`pintle_believed_prefix_capacity_blocks{endpoint="vllm-0"} 3`)
	sample(2_000_000)
	f.wantPrefixes("after a restart", "vllm-0", Prefixes{Capacity: 3})
	f.SetEndpoints([]string{"vllm-1"})
	if _, ok := f.Prefixes("vllm-0"); ok || strings.Contains(f.page(), `blocks{endpoint="vllm-0"}`) {
		t.Error("the endpoint that left has prefixes")
	}
}

// TestPrefixesUntold: no room is told of an endpoint that has not said how much it has, nor before a prompt told how
// long a block is.
func TestPrefixesUntold(t *testing.T) {
	f := newFixtureWith(t, Options{Prefixes: true})
	says, silent := &pool.Target{Name: "vllm-0"}, &pool.Target{Name: "vllm-1"}
	sample := func() {
		f.now = f.now.Add(time.Minute)
		says.Read(&engine.Sample{KVBlocks: 12, KVBlockTokens: 16}, f.now, nil)
		silent.Read(&engine.Sample{}, f.now, nil)
		g := &pool.Generation{Topology: &snapshot.Topology{}, Targets: []*pool.Target{says, silent}}
		f.Sample(g, &config.Metrics{QueueDepth: 5, KVUsage: 0.8})
	}
	sample()
	f.wantPrefixes("before a prompt", "vllm-0", Prefixes{})
	f.prompt("vllm-1", false, 1, 1, 2, 3)
	sample()
	f.wantPrefixes("after a prompt", "vllm-0", Prefixes{Capacity: 3})
	f.wantPrefixes("without a word", "vllm-1", Prefixes{Blocks: 3})
	says, silent = silent, says // other servers have come in their places
	sample()
	f.wantPrefixes("without another word", "vllm-0", Prefixes{})
}

// TestPrefixesCutInTwoWays: blocks of both ways count, of what is there and of the room.
func TestPrefixesCutInTwoWays(t *testing.T) {
	f := newFixtureWith(t, Options{Prefixes: true})
	e := journal.Event{Kind: journal.Decision, Instance: 1, Lease: 1, Model: journal.HashName("m1"),
		Primary: journal.EndpointID("vllm-0"),
		Chains:  []journal.Chain{{ID: 256, Blocks: []uint64{1, 2, 3}}, {ID: 1024, Blocks: []uint64{4}}}}
	f.take(e, false)
	e.Kind, e.Chains, e.Status, e.TTFTMicros = journal.Completion, nil, 200, 1000
	f.take(e, false)
	f.wantPrefixes("after a prompt", "vllm-0", Prefixes{Blocks: 4})
	f.prompt("vllm-0", false, 1, 1, 2, 3)
	target := &pool.Target{Name: "vllm-0"}
	for _, tt := range []struct {
		name string
		room engine.Sample
		want int
	}{
		{"pages of 16 tokens", engine.Sample{KVBlocks: 18, KVBlockTokens: 16}, 10},
		{"no pages", engine.Sample{KVBlocks: 9}, 18},
		{"more than anything", engine.Sample{KVBlocks: 1<<32 - 1}, 1<<31 - 1},
	} {
		f.now = f.now.Add(time.Minute)
		target.Read(&tt.room, f.now, nil)
		g := &pool.Generation{Topology: &snapshot.Topology{}, Targets: []*pool.Target{target}}
		f.Sample(g, &config.Metrics{QueueDepth: 5, KVUsage: 0.8})
		f.wantPrefixes(tt.name, "vllm-0", Prefixes{Blocks: 4, Capacity: tt.want})
	}
}

// TestNoPrefixes: nothing of them is kept unless it is wanted.
func TestNoPrefixes(t *testing.T) {
	f := newFixture(t, false)
	f.prompt("vllm-0", false, 1, 1, 2, 3)
	if p, ok := f.Prefixes("vllm-0"); ok {
		t.Errorf("got %+v, want nothing", p)
	}
	if strings.Contains(f.page(), "pintle_believed_prefix") {
		t.Errorf("there are metrics of prefixes:\n%s", f.page())
	}
	if x, ok := f.Decision(f.Decisions(0).Decisions[0].ID); !ok || x.Held != nil {
		t.Errorf("got %+v, %v, want a decision that says nothing of who held its prompt", x.Held, ok)
	}
}

// TestPrefixesOfManyInstances: that plug-ins were configured again and again does not have what another Envoy tells of
// this one's requests count for new.
func TestPrefixesOfManyInstances(t *testing.T) {
	f := newFixtureWith(t, Options{Prefixes: true})
	for instance := range uint64(follow.MostInstances + 1) {
		f.prompt("vllm-0", false, 1+instance, 1)
	}
	f.prompt("vllm-1", true, follow.MostInstances+1, 7, 8, 9)
	f.wantPrefixes("after many instances", "vllm-1", Prefixes{})
}
