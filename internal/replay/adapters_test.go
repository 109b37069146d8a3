package replay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// TestAdaptersOfAServer: an adapter takes the place of the one that was used longest ago, which costs time; one for
// which there is no place waits, and others go before it.
func TestAdaptersOfAServer(t *testing.T) {
	like := Servers{MaxRunning: 8, BlockTokens: 16, Blocks: 1000, PrefillTokensPerSecond: 1000,
		TimePerOutputToken: 10 * time.Millisecond, Adapters: []string{"a", "b", "c"}, MaxAdapters: 2,
		AdapterLoad: time.Second}
	s := newServer(0, &like, unheard{})
	send := func(adapter, output int) *request {
		r := &request{input: 100, output: output, size: 16, adapter: adapter}
		s.send(r)
		return r
	}
	wantFirst := func(name string, r *request, want float64) {
		t.Helper()
		if got := r.first; !(got > want-1e-6 && got < want+1e-6) {
			t.Errorf("%s: the answer began at %v s, want %v", name, got, want)
		}
	}
	a, again, base := send(1, 1001), send(1, 1), send(noAdapter, 1)
	b := send(2, 501)
	c, behind := send(3, 1), send(2, 1)
	var m scoring.Metrics
	s.tell(&m)
	if !slices.Equal(m.RunningLoRA, []uint16{0, 1}) || !slices.Equal(m.WaitingLoRA, []uint16{2}) || m.MaxLoRA != 2 {
		t.Errorf("metrics tell of adapters %v running, %v waiting, at most %d, want [0 1], [2], 2", m.RunningLoRA,
			m.WaitingLoRA, m.MaxLoRA)
	}
	s.advance(100)
	wantFirst("the first one is loaded", a, 1.1)
	wantFirst("it is loaded already", again, 1.2)
	wantFirst("a base model needs none", base, 1.3)
	wantFirst("the second one is loaded", b, 2.4)
	wantFirst("who waits is passed over", behind, 2.5)
	if c.first < b.first+5 || c.first > a.first+10 {
		t.Errorf("the third one began at %v s, want it to wait for the place of the second, until %v or so", c.first,
			b.first+5)
	}
	first := send(1, 1)
	s.advance(200)
	wantFirst("the first one is still there", first, 100.1)
	second := send(2, 1)
	s.advance(300)
	wantFirst("the second one is loaded again", second, 201.1)
}

// TestModelsOf: servers with adapters list the base models that are asked for before them.
func TestModelsOf(t *testing.T) {
	ask := func(models ...string) (all []Request) {
		for _, m := range models {
			all = append(all, Request{Model: m})
		}
		return all
	}
	for _, tc := range []struct {
		name     string
		requests []Request
		want     []string
	}{
		{"two base models", ask("y", "a", "x", "y", ""), []string{"x", "y", "a", "b"}},
		{"adapters alone", ask("a", "b"), []string{"base", "a", "b"}},
	} {
		if got := modelsOf(tc.requests, []string{"a", "b"}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestPlacedAdapters: where requests for an adapter stay together, servers load adapters seldom.
func TestPlacedAdapters(t *testing.T) {
	o := Options{Servers: DefaultServers()}
	o.Servers.Count, o.Servers.MaxAdapters, o.Servers.AdapterLoad = 4, 3, time.Hour
	var requests []Request
	for i := range 12 {
		o.Servers.Adapters = append(o.Servers.Adapters, fmt.Sprint("adapter-", i))
	}
	for i := range 240 {
		requests = append(requests, Request{At: float64(i) * 1e6, Model: o.Servers.Adapters[i*7%12], Input: 10,
			Output: 1})
	}
	loads := func(config string) (n int) {
		for _, s := range run(t, config, requests, o) {
			if s.TTFT > 3600 {
				n++
			}
		}
		return n
	}
	placed := loads(`{"plugins": [{"type": "lora-placement-filter"}, {"type": "random-picker"}]}`)
	if anywhere := loads(random); placed > anywhere/2 || placed < 12 {
		t.Errorf("adapters were loaded %d times where they are placed and %d times where not, want at most half of it",
			placed, anywhere)
	}
}
