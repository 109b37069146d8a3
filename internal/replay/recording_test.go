package replay

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/recording"
	"github.com/pintle-dev/pintle/journal"
)

// recorded are the events of a run before servers like these, as a recording.
func recorded(t testing.TB, like Servers, requests []Request, more ...journal.Event) *Trace {
	t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, 5)
	if err != nil {
		t.Fatal(err)
	}
	w.Name(journal.ModelName, journal.HashName("m"), "m")
	w.Name(journal.ReasonName, journal.HashName("shed"), "shed")
	w.Name(recording.EndpointName, journal.EndpointID("server-0"), "server-0")
	run(t, `{}`, requests, Options{Servers: like, Seed: 1, Events: func(e *journal.Event) {
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}})
	for _, e := range more {
		_ = w.Event(&e)
	}
	return readBack(t, w, &file)
}

// readBack reads what was written.
func readBack(t testing.TB, w *recording.Writer, file *bytes.Buffer) *Trace {
	t.Helper()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	trace, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// chats are conversations: each turn repeats the one before.
func chats(n int) (all []Request) {
	r := rand.New(rand.NewPCG(1, 1))
	next := uint64(0)
	for range n {
		at, blocks := r.Float64()*200, []uint64{}
		for range 1 + r.IntN(6) {
			for range 1 + r.IntN(8) {
				next++
				blocks = append(blocks, next)
			}
			tokens := len(blocks) * 128
			all = append(all, Request{
				At: at, Model: "m", Input: tokens, Output: 10 + r.IntN(100), Stream: true,
				Prompt: Prompt{Bytes: 4 * tokens, UnitBytes: 512, Blocks: append([]uint64{}, blocks...)},
			})
			at += 5 + r.Float64()*20
		}
	}
	return all
}

// What is recorded can be replayed, and tells what the servers were like.
func TestRecording(t *testing.T) {
	like := Servers{
		Count: 3, MaxRunning: 64, BlockTokens: 16, Blocks: 1500, PrefillTokensPerSecond: 4000,
		TimePerOutputToken: 20 * time.Millisecond, BatchSlowdown: 0.05,
	}
	requests := chats(200)
	begin, shed := epoch, journal.HashName("shed")
	trace := recorded(t, like, requests,
		journal.Event{Kind: journal.Refused, Time: begin, Reason: shed, Code: 429},
		journal.Event{Kind: journal.Decision, Time: begin, Instance: 9, Lease: 1},
		journal.Event{Kind: journal.Completion, Time: begin, Instance: 9, Lease: 1, Status: 502},
		journal.Event{Kind: journal.Decision, Time: begin, Instance: 9, Lease: 2},
		journal.Event{Kind: journal.Missed, Missed: 3}, journal.Event{Kind: journal.Missed, Missed: 1})
	if trace.Format != "recording" || len(trace.Requests) != len(requests) || trace.Servers != 3 ||
		trace.Endpoints[0] != "server-0" ||
		trace.Missed != 4 || trace.Failed["shed"] != 1 || trace.Failed["status 502"] != 1 || trace.Unended != 1 {
		t.Fatalf("%d of %d requests, %+v", len(trace.Requests), len(requests), trace.Failed)
	}
	was := Summarise("", trace.Recorded(), 3, Limits{})
	fitted := DefaultServers()
	fitted.Count = 3
	t.Log(trace.Fit(&fitted, func(string) bool { return false }), fitted)
	for _, f := range []struct {
		name            string
		got, want, part float64
	}{
		{"prefill", fitted.PrefillTokensPerSecond, like.PrefillTokensPerSecond, .05},
		{"pace", fitted.TimePerOutputToken.Seconds(), like.TimePerOutputToken.Seconds(), .1},
		{"slowdown", fitted.BatchSlowdown, like.BatchSlowdown, .5},
		{"cache", float64(fitted.Blocks), float64(like.Blocks), .25},
	} {
		if !(math.Abs(f.got/f.want-1) <= f.part) {
			t.Errorf("%s: fitted %v, was %v", f.name, f.got, f.want)
		}
	}
	now := Summarise("", run(t, `{}`, trace.Requests, Options{Servers: fitted, Seed: 2}), 3, Limits{})
	if !(math.Abs(now.Hits-was.Hits) <= .05) || !(math.Abs(now.TTFT.P50/was.TTFT.P50-1) <= .2) ||
		!(math.Abs(now.Whole.P50/was.Whole.P50-1) <= .2) {
		t.Errorf("recorded %+v, replayed %+v", was.TTFT, now.TTFT)
		t.Errorf("hits recorded %v, replayed %v; whole %v and %v", was.Hits, now.Hits, was.Whole, now.Whole)
	}
	kept := fitted
	kept.Blocks = 77
	trace.Fit(&kept, func(flag string) bool { return flag == "num-blocks" })
	if kept.Blocks != 77 {
		t.Error("a flag that was given is fitted")
	}
	if said := read(t, "mooncake.jsonl").Fit(&kept, func(string) bool { return false }); said != "" ||
		kept.Blocks != 77 {
		t.Errorf("a trace without outcomes is fitted: %q", said)
	}
}

// A worker's decision may stand behind a later one of another worker: it counts like any other.
func TestRecordedOutOfOrder(t *testing.T) {
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, 5)
	if err != nil {
		t.Fatal(err)
	}
	const millisecond = int64(time.Millisecond)
	for _, e := range []journal.Event{
		{Kind: journal.Decision, Time: epoch, Instance: 1, Lease: 1},
		{Kind: journal.Decision, Time: epoch - 3*millisecond, Instance: 2, Lease: 1},
		{Kind: journal.Completion, Time: epoch + 40*millisecond, Instance: 1, Lease: 1, Status: 200},
		{Kind: journal.Completion, Time: epoch + 50*millisecond, Instance: 2, Lease: 1, Status: 200},
	} {
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	trace, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(trace.Requests); n != 2 || trace.Requests[0].At != 0 || !(math.Abs(trace.Requests[1].At-.003) <= 1e-9) {
		t.Fatalf("got %d requests, %+v, want two at 0 and 3 ms", n, trace.Requests)
	}
	if got := len(run(t, `{}`, trace.Requests, Options{Servers: DefaultServers(), Seed: 1})); got != 2 {
		t.Errorf("replayed: got %d requests, want 2", got)
	}
}

// TestTokensOfUnreportedPrompts: how many tokens a text has that no server counted is told by those of which both are
// known; of images, of tokens by their numbers and of what was not read the text is not.
func TestTokensOfUnreportedPrompts(t *testing.T) {
	type prompt struct {
		bytes, tokens uint32
		chain         int // blocks of 64 bytes
	}
	for _, test := range []struct {
		name    string
		others  []prompt
		want    int
		reading string
	}{
		{"no others", nil, 1000, "four bytes for a token"},
		{"texts", []prompt{{bytes: 4000, tokens: 800}, {bytes: 1000, tokens: 200}}, 800, "five bytes for a token"},
		{"a text and what was not read", []prompt{{bytes: 4000, tokens: 800}, {tokens: 90_000}}, 800,
			"five bytes for a token"},
		{"a text and an image with text", []prompt{{bytes: 4000, tokens: 800}, {tokens: 90_000, chain: 10}}, 800,
			"five bytes for a token"},
		{"images alone", []prompt{{tokens: 90_000, chain: 10}}, 1000, "four bytes for a token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var file bytes.Buffer
			w, err := recording.NewWriter(&file, 5)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range append(test.others, prompt{bytes: 4000}) {
				e := journal.Event{Kind: journal.Decision, Time: epoch + int64(i), Instance: 1, Lease: uint32(i + 1),
					PromptBytes: p.bytes}
				if p.chain > 0 {
					e.Chains = []journal.Chain{{ID: 64, Blocks: make([]uint64, p.chain)}}
				}
				ended := journal.Event{Kind: journal.Completion, Time: e.Time + 1, Instance: 1, Lease: e.Lease,
					Status: 200, InputTokens: p.tokens, UsageReported: p.tokens > 0}
				if ended.UsageReported {
					ended.PromptBytes = p.bytes
				}
				if err := errors.Join(w.Event(&e), w.Event(&ended)); err != nil {
					t.Fatal(err)
				}
			}
			trace := readBack(t, w, &file)
			for i, p := range test.others {
				q := &trace.Requests[i]
				if bytes := int(p.tokens) * 4000 / test.want; p.bytes+uint32(p.chain) == 0 && q.Prompt.Bytes != bytes {
					t.Errorf("a prompt of %d tokens that was not read counts as %d bytes, want %d: %s", q.Input,
						q.Prompt.Bytes, bytes, test.reading)
				}
			}
			if got := trace.Requests[len(test.others)].Input; got != test.want {
				t.Errorf("a prompt of 4000 bytes counts as %d tokens, want %d: %s", got, test.want, test.reading)
			}
		})
	}
}
