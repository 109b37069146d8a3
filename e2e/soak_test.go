package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestSoakPause: Pintle with its default configuration must not make Envoy grow, neither by the module's memory, which
// never shrinks, nor by Envoy's own. PINTLE_SOAK=10m has it run that long.
func TestSoakPause(t *testing.T) {
	soak(t, harness.Cell{Hold: "pause", Destination: "original-dst"}, 40*time.Second)
}

// TestSoakBuffer is the same with Envoy's buffer filter.
func TestSoakBuffer(t *testing.T) {
	soak(t, harness.Cell{Hold: "buffer", Destination: "original-dst"}, 30*time.Second)
}

const (
	soakServers     = 32
	soakConnections = 8
	soakSessions    = 10_000
	soakLeast       = 2_000
	soakMost        = 400_000
	// soakBlocks is the size of a server's KV cache, and so of its part of the prefix index, which keeps four times as
	// much: as many as Qwen3-32B has on two H100.
	soakBlocks = 19_208 / 4
	// soakWarmUp is after how many requests all is full that has a bound: the journal, which takes 9,000 prompts of 256
	// blocks, and the prefix index. As blocks grow, a prompt has some 100 at 16 KB and 243 at 400 KB: 130 in the mean.
	soakWarmUp = 24_000
	soakGrowth = 0.05
	// soakFirstTouch is what may come on top in a run that is shorter than soakSettled: the pages of the workers'
	// memory that their allocator comes to for the first time. They are bounded by that memory, which does not grow
	// (TestMemoryStaysFlat of the filter).
	soakFirstTouch = 0.10
	soakSettled    = 5 * time.Minute
	// soakBytes bounds the memory itself: an Envoy without Pintle has about 60 MiB.
	soakBytes = 250 << 20
)

// soak sends mixed prompts in a closed loop and has memory grow by soakGrowth at most once all is warm.
func soak(t *testing.T, cell harness.Cell, duration time.Duration) {
	harness.Long(t)
	if text := os.Getenv("PINTLE_SOAK"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil || duration < 20*time.Second {
			t.Fatalf("PINTLE_SOAK=%s: want a duration of 20s or more, such as 10m", text)
		}
	}
	f := newSoakFixture(t, cell)
	if f.ResidentBytes() == 0 {
		t.Skip("this system does not tell how much memory a process has")
	}
	traffic := f.send(t)
	curve, warmUp := f.watch(t, traffic, duration)
	traffic.end(t)
	f.check(t, traffic)
	limit := soakGrowth
	if duration < soakSettled {
		limit += soakFirstTouch
	}
	wantFlat(t, "Envoy's heap", curve, warmUp, soakGrowth, func(s memorySample) int64 { return s.heap })
	early, late := wantFlat(t, "resident memory", curve, warmUp, limit, func(s memorySample) int64 { return s.bytes })
	t.Logf("%d requests of 2 to 400 KB; warm after %v with %d MiB, %d MiB at the end",
		traffic.answered.Load(), warmUp.Round(time.Second), early>>20, late>>20)
	if late > soakBytes {
		t.Errorf("%d MiB are resident at the end, want at most %d", late>>20, soakBytes>>20)
	}
}

// watch follows the memory. Warm is what has had a third of the duration and soakWarmUp requests, whichever comes
// later, or twice the duration on a machine that is too slow for that. The time counts, too: a VM's memory becomes
// resident page by page, as the allocator first comes along, and what a worker leaves to the garbage collector depends
// on snapshots rather than on requests.
func (f *soakFixture) watch(t *testing.T, r *traffic,
	duration time.Duration) (curve memoryCurve, warmUp time.Duration) {
	start, shown := time.Now(), 0
	for len(r.failures) == 0 {
		elapsed, answered := time.Since(start), r.answered.Load()
		curve = append(curve, memorySample{elapsed, f.ResidentBytes(), f.heap(t)})
		if now := int(20 * elapsed / duration); now > shown || shown == 0 {
			shown = max(now, 1)
			t.Logf("%4.0f s, %8d requests: %d MiB", elapsed.Seconds(), answered, f.ResidentBytes()>>20)
		}
		if warmUp == 0 && elapsed >= duration/3 && (answered >= soakWarmUp || elapsed >= 2*duration) {
			warmUp = elapsed
		}
		if warmUp > 0 && elapsed >= warmUp+duration-duration/3 {
			break
		}
		time.Sleep(250 * time.Millisecond)
	}
	return curve, warmUp
}

// soakFixture is an Envoy that nothing else has touched, with the real sidecar and servers that answer at once.
type soakFixture struct {
	*harness.Envoy
	servers []*harness.Server
}

func newSoakFixture(t *testing.T, cell harness.Cell) *soakFixture {
	t.Helper()
	f := &soakFixture{}
	var addresses []string
	for i := range soakServers {
		server, err := harness.NewServer(sim.Config{Name: fmt.Sprint("sim-", i), Instant: true, Blocks: soakBlocks})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		f.servers, addresses = append(f.servers, server), append(addresses, server.Address)
	}
	var err error
	f.Envoy, err = harness.Start(cell, addresses, &harness.Listener{Name: "requests"},
		&harness.Listener{Name: "ingest", Ingest: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	f.LogOnFailure(t)
	harness.StartSidecar(t, f.URL("ingest", harness.IngestPath), f.servers...)
	client := harness.Client(t, false)
	harness.WaitFor(t, 20*time.Second, "the sidecar's first snapshot", func() (bool, string) {
		answer := harness.Send(t, client,
			harness.Request(t, http.MethodPost, f.URL("requests", chatPath), chatBody, false))
		return answer.Status == http.StatusOK, fmt.Sprint(answer.Status)
	})
	return f
}

// traffic is a closed loop of clients.
type traffic struct {
	stop, answered atomic.Int64
	failures       chan string
	running        sync.WaitGroup
	before         int64 // that the servers had received
	errorsBefore   map[string]int64
}

func (f *soakFixture) received() int64 {
	sum := int64(0)
	for _, s := range f.servers {
		sum += int64(s.Count())
	}
	return sum
}

// soakErrors are Envoy's statistics that a soak must leave as they are.
const soakErrors = `(vm_reload|http.requests.downstream_rq_(active|5xx|4xx)$|cluster.model-servers.upstream_rq_active$)`

func (f *soakFixture) send(t *testing.T) *traffic {
	r := &traffic{failures: make(chan string, soakConnections), before: f.received(),
		errorsBefore: f.Stats(t, soakErrors)}
	text := longChat(soakMost)
	text = text[strings.Index(text, "all work"):strings.LastIndex(text, `"}]}`)]
	for i := range soakConnections {
		client := harness.Client(t, false)
		random := rand.New(rand.NewPCG(uint64(i), 1))
		r.running.Go(func() {
			for n := 1; r.stop.Load() == 0; n++ {
				if err := f.sendOne(client, random, text); err != nil {
					r.failures <- err.Error()
					return
				}
				r.answered.Add(1)
				if n%200 == 0 {
					client.CloseIdleConnections() // the next one may go to the other worker
				}
			}
		})
	}
	return r
}

// sendOne sends a turn of some session. What a session says begins with its number and goes on with the same text,
// longer or shorter: sizes are as likely between 2 and 4 KB as between 200 and 400.
func (f *soakFixture) sendOne(client *http.Client, random *rand.Rand, text string) error {
	const end = `"}]}`
	start := fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"messages":[{"role":"user","content":"session %d. `,
		random.IntN(soakSessions))
	size := soakLeast * math.Pow(float64(soakMost)/soakLeast, random.Float64())
	text = text[:min(max(int(size)-len(start)-len(end), 0), len(text))]
	request, err := http.NewRequest(http.MethodPost, f.URL("requests", chatPath),
		io.MultiReader(strings.NewReader(start), strings.NewReader(text), strings.NewReader(end)))
	if err != nil {
		return err
	}
	request.ContentLength = int64(len(start) + len(text) + len(end))
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s, x-pintle-reason %q: %s", response.Status, response.Header.Get("X-Pintle-Reason"), answer)
	}
	return err
}

// end waits for the clients and fails t for each that met a failure.
func (r *traffic) end(t *testing.T) {
	t.Helper()
	r.stop.Store(1)
	r.running.Wait()
	close(r.failures)
	for failure := range r.failures {
		t.Errorf("a request failed: %s", failure)
	}
}

// check compares what the clients, Envoy and the servers counted, and asks whether a VM failed.
func (f *soakFixture) check(t *testing.T, r *traffic) {
	t.Helper()
	if got, want := f.received()-r.before, r.answered.Load(); got != want {
		t.Errorf("the servers received %d requests, want %d, as many as were answered", got, want)
	}
	harness.WaitFor(t, 10*time.Second, fmt.Sprint("Envoy's statistics to be as before: ", r.errorsBefore),
		func() (bool, string) {
			stats := f.Stats(t, soakErrors)
			return maps.Equal(stats, r.errorsBefore), fmt.Sprint(stats)
		})
	for _, s := range f.servers {
		if s.Count() == 0 {
			t.Errorf("%s received nothing", s.Name)
		}
	}
}

// memoryCurve is the memory of an Envoy over time.
type memoryCurve []memorySample

type memorySample struct {
	at time.Duration
	// bytes are resident; heap is what Envoy has allocated outside the VMs, the journal among it.
	bytes, heap int64
}

// heap is what Envoy says of its allocator.
func (f *soakFixture) heap(t testing.TB) int64 {
	t.Helper()
	text, err := f.Admin("/memory")
	var memory struct {
		Allocated int64 `json:",string"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &memory)
	}
	if err != nil {
		t.Errorf("Envoy's memory: %v", err)
	}
	return memory.Allocated
}

// wantFlat checks that a kind of memory has grown by a part of limit at most since the warm-up.
func wantFlat(t testing.TB, what string, c memoryCurve, warmUp time.Duration, limit float64,
	kind func(memorySample) int64) (early, late int64) {
	t.Helper()
	early, late = c.from(warmUp, kind)
	if growth := float64(late-early) / float64(early); growth > limit {
		t.Errorf("%s grew by %.1f %% from %d MiB, want at most %.0f %%", what, 100*growth, early>>20, 100*limit)
	}
	return early, late
}

// from returns the medians of the first and of the last twentieth of the samples after a time: single ones jump by what
// a body needs.
func (c memoryCurve) from(start time.Duration, kind func(memorySample) int64) (early, late int64) {
	after := c[slices.IndexFunc(c, func(s memorySample) bool { return s.at >= start }):]
	n := len(after)/20 + 1
	return after[:n].median(kind), after[len(after)-n:].median(kind)
}

func (c memoryCurve) median(kind func(memorySample) int64) int64 {
	bytes := make([]int64, len(c))
	for i, s := range c {
		bytes[i] = kind(s)
	}
	slices.Sort(bytes)
	return bytes[len(bytes)/2]
}
