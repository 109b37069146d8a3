package scrape

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestAnotherEngineAtTheAddress: a server that took another's address is read as what it is, unless its engine was
// said.
func TestAnotherEngineAtTheAddress(t *testing.T) {
	const other = "sglang:num_queue_reqs 9\nsglang:num_running_reqs 1\nsglang:prompt_tokens_total 5\n"
	for _, test := range []struct {
		name  string
		pages map[string]string
		said  bool
		want  string
	}{
		{"another engine", map[string]string{"/metrics": other}, false, "sglang"},
		{"at another path", map[string]string{"/prometheus/metrics": "trtllm_num_requests_waiting 9\n"}, false,
			"trtllm"},
		{"said", map[string]string{"/metrics": other}, true, "vllm"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newServer(t, map[string]string{"/metrics": vllmPage, "/metrics/": vllmPage})
			s := newTestScraper(t, engine.Known, server.address())
			s.target.Said = test.said
			var log bytes.Buffer
			s.Log = slog.New(slog.NewTextHandler(&log, nil))
			for range 2 {
				if err := s.once(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			server.mu.Lock()
			server.pages = test.pages
			server.mu.Unlock()
			failures := 0
			for failures < 2*doubtAfter && s.once(t.Context(), time.Now()) != nil {
				failures++
			}
			if s.kind != engine.Known.ByName(test.want) || s.target.Now().Kind != s.kind {
				t.Fatalf("after %d failures: got another engine than %s", failures, test.want)
			}
			if test.said {
				return
			}
			if got := strings.Count(log.String(), `msg="engine detected"`); got != 2 ||
				!strings.Contains(log.String(), "endpoint=a engine="+test.want) {
				t.Errorf("got %d lines of engines, want one of %s behind the first:\n%s", got, test.want, log.String())
			}
			sample := s.target.Now().Sample
			if failures < doubtAfter || sample.WaitingRequests != 9 || sample.KVBlocks != 0 {
				t.Errorf("after %d failures: got %+v, want the new server's numbers alone, after %d", failures, sample,
					doubtAfter)
			}
			if test.want == "sglang" && sample.ProcessStart <= snapshot.SomeStart {
				t.Errorf("got the process %d, want a new one, whose cache is empty", sample.ProcessStart)
			}
		})
	}
}

// TestTheSameEngineAfterADoubt: a server that had no metrics for a moment is the one that it was.
func TestTheSameEngineAfterADoubt(t *testing.T) {
	pages := map[string]string{"/metrics": "sglang:num_queue_reqs 3\nsglang:prompt_tokens_total 5\n"}
	server := newServer(t, pages)
	var log bytes.Buffer
	s := newTestScraper(t, engine.Known, server.address())
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	serve := func(pages map[string]string) {
		server.mu.Lock()
		defer server.mu.Unlock()
		server.pages = pages
	}
	if err := s.once(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	before := s.target.Now().Sample
	serve(map[string]string{"/metrics": "\n"})
	for range 2 * doubtAfter {
		if s.once(t.Context(), time.Now()) == nil {
			t.Fatal("got a sample of an empty page, want none")
		}
	}
	if s.kind != nil {
		t.Errorf("got engine %s after %d empty pages, want none", s.kind.Name(), 2*doubtAfter)
	}
	serve(pages)
	for tries := 0; s.once(t.Context(), time.Now()) != nil; tries++ {
		if tries == len(engine.Known.Pages()) {
			t.Fatalf("got no sample in %d tries, want one", tries)
		}
	}
	if got := s.target.Now().Sample; got.ProcessStart != before.ProcessStart || got.ProcessStart == 0 {
		t.Errorf("got the process %d, want %d as before", got.ProcessStart, before.ProcessStart)
	}
	if got := strings.Count(log.String(), `msg="engine detected"`); got != 1 {
		t.Errorf("got %d lines of engines, want one, as it is the same:\n%s", got, log.String())
	}
}

// TestNoDoubt: a server that does not answer is of its engine still, as is one whose answers are its own in between.
func TestNoDoubt(t *testing.T) {
	s := newTestScraper(t, engine.Known, newServer(t, map[string]string{"/metrics": vllmPage}).address())
	if err := s.once(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	silent, strange := &scrapeError{result: "timeout"}, &scrapeError{result: "no_metrics", elsewhere: true}
	for _, step := range []struct {
		name  string
		times int
		err   *scrapeError
		kept  bool
	}{
		{"silent for long", 2 * doubtAfter, silent, true}, {"strange", doubtAfter - 1, strange, true},
		{"as before", 1, nil, true}, {"strange again", doubtAfter - 1, strange, true},
		{"silent in between", 1, silent, true}, {"strange once more", 1, strange, false},
	} {
		for range step.times {
			s.doubt(step.err)
		}
		if got := s.kind != nil; got != step.kept {
			t.Errorf("%s: the engine is known: %v, want %v", step.name, got, step.kept)
		}
	}
}

// TestWholePageAfterADoubt: that a server had to be asked for its whole page says nothing of the one that took its
// address.
func TestWholePageAfterADoubt(t *testing.T) {
	server := newServer(t, map[string]string{"/metrics": vllmPage})
	s := newTestScraper(t, engine.Known, server.address())
	serve := func(pages map[string]string) {
		server.mu.Lock()
		defer server.mu.Unlock()
		server.pages = pages
	}
	once := func() bool { return s.once(t.Context(), time.Now()) == nil }
	for range 2 {
		if !once() {
			t.Fatal("got no sample, want one")
		}
	}
	if s.whole.IsZero() {
		t.Fatal("got the needed metrics alone, want the whole page")
	}
	serve(nil)
	for s.kind != nil {
		if once() {
			t.Fatal("got a sample of no page, want none")
		}
	}
	serve(map[string]string{"/metrics": vllmPage, "/metrics/": vllmPage})
	for s.kind == nil {
		once()
	}
	server.takeAsked()
	if once(); !slices.Equal(server.takeAsked(), []string{"/metrics/"}) {
		t.Errorf("asked for the whole page until %v, want the needed metrics alone", s.whole)
	}
}

// TestTakesOverAfterADoubt: a scraper whose engine is in doubt goes on from what another gateway has found out since,
// and from nothing that is older than the doubt.
func TestTakesOverAfterADoubt(t *testing.T) {
	sglang, vllm := engine.Known.ByName("sglang"), engine.Known.ByName("vllm")
	type state struct {
		kind    *engine.Engine
		found   engine.Fields
		blocks  uint32
		process uint64
		asks    string // for the next page
	}
	const seen = engine.Fields(1 << engine.Waiting)
	for _, test := range []struct {
		name  string
		found *engine.Engine // by another gateway since the doubt
		page  string
		want  state
	}{
		{"another engine", sglang, "sglang:num_queue_reqs 9\nsglang:prompt_tokens_total 700\n",
			state{sglang, 0, 70, 5000, "/metrics"}},
		{"the same one", vllm, vllmPage, state{vllm, seen, 70, 5000, vllm.FilteredPath()}},
		{"nothing", nil, vllmPage, state{nil, seen, 100, 4000, "/metrics"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newServer(t, map[string]string{"/metrics": "\n", "/metrics/": "\n"})
			s := newTestScraper(t, engine.Known, server.address())
			start := time.Now()
			s.target.Share(vllm, &engine.Sample{KVBlocks: 100, ProcessStart: 4000, Done: 10}, start, nil)
			s.adopt()
			s.found = seen
			for s.kind != nil {
				if s.once(t.Context(), start) == nil {
					t.Fatal("got a sample of an empty page, want none")
				}
			}
			if test.found != nil {
				theirs := engine.Sample{KVBlocks: 70, ProcessStart: 5000, Done: 600}
				s.target.Share(test.found, &theirs, start.Add(1), nil)
			}
			s.adopt()
			if got := (state{s.kind, s.found, s.sample.KVBlocks, s.process.start, s.fetcher.path}); got != test.want {
				t.Errorf("taken over: got %+v, want %+v", got, test.want)
			}
			server.mu.Lock()
			server.pages = map[string]string{"/metrics": test.page, "/metrics/": test.page}
			server.mu.Unlock()
			if err := s.once(t.Context(), start.Add(2)); err != nil {
				t.Fatalf("got %v, want a sample", err)
			}
			if view := s.target.Now(); view.Shared || view.Sample.ProcessStart != test.want.process {
				t.Errorf("got a sample of process %d, another gateway's: %v; want one of process %d, read here",
					view.Sample.ProcessStart, view.Shared, test.want.process)
			}
		})
	}
}
