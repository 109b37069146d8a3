package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newTestEngine(config Config) *engine { return newEngine(config.withDefaults(), &stats{}) }

func textSequence(e *engine, text string, output int) *sequence {
	p := prompt(nil).add(text)
	all := prompt(appendText(slices.Clone(p), 1, output))
	return newSequence(p.tokens(), output, all.blockHashes(e.config.BlockTokens, ""))
}

func noEmit(int) error { return nil }

// ttft is the simulated time from arrival to first token.
func (s *sequence) ttft() time.Duration { return s.firstToken.Sub(s.arrived) }

func checkIdle(t *testing.T, e *engine) {
	t.Helper()
	l := e.load()
	if l.Running != 0 || l.Waiting != 0 || l.PinnedBlocks != 0 || l.Reserved != 0 || e.prefills.Len() != 0 ||
		len(e.adapters) != 0 {
		t.Errorf("idle engine: got %+v with %d prefills and adapters %v, want nothing in use", l, e.prefills.Len(),
			e.adapters)
	}
	checkCache(t, e.caches[0], nil)
}

func TestCachedPromptHasShorterPrefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{PrefillTokensPerSecond: 1000})
		text := strings.Repeat("word", 1000)
		for _, want := range []struct {
			cached int
			ttft   time.Duration
		}{{0, time.Second}, {992, 8 * time.Millisecond}} {
			s := textSequence(e, text, 4)
			if err := e.run(t.Context(), s, 1, noEmit); err != nil {
				t.Fatal(err)
			}
			if s.cachedTokens != want.cached || s.ttft() != want.ttft {
				t.Errorf("got %d cached tokens, first token after %v, want %d, %v", s.cachedTokens, s.ttft(),
					want.cached, want.ttft)
			}
		}
		checkIdle(t, e)
	})
}

func TestAnswerIsCachedForTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{BlockTokens: 4})
		text := strings.Repeat("word", 8)
		first := textSequence(e, text, 9)
		if err := e.run(t.Context(), first, 1, noEmit); err != nil {
			t.Fatal(err)
		}
		second := textSequence(e, text+string(appendText(nil, 1, 9))+"and what then?", 1)
		if err := e.run(t.Context(), second, 1, noEmit); err != nil {
			t.Fatal(err)
		}
		if second.cachedTokens != 16 {
			t.Errorf("cached tokens of the next turn: got %d, want 16, 8 of them generated", second.cachedTokens)
		}
	})
}

func TestPrefillsSerialiseAndDecodesShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{PrefillTokensPerSecond: 100, TimePerOutputToken: 10 * time.Millisecond,
			BatchSlowdown: 0.5})
		start := time.Now()
		var running sync.WaitGroup
		ends := make([]time.Duration, 3)
		sequences := make([]*sequence, 3)
		for i := range sequences {
			sequences[i] = textSequence(e, strings.Repeat("abcd"[i:i+1], 400), 11)
			running.Go(func() {
				if err := e.run(t.Context(), sequences[i], 11, noEmit); err != nil {
					t.Error(err)
				}
				ends[i] = time.Since(start)
			})
			synctest.Wait()
		}
		running.Wait()
		for i, s := range sequences {
			if want := time.Duration(i+1) * time.Second; s.ttft() != want {
				t.Errorf("first token of request %d: got %v, want %v", i, s.ttft(), want)
			}
		}
		// Ten more tokens beside two other requests: 10 * 10ms * (1 + 2*0.5).
		if want := 1200 * time.Millisecond; ends[0] != want {
			t.Errorf("end of the first request: got %v, want %v", ends[0], want)
		}
		checkIdle(t, e)
	})
}

// TestLateTimersDoNotAddUp: a prefill begins when the one before it should have ended, however late that was noticed.
func TestLateTimersDoNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{PrefillTokensPerSecond: 1000})
		first, second := textSequence(e, strings.Repeat("a", 4000), 1), textSequence(e, strings.Repeat("b", 4000), 1)
		e.enter(first)
		e.enter(second)
		due := first.prefillStart.Add(time.Second)
		time.Sleep(1500 * time.Millisecond)
		e.prefilled(first, due)
		if !second.prefillStart.Equal(due) {
			t.Errorf("the second begins %v late, want none", second.prefillStart.Sub(due))
		}
		e.leave(first, nil)
		e.leave(second, errAborted)
		checkIdle(t, e)
	})
}

func TestQueueIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{MaxRunning: 2})
		var mu sync.Mutex
		var order []int
		var running sync.WaitGroup
		for i := range 10 {
			running.Go(func() {
				_ = e.run(t.Context(), textSequence(e, strings.Repeat("w", 400), 20), 1, func(n int) error {
					mu.Lock()
					defer mu.Unlock()
					if n == 1 {
						order = append(order, i)
					}
					if l := e.load(); l.Running+l.Waiting > 10 || l.Running > 2 {
						t.Errorf("got %d running and %d waiting, want at most 2, and 10 together", l.Running, l.Waiting)
					}
					return nil
				})
			})
			synctest.Wait()
			if l := e.load(); l.Running+l.Waiting != i+1 || l.Running != min(i+1, 2) {
				t.Errorf("after %d arrivals: got %d running, %d waiting", i+1, l.Running, l.Waiting)
			}
		}
		running.Wait()
		if !slices.IsSorted(order) || len(order) != 10 {
			t.Errorf("order of first tokens: got %v, want 0 to 9", order)
		}
		checkIdle(t, e)
	})
}

func TestRequestWaitsForBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{Blocks: 10, BlockTokens: 1, TimePerOutputToken: time.Second})
		first, second := textSequence(e, "aaaabbbb", 5), textSequence(e, "ccccdddd", 5)
		var running sync.WaitGroup
		for _, s := range []*sequence{first, second} {
			running.Go(func() { _ = e.run(t.Context(), s, 1, noEmit) })
			synctest.Wait()
		}
		if l := e.load(); l.Running != 1 || l.Waiting != 1 || l.PinnedBlocks != 2 || l.Reserved != 5 {
			t.Errorf("two requests of 7 blocks in a cache of 10: got %+v, want one running", l)
		}
		running.Wait()
		if second.started.Before(first.firstToken.Add(4 * time.Second)) {
			t.Errorf("second started at %v, before the first had ended", second.started)
		}
		checkIdle(t, e)
	})
}

func TestAbortFreesEverything(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration
	}{
		{"in the queue", 100 * time.Millisecond},
		{"in line for prefill", 1100 * time.Millisecond},
		{"in prefill", 2500 * time.Millisecond},
		{"while decoding", 3500 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newTestEngine(Config{MaxRunning: 2, PrefillTokensPerSecond: 100, TimePerOutputToken: time.Second,
					BatchSlowdown: -1})
				var running sync.WaitGroup
				run := func(ctx context.Context, text string, output int) {
					running.Go(func() { _ = e.run(ctx, textSequence(e, strings.Repeat(text, 100), output), 1, noEmit) })
					synctest.Wait()
				}
				run(t.Context(), "aaaa", 1)
				run(t.Context(), "bbbb", 3)
				ctx, cancel := context.WithTimeout(t.Context(), test.after)
				defer cancel()
				aborted := textSequence(e, strings.Repeat("cccc", 100), 50)
				running.Go(func() {
					if err := e.run(ctx, aborted, 1, noEmit); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("error of the aborted request: got %v, want %v", err, context.DeadlineExceeded)
					}
				})
				run(t.Context(), "dddd", 2)
				running.Wait()
				checkIdle(t, e)
				if got := e.load().statsSnapshot; got.aborted != 1 || got.stopped != 3 {
					t.Errorf("got %d aborted and %d finished, want 1 and 3", got.aborted, got.stopped)
				}
			})
		})
	}
}

func TestAdaptersInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{Adapters: []string{"a", "b", "c"}, MaxAdapters: 1})
		var running sync.WaitGroup
		for _, adapter := range []string{"a", "c", "b", "a", ""} {
			s := textSequence(e, "text", 20)
			s.adapter = adapter
			running.Go(func() { _ = e.run(t.Context(), s, 1, noEmit) })
			synctest.Wait()
		}
		l := e.load()
		if l.Running != 3 || !slices.Equal(l.runningLoRA, []string{"a"}) ||
			!slices.Equal(l.waitingLoRA, []string{"b", "c"}) {
			t.Errorf("got %d running with adapters %v, %v waiting, want 3, [a], [b c]", l.Running, l.runningLoRA,
				l.waitingLoRA)
		}
		running.Wait()
		checkIdle(t, e)
	})
}

// TestAdapterLoads: a server that has two adapters loads another one in the place of the one that was used longest
// ago, and processes no prompt meanwhile.
func TestAdapterLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(Config{Adapters: []string{"a", "b", "c"}, MaxAdapters: 2, AdapterLoad: 4 * time.Hour,
			Speed: 2})
		for i, step := range []struct {
			adapter string
			loads   bool
		}{
			{"", false}, {"a", true}, {"a", false}, {"b", true}, {"a", false}, {"c", true}, {"a", false}, {"c", false},
			{"b", true}, {"c", false}, {"a", true},
		} {
			s := textSequence(e, "text", 2)
			s.adapter = step.adapter
			if err := e.run(t.Context(), s, 1, noEmit); err != nil {
				t.Fatal(err)
			}
			if got := s.ttft() >= 2*time.Hour; got != step.loads {
				t.Errorf("request %d, for %q, began after %v; that it loads the adapter is %v", i, step.adapter,
					s.ttft(), step.loads)
			}
		}
		checkIdle(t, e)
	})
}

// Many requests, some of which leave at a random moment: slots are never exceeded and nothing leaks.
func TestEngineHammer(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			e := newTestEngine(Config{MaxRunning: 7, Blocks: 200, BlockTokens: 4, MaxAdapters: 2,
				PrefillTokensPerSecond: 2000})
			var running sync.WaitGroup
			for i := range uint64(300) {
				random := rand.New(rand.NewPCG(seed, i))
				running.Go(func() {
					time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(8000))*time.Millisecond)
					defer cancel()
					s := textSequence(e, strings.Repeat("group"[:1+random.IntN(5)], 1+random.IntN(300)),
						random.IntN(40))
					s.adapter = []string{"", "a", "b", "c"}[random.IntN(4)]
					_ = e.run(ctx, s, 1+random.IntN(5), func(int) error {
						if l := e.load(); l.Running > 7 || l.PinnedBlocks+l.Reserved > l.Blocks ||
							len(l.runningLoRA) > 2 {
							t.Errorf("limits exceeded: %+v, adapters %v", l, l.runningLoRA)
						}
						return nil
					})
				})
			}
			running.Wait()
			checkIdle(t, e)
			if s := e.load().statsSnapshot; s.aborted+s.stopped != 300 || s.stopped == 0 || s.aborted == 0 {
				t.Errorf("got %d finished and %d aborted, want some of both and 300 together", s.stopped, s.aborted)
			}
		})
	}
}
