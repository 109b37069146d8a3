//go:build vllm && linux

package vllm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

const (
	// exactRounds is how often all ways to choose take their turn, each time with other conversations, apartRounds how
	// often those do that go through gateways which share nothing, as they differ more by chance.
	exactRounds, apartRounds = 2, 4
	// exactClients go on at once: the more there are, the more is chance.
	exactClients = 4
	// exactAboveRandom is what exact prefixes gain at least over choosing at random, in parts of the prompts' tokens.
	exactAboveRandom = 0.1
	// exactBehind is how far they are at most behind the approximate index, as rounds differ by some points by chance.
	exactBehind = 0.08
)

// comparesHits has more conversations than the engines have room for, and compares by the engines' own counters what
// prompts find in the caches: with servers chosen at random, by the configuration as it is shipped, and by exact
// prefixes in both modes. Then the turns come through two gateways that know nothing of each other, of which those
// with exact prefixes hear from the engines what the other one has done.
func comparesHits(t *testing.T, all []*exact) {
	shipped := []file{startFile(t, "envoy.yaml"), startFile(t, "envoy.yaml")}
	for _, f := range shipped {
		startSidecar(t, nil, fileToken, f.ingest)
	}
	always := func(base string) chooser { return func(uint64, []talk) route { return through(base) } }
	ways := []way{
		{"random", exactRounds, atRandom},
		{"approximate", exactRounds, always(shipped[0].base)},
		{"approximate apart", apartRounds, scattered(shipped[0].base, shipped[1].base)},
		{"exact apart", apartRounds, scattered(all[0].base, all[1].base)},
	}
	for _, x := range all {
		ways = append(ways, way{x.mode, exactRounds, always(x.base)})
	}
	hits := map[string]float64{}
	for round := range apartRounds {
		said := crowd(uint64(round))
		for i := range ways {
			w := ways[(i+round)%len(ways)]
			if round >= w.rounds {
				continue
			}
			for _, x := range all {
				x.forget(t)
			}
			began := time.Now()
			got := holdSome(t, said, exactClients, w.to(uint64(round), said))
			hits[w.name] += got / float64(w.rounds)
			t.Logf("round %d, %s: %.3f of the tokens of %d prompts were cached, in %v", round+1, w.name, got,
				len(said), time.Since(began).Round(100*time.Millisecond))
		}
	}
	t.Logf("of all rounds: %v", hits)
	for _, x := range all {
		wantHits(t, hits, x.mode, "random", exactAboveRandom)
		wantHits(t, hits, x.mode, "approximate", -exactBehind)
		wantEvictions(t, x)
	}
	wantHits(t, hits, "exact apart", "random", exactAboveRandom)
	wantHits(t, hits, "exact apart", "approximate apart", 0)
}

// way is one to choose engines.
type way struct {
	name   string
	rounds int
	to     chooser
}

// chooser says where the turns of a round's conversations are sent.
type chooser func(seed uint64, said []talk) route

// wantHits checks that one way finds that much more than another.
func wantHits(t *testing.T, hits map[string]float64, way, other string, more float64) {
	t.Helper()
	if hits[way] < hits[other]+more {
		t.Errorf("%s: %.3f, want at least %.2f more than %s, which has %.3f", way, hits[way], more, other, hits[other])
	}
}

// wantEvictions checks that the workload was more than fits, and that the index has followed.
func wantEvictions(t *testing.T, x *exact) {
	t.Helper()
	if x.value(t, "pintle_kv_events_total", "kind", "removed") == 0 {
		t.Errorf("%s: nothing was evicted", x.mode)
	}
	x.settled(t, "no more than there is room for", func(entries float64) bool {
		return entries > smallCache && entries <= float64(len(engines)*smallCache)
	})
	t.Logf("%s: %v of %v questions were answered, %v prompts learnt", x.mode,
		x.value(t, "pintle_prefix_lookups_total", "result", "answered"), x.value(t, "pintle_prefix_lookups_total"),
		x.value(t, "pintle_prefix_prompts_total", "result", "learnt"))
}

// scattered sends each turn through a gateway that chance chooses.
func scattered(bases ...string) chooser {
	return func(seed uint64, all []talk) route {
		random := rand.New(rand.NewPCG(seed, 4))
		choices := make([]int, len(all))
		for i := range choices {
			choices[i] = random.IntN(len(bases))
		}
		return func(conversation, _ int) string { return bases[choices[conversation]] }
	}
}

func through(base string) route { return func(int, int) string { return base } }

// crowd are the turns of many conversations in one order, each as a talk of its own: whoever goes on has been silent
// while some others spoke.
func crowd(seed uint64) (said []talk) {
	const most, silent = 4, 2 * exactClients
	open := append(talks(1000+seed), talks(2000 + seed)[:conversations/2]...)
	random := rand.New(rand.NewPCG(seed, 3))
	turn, spoke := make([]int, len(open)), make([]int, len(open))
	for {
		var may []int
		left := false
		for i := range open {
			left = left || turn[i] < most
			if turn[i] < most && (turn[i] == 0 || len(said)-spoke[i] >= silent) {
				may = append(may, i)
			}
		}
		if len(may) == 0 || !left { // only the last ones wait for others
			return said
		}
		i := may[random.IntN(len(may))]
		said = append(said, open[i][turn[i]:turn[i]+1])
		turn[i]++
		spoke[i] = len(said)
	}
}

// outlivesKill: an engine that is killed under load costs no request but those that it had and those of a moment after,
// which Envoy may send before it sees a connection's end. What it held is forgotten at once; when it is back, turns go
// there again, and find what it then has.
func outlivesKill(t *testing.T, all []*exact) {
	b := engines[1]
	if b.cmd == nil {
		t.Skip("the engines are not the tests' own")
	}
	var loads []*steadyLoad
	for i, x := range all {
		said := talks(uint64(3000 + i))
		loads = append(loads, &steadyLoad{file: x.file, workers: 2, pause: 50 * time.Millisecond,
			body: func(i, worker int) string { return said[(worker*conversations/2+i/turns)%conversations][i%turns] }})
	}
	for _, l := range loads {
		l.start(t)
	}
	both := func(x *exact) func() bool {
		return func() bool {
			return x.value(t, "pintle_kv_event_publisher_up") == 2 && x.entries(t) > smallCache
		}
	}
	for i, x := range all {
		loads[i].wantServedBy(t, b, "before it dies")
		x.wait(t, "blocks of both engines", both(x))
	}
	killed := time.Now()
	b.kill()
	took := time.Since(killed)
	for _, x := range all {
		x.wait(t, "the entries to go", func() bool { return x.entries(t) <= smallCache })
		t.Logf("%s: the dead engine's entries are gone after %v", x.mode, time.Since(killed).Round(time.Millisecond))
	}
	time.Sleep(grace)
	if err := b.launch(); err != nil {
		t.Fatal(err)
	}
	if err := b.await(); err != nil {
		t.Fatal(err)
	}
	t.Logf("engine %s is back after %v", b.name, time.Since(killed).Round(time.Second))
	for i, x := range all {
		loads[i].wantServedBy(t, b, "when it is back")
		x.wait(t, "blocks of both engines again", both(x))
	}
	harness.WaitFor(t, time.Minute, "the new engine to find blocks", func() (bool, string) {
		c := countersOf(t, b) // from zero
		return c.hits > 0, fmt.Sprint(c)
	})
	for _, l := range loads {
		l.end()
		l.wantFailuresWithin(t, killed, took+grace)
	}
}
