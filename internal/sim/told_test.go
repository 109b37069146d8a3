package sim

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimes: the metrics tell of each request how long it was queued, processed and answered, in the server's own time
// divided by its speed.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{MaxRunning: 1, PrefillTokensPerSecond: 1000,
			TimePerOutputToken: 10 * time.Millisecond,
			Speed:              2})
		var running sync.WaitGroup
		for _, text := range []string{strings.Repeat("a", 1600), strings.Repeat("b", 2400)} {
			running.Go(func() { _ = e.run(t.Context(), textSequence(e, text, 11), 1, noEmit) })
			synctest.Wait()
		}
		running.Wait()
		l := e.load()
		s := &l.statsSnapshot
		for _, test := range []struct {
			name string
			got  histogram
			want float64
		}{
			{"queued", s.queueTime, 0 + 0.25},
			{"processed", s.prefillTime, 0.2 + 0.3},
			{"to the first token", s.ttft, 0.2 + 0.55},
			{"for each further token", s.perToken, 0.005 + 0.005},
			{"in all", s.e2e, 0.25 + 0.6},
		} {
			if test.got.count != 2 || test.got.sum < test.want-1e-9 || test.got.sum > test.want+1e-9 {
				t.Errorf("%s: got %d requests of %v s, want 2 of %v s", test.name, test.got.count, test.got.sum,
					test.want)
			}
		}
		if l.KV != 0 || l.CachedBlocks == 0 || l.PeakRunning != 1 {
			t.Errorf("afterwards %v of the cache is in use, %d blocks are cached, and %d requests ran at once; want "+
				"none, some and 1", l.KV, l.CachedBlocks, l.PeakRunning)
		}
	})
}

// TestPageOfMetrics: a bucket has all that is in those before it, and the size of the cache is that of all ranks.
func TestPageOfMetrics(t *testing.T) {
	var h histogram
	for _, d := range []time.Duration{5 * time.Millisecond, 300 * time.Millisecond, 100 * time.Second, 3 * time.Hour} {
		h.observe(stepBounds, d)
	}
	p := newMetricsPage(Config{Blocks: 100, Ranks: 3}.withDefaults())
	page := string(p.gauges(p.histogram(nil, "step_seconds", "Steps.", stepBounds, &h), load{}, nil))
	for _, want := range []string{`le="0.3",model_name="sim-model"} 2.0`, `le="60.0",model_name="sim-model"} 2.0`,
		`le="120.0",model_name="sim-model"} 3.0`, `le="7680.0",model_name="sim-model"} 3.0`,
		`le="+Inf",model_name="sim-model"} 4.0`, `vllm:step_seconds_count{engine="0",model_name="sim-model"} 4.0`,
		`num_gpu_blocks="300"`} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing in\n%s", want, page)
		}
	}
}

// TestLengths: how long an answer becomes, and whether that is its end, by what the request says.
func TestLengths(t *testing.T) {
	config := Config{Blocks: 4, BlockTokens: 16, OutputTokens: 10}.withDefaults() // room for 64 tokens
	long := config
	long.OutputTokens = 1000
	for _, test := range []struct {
		name, more string
		config     Config
		want       int // 0 for all that there is room for
		finish     string
	}{
		{"no limit", ``, config, 10, "stop"},
		{"no limit, and a server that goes on", ``, long, 0, "stop"},
		{"a limit", `,"max_tokens":7`, config, 7, "length"},
		{"the newer limit beside it", `,"max_tokens":7,"max_completion_tokens":8`, config, 8, "length"},
		{"a limit that is null", `,"max_completion_tokens":null,"max_tokens":7`, config, 7, "length"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, failure := parseRequest(apiChat, []byte(chatBody("hello", test.more)), test.config)
			if failure != nil {
				t.Fatal(failure.message)
			}
			if test.want == 0 {
				test.want = 64 - r.prompt.tokens()
			}
			if r.outputTokens != test.want || r.finishReason != test.finish {
				t.Errorf("got %d tokens, %s, want %d, %s", r.outputTokens, r.finishReason, test.want, test.finish)
			}
		})
	}
}

// TestAdaptersShareNothing: the blocks of an adapter are not those of its model, as in vLLM.
func TestAdaptersShareNothing(t *testing.T) {
	s := newQuickServer(t, Config{Adapters: []string{"lora"}})
	for _, test := range []struct {
		name, model, more string
		cached            bool
	}{
		{"the model", "sim-model", "", false}, {"again", "sim-model", "", true}, {"an adapter", "lora", "", false},
		{"the adapter again", "lora", "", true}, {"with a salt", "sim-model", `,"cache_salt":"s"`, false},
		{"the salt again", "sim-model", `,"cache_salt":"s"`, true},
	} {
		body := fmt.Sprintf(`{"model":%q,"prompt":%q,"max_tokens":1%s}`, test.model, strings.Repeat("word", 100),
			test.more)
		q, failure := parseRequest(apiCompletions, []byte(body), s.config)
		if failure != nil {
			t.Fatal(failure.message)
		}
		sequence := newSequence(q.prompt.tokens(), 1, q.prompt.blockHashes(s.config.BlockTokens, q.salt))
		if err := s.engine.run(t.Context(), sequence, 1, noEmit); err != nil {
			t.Fatal(err)
		}
		if got := sequence.cachedTokens > 0; got != test.cached {
			t.Errorf("%s: found %d tokens cached, want some: %v", test.name, sequence.cachedTokens, test.cached)
		}
	}
}

// TestMessagesUsage: the Messages API tells what was cached beside the input tokens, not among them.
func TestMessagesUsage(t *testing.T) {
	got := newMessagesFormat(&request{}, "x").usage(usage{prompt: 100, completion: 5, cached: 40})
	const want = `{"input_tokens":60,"output_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":40}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestWhoLeavesTheQueue: a request that lacks room holds up those behind it only as long as it waits.
func TestWhoLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{Blocks: 10, BlockTokens: 4})
		var running sync.WaitGroup
		var ended [3]time.Time
		start := time.Now()
		for i, tokens := range []int{24, 32, 4} {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if i == 1 {
				time.AfterFunc(time.Second, leave)
			}
			running.Go(func() {
				_ = e.run(ctx, textSequence(e, strings.Repeat("abc"[i:i+1], 4*(tokens-2)), 2), 1, func(int) error {
					if i == 0 {
						time.Sleep(time.Minute)
					}
					return nil
				})
				ended[i] = time.Now()
			})
			synctest.Wait()
		}
		running.Wait()
		if took := ended[2].Sub(start); took < time.Second || took > 2*time.Second {
			t.Errorf("who waited behind it was answered after %v, want little more than 1s, when it left", took)
		}
		checkIdle(t, e)
	})
}

// TestCutAnswersDoNotSucceed: an answer whose connection is dropped by the server counts as aborted.
func TestCutAnswersDoNotSucceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{})
		func() {
			defer func() { _ = recover() }()
			_ = e.run(t.Context(), textSequence(e, "hello", 4), 1, func(int) error { panic("cut") })
		}()
		if s := e.load().statsSnapshot; s.aborted != 1 || s.stopped != 0 || s.lengths != 0 {
			t.Errorf("got %d aborted, %d ended and %d at their limit, want 1 aborted", s.aborted, s.stopped, s.lengths)
		}
		checkIdle(t, e)
	})
}

// TestOffloadedUse: of offloaded blocks the one goes first that was found longest ago.
func TestOffloadedUse(t *testing.T) {
	o := newOffload(2, func() *kvEvents { return nil })
	o.keep(&block{hash: 1})
	o.keep(&block{hash: 2})
	if got := o.run([]uint64{1, 3}); got != 1 {
		t.Errorf("found %d blocks, want 1", got)
	}
	if o.keep(&block{hash: 3}); !o.has(1) || o.has(2) || !o.has(3) {
		t.Errorf("block 1 is there: %v, 2: %v, 3: %v; want 1 and 3", o.has(1), o.has(2), o.has(3))
	}
	o.keep(&block{hash: 1}) // evicted once more
	if o.keep(&block{hash: 4}); !o.has(1) || o.has(3) || !o.has(4) {
		t.Errorf("block 1 is there: %v, 3: %v, 4: %v; want 1 and 4", o.has(1), o.has(3), o.has(4))
	}
}

// TestTornBody: a body that cannot be read is refused, and is none that was answered.
func TestTornBody(t *testing.T) {
	for _, instant := range []bool{false, true} {
		_, url := serve(t, Config{Instant: instant})
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\n"+
			"transfer-encoding: chunked\r\n\r\nno length\r\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if want := "HTTP/1.1 400 Bad Request\r\n"; line != want {
			t.Errorf("instant %v: got %q, %v, want %q", instant, line, err, want)
		}
	}
}
