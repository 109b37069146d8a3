package state

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// TestAny: a State has any part by each of them.
func TestAny(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Options
		want bool
	}{
		"none":           {Options{Begins: true, Speeds: true, Busy: true, PrefixChains: 1, Seed: 1}, false},
		"in flight":      {Options{InFlight: true}, true},
		"prefix":         {Options{Prefix: true}, true},
		"cold":           {Options{Cold: true}, true},
		"latency":        {Options{Latency: true}, true},
		"of models":      {Options{ModelLatency: true}, true},
		"failures":       {Options{Failures: true}, true},
		"usage":          {Options{Usage: true}, true},
		"tokens":         {Options{Tokens: true}, true},
		"lengths":        {Options{Lengths: true}, true},
		"outputs":        {Options{Outputs: true}, true},
		"sessions":       {Options{Sessions: true}, true},
		"bursts":         {Options{Bursts: &BurstOptions{}}, true},
		"all but one":    {Options{InFlight: true, Cold: true, Usage: true}, true},
		"nothing at all": {Options{}, false},
	} {
		if got := tc.o.Any(); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

// TestBoundPrefix: the index has the limits that are asked for, unless others share it who ask for none.
func TestBoundPrefix(t *testing.T) {
	asked := PrefixLimits{Chains: 1, Capacity: 100, Entries: 50, Age: time.Minute}
	larger := asked
	larger.Capacity = 200
	for _, tc := range []struct {
		name string
		o    Options
		want PrefixLimits
	}{
		{"asked for", Options{PrefixLimits: asked, PrefixChains: 1}, asked},
		{"by no chain", Options{PrefixLimits: asked}, asked},
		{"a larger capacity elsewhere", Options{PrefixLimits: asked, PrefixChains: 1, PrefixCapacity: 200}, larger},
		{"a smaller one", Options{PrefixLimits: asked, PrefixChains: 1, PrefixCapacity: 20}, asked},
		{"another chain", Options{PrefixLimits: asked, PrefixChains: 2, PrefixCapacity: 20},
			PrefixLimits{Capacity: 20}},
		{"another index", Options{PrefixLimits: asked, PrefixChains: 1, PrefixCapacity: 20, PrefixIndexes: []int{9}},
			PrefixLimits{Capacity: 20}},
		{"nothing asked for", Options{PrefixChains: 1, PrefixCapacity: 20}, PrefixLimits{Capacity: 20}},
	} {
		if got := tc.o.BoundPrefix(); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// TestOptionsReachTheirParts: a part goes by what was asked for.
func TestOptionsReachTheirParts(t *testing.T) {
	s := New(Options{InFlight: true, Models: []uint64{5}, Tokens: true, TokenInputWeight: 1, TokenRequestMost: 10,
		Prefix: true, PrefixCapacity: 7})
	s.SetEndpoints([]uint64{1})
	s.Apply(&journal.Event{Kind: journal.Decision, Instance: 1, Lease: 1, Primary: 1, Model: 5})
	s.Tokens.Serve(3, 0, 100, 0)
	if _, most, _ := s.Tokens.Range(); s.InFlight.OfModel(0) != 1 || most != 10 || s.Prefix.answered.capacity != 7 {
		t.Errorf("got %d of the model, %v tokens and %d blocks, want 1, 10 and 7", s.InFlight.OfModel(0), most,
			s.Prefix.answered.capacity)
	}
	want := s.InFlight.MemoryBytes() + s.Tokens.MemoryBytes() + s.Prefix.MemoryBytes()
	if got := s.MemoryBytes(); got != want {
		t.Errorf("got %d bytes, want %d, those of all parts", got, want)
	}
}
