package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestMemoryStaysFlat sends 20,000 requests of every kind through one worker, snapshots and ticks, in which garbage is
// collected, between them. The VM's memory, which can only grow, is as large after the last as after the warm-up.
func TestMemoryStaysFlat(t *testing.T) {
	for _, m := range []mode{modes[1], modes[2]} {
		t.Run(m.String(), func(t *testing.T) {
			g := newGateway(t, m, 1, m.configuration(sticky, ""))
			w := g.workers[0]
			long := fmt.Sprintf(`{"model":"m","prompt":%q}`, strings.Repeat("lorem ipsum ", 5000))
			round := func(i int) {
				if i%20 == 0 {
					w.Tick()
					g.publish(newPool(uint32(i%7), 3, 3, uint32(i%5)).label(0, "round", fmt.Sprint(i%3)))
				}
				switch i % 10 {
				case 0:
					w.askBody(long, [2]string{"x-gateway-model-name-rewrite", fmt.Sprint("model-", i)}).Finish()
				case 1:
					w.askBody(`{"broken`).Finish()
				case 2:
					w.requests.Request(nil, true).Finish()
				case 3:
					s := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
					s.Body([]byte(completion[:9]), false)
					s.Abort()
				default:
					w.ask([2]string{"x-session-token", sessionToken(i % 4)},
						[2]string{"x-request-id", fmt.Sprint(i)}).Finish()
				}
			}
			const requests, warmUp = 20_000, 4_000
			warm := 0
			for i := range requests {
				if i == warmUp {
					warm = w.MemoryBytes()
				}
				round(i)
			}
			if got := w.MemoryBytes(); got != warm {
				t.Errorf("memory: got %d bytes after %d requests, want the %d bytes after %d", got, requests, warm,
					warmUp)
			}
			if most := 16 << 20; warm > most {
				t.Errorf("memory after the warm-up: got %d bytes, want at most %d", warm, most)
			}
		})
	}
}

// TestSmallGarbageTakesNoMemory has requests of names that nobody has seen, which leave small objects alone. They are
// collected before they have the memory doubled.
func TestSmallGarbageTakesNoMemory(t *testing.T) {
	const requests, most = 112_000, 32 << 20
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(`{"plugins":[
		{"type":"session-affinity-scorer","parameters":{"strategy":"session_id"}},{"type":"prefix-cache-scorer"},
		{"type":"vtc-basic"},{"type":"latency-scorer"},{"type":"lora-affinity-scorer"},
		{"type":"lora-placement-filter"}]}`, ""))
	g.publish(newPool(0, 0, 0, 0))
	w := g.workers[0]
	for i := range requests {
		id := fmt.Sprint(i, "-", i*7919)
		body := fmt.Sprintf(`{"model":"m-%s","prompt":%q}`, id, strings.Repeat(id+" lorem ", 20))
		g.answer(w.askBody(body, [2]string{"x-session-id", id}, [2]string{"user", id}), time.Millisecond)
		if i%50 == 0 {
			w.Tick()
		}
		if i%500 == 0 {
			p := newPool(0, 0, 0, uint32(i%3))
			p.Load.Adapters = []string{"a" + id, "b" + id}
			g.publish(p)
		}
	}
	if got := w.MemoryBytes(); got > most {
		t.Errorf("memory after %d requests: got %d bytes, want at most %d", requests, got, most)
	}
}

// TestLargeBodiesTakeBoundedMemory sends bodies of up to 7 MiB, all of different sizes. What a worker keeps is a few
// times the largest.
func TestLargeBodiesTakeBoundedMemory(t *testing.T) {
	const requests, largest, most = 100, 7 << 20, 128 << 20
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	g.publish(newPool(1, 0))
	prompt := strings.Repeat("x", largest)
	for i := range requests {
		body := `{"prompt":"` + prompt[:i*7_000_003%largest] + `","model":"m"}`
		if i%4 == 0 {
			body = body[:len(body)-1]
		}
		g.workers[0].askBody(body, [2]string{"x-gateway-model-name-rewrite", "another"}).Finish()
	}
	if got := g.workers[0].MemoryBytes(); got > most {
		t.Errorf("memory after %d bodies of up to %d bytes: got %d bytes, want at most %d", requests, largest, got,
			most)
	}
	g.wantRanked(g.workers[0].ask(), address(1))
}

// BenchmarkDecision is a whole request, the host's work included: headers, body, decision, response. What a decision
// with five scorers takes is the difference to a random one.
func BenchmarkDecision(b *testing.B) {
	documents := []struct{ name, text string }{
		{"random", `{"plugins":[{"type":"random-picker"}]}`},
		{"five scorers",
			`{"plugins":[{"type":"queue-scorer"},{"type":"kv-cache-utilization-scorer"},{"type":"running-requests-size-scorer"},
			{"type":"load-aware-scorer"},{"type":"lora-affinity-scorer"}]}`},
	}
	for _, document := range documents {
		for _, n := range []int{4, 64, 1000} {
			b.Run(fmt.Sprintf("%s/%d", document.name, n), func(b *testing.B) {
				m := modes[0]
				g := newGateway(b, m, 1, m.configuration(document.text, ""))
				p := newPool(make([]uint32, n)...)
				for i := range p.Load.Endpoints {
					p.Load.Endpoints[i].WaitingRequests = uint32(i * 7919 % 101)
				}
				g.publish(p)
				for b.Loop() {
					g.workers[0].ask().Finish()
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
				b.ReportMetric(float64(g.workers[0].MemoryBytes()), "vm-bytes")
			})
		}
	}
}

// TestReplacedPluginsAreForgotten has generations of a plug-in in one VM, as after changes of its configuration, with
// ever fewer streams at a time. Finished streams wait for the next ones; they must not keep the plug-in that they
// served, and its prefix index, alive.
func TestReplacedPluginsAreForgotten(t *testing.T) {
	const document = `{"plugins":[{"type":"prefix-cache-scorer","parameters":{"autoTune":false,"blockSizeTokens":16}}]}`
	const generations, prompts = 12, 400
	m := modes[2]
	run := func(atOnce func(generation int) int) (kibibytes int) {
		g := newGateway(t, m, 1, m.configuration(document, ""))
		g.publish(newPool(0, 0, 0, 0))
		w := g.workers[0]
		for generation := range generations {
			var held []*wazerohost.Stream
			for range atOnce(generation) {
				s := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
				s.Body([]byte(completion[:5]), false)
				held = append(held, s)
			}
			for _, s := range held {
				s.Abort()
			}
			for i := range prompts {
				text := strings.Repeat(fmt.Sprintf("%08d%08d", generation, i), 1024)
				w.awaited(w.askBody(`{"model":"m","prompt":"` + text + `"}`)).Finish()
			}
			old := w.requests
			w.requests = startPlugin(t, w.Worker,
				wazerohost.PluginConfig{Configuration: m.configuration(document, ""), Listener: requestListener})
			if old.Stop(); !old.Stopped() {
				t.Fatal("the old plug-in was not stopped")
			}
		}
		return w.TouchedBytes() >> 10
	}
	one, falling := run(func(int) int { return 1 }), run(func(n int) int { return 130 - 10*n })
	t.Logf("after %d generations: %d KiB with one stream at a time, %d KiB with ever fewer", generations, one, falling)
	// By chance the heap is twice as large as it needs to be, in either run: TinyGo doubles it.
	if falling > one*3 {
		t.Errorf("got %d KiB with ever fewer streams, want about the %d of one at a time", falling, one)
	}
}

// TestMemoryStaysFlatOverConfigurations changes the configuration with requests in flight, again and again, with
// prompts that were answered and so are in the index. What a VM has touched of its memory, which can only grow, soon is
// all that it ever needs.
func TestMemoryStaysFlatOverConfigurations(t *testing.T) {
	const changes, warmUp, prompts, between = 24, 8, 400, 20
	m := modes[2]
	document := func(generation int) string {
		return m.configuration(`{"plugins":[{"type":"prefix-cache-scorer"}]}`,
			fmt.Sprintf(`"stale":{"after":"%dms"},`, 2000+generation))
	}
	g := newGateway(t, m, 1, document(0))
	g.publish(newPool(0, 0, 0, 0))
	w := g.workers[0]
	asked := 0
	ask := func() *wazerohost.Stream {
		asked++
		text := strings.Repeat(fmt.Sprintf("%08d%08d", asked%prompts, asked%prompts*7), 1024)
		return w.askBody(`{"model":"m","prompt":"` + text + `"}`)
	}
	for range prompts {
		g.answer(ask(), time.Millisecond)
	}
	warm := 0
	for i := range changes {
		held := []*wazerohost.Stream{ask(), ask(), ask()}
		old := []*wazerohost.Plugin{w.requests, w.ingest}
		c := wazerohost.PluginConfig{Configuration: document(i + 1), Listener: requestListener}
		w.requests = startPlugin(t, w.Worker, c)
		c.Listener = ingestListener
		w.ingest = startPlugin(t, w.Worker, c)
		g.publish(newPool(0, 0, 0, 0))
		for range between {
			g.answer(w.awaited(ask()), time.Millisecond)
		}
		w.Tick()
		for _, s := range held {
			g.answer(s, time.Millisecond)
		}
		for _, p := range old {
			p.Stop()
		}
		if i == warmUp {
			warm = w.TouchedBytes()
		}
	}
	t.Logf("touched: %d KiB after %d changes, %d after %d, of %d", warm>>10, warmUp, w.TouchedBytes()>>10, changes,
		w.MemoryBytes()>>10)
	if got := w.TouchedBytes(); got > warm+warm/5 {
		t.Errorf("got %d bytes of memory touched after %d changes, want about the %d after %d", got, changes, warm,
			warmUp)
	}
}
