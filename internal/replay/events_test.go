package replay

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/recording"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// eventsTrace is the trace of a recording of these events.
func eventsTrace(t *testing.T, name func(w *recording.Writer), events ...journal.Event) *Trace {
	t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, 0)
	if err != nil {
		t.Fatal(err)
	}
	name(w)
	for i := range events {
		if err := w.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return readBack(t, w, &file)
}

// TestRecordedPrompts: of the chains of a decision that counts which tells most of the prompt, by blocks of the length
// that its plug-in cut.
func TestRecordedPrompts(t *testing.T) {
	chain := func(c state.Chain, blocks ...uint64) journal.Chain { return journal.Chain{ID: c.ID(), Blocks: blocks} }
	ids := state.Chain{BlockBytes: 256, IDs: true}
	for _, tc := range []struct {
		name      string
		bytes     uint32
		chains    []journal.Chain
		wantBytes int
		unit      int
		blocks    int
	}{
		{"no chain", 1000, nil, 1000, 0, 0},
		{"plain", 1000, []journal.Chain{chain(state.Chain{BlockBytes: 256}, 1, 2, 3)}, 1000, 256, 3},
		{"the longest", 1000, []journal.Chain{chain(state.Chain{BlockBytes: 128}, 1, 2),
			chain(state.Chain{BlockBytes: 256}, 1, 2, 3), chain(state.Chain{BlockBytes: 64}, 4)}, 1000, 256, 3},
		{"of two as long the finest", 1000, []journal.Chain{chain(state.Chain{BlockBytes: 256}, 1, 2),
			chain(state.Chain{BlockBytes: 128}, 1, 2, 3, 4), chain(state.Chain{BlockBytes: 512}, 1)}, 1000, 128, 4},
		{"as AIBrix hashes", 1000, []journal.Chain{chain(state.Chain{BlockBytes: 128, Leading: true}, 1, 2)}, 1000, 128,
			2},
		{"ids, the last block not full", 1000, []journal.Chain{chain(ids, 1, 2, 3, 4)}, 1000, 256, 4},
		{"ids of the beginning", 100_000, []journal.Chain{chain(ids, 1, 2, 3, 4)}, 100_000, 256, 4},
		{"ids of a short prompt", 100, []journal.Chain{chain(ids, 1)}, 100, 256, 1},
		{"images beside text", 1000, []journal.Chain{chain(state.Chain{BlockBytes: 256}, 1, 2, 3),
			{ID: scoring.MediaChainID(), Blocks: []uint64{9}}}, 1000, 256, 3},
		{"images alone", 1000, []journal.Chain{{ID: scoring.MediaChainID(), Blocks: []uint64{9}}}, 1000, 0, 0},
		{"a chain that nobody knows", 1000, []journal.Chain{{ID: 1 << 60, Blocks: []uint64{1, 2, 3, 4}}}, 1000, 250, 4},
		{"blocks that grow", 1000, []journal.Chain{chain(state.Chain{BlockBytes: 100, DoubleEvery: 2}, mix(1), mix(2),
			mix(3), mix(4))}, 1000, 100, 6},
		{"without its length", 0, []journal.Chain{chain(state.Chain{BlockBytes: 256}, 1, 2)}, 512, 256, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := promptOf(&journal.Event{PromptBytes: tc.bytes, Chains: tc.chains})
			if got.Bytes != tc.wantBytes || got.UnitBytes != tc.unit || len(got.Blocks) != tc.blocks {
				t.Errorf("got %d bytes by %d blocks of %d, want %d by %d of %d", got.Bytes, len(got.Blocks),
					got.UnitBytes, tc.wantBytes, tc.blocks, tc.unit)
			}
			slices.Sort(got.Blocks)
			if different := len(slices.Compact(got.Blocks)); different != tc.blocks {
				t.Errorf("got %d different blocks, want %d", different, tc.blocks)
			}
		})
	}
}

// TestRecordedRequests: what events tell of requests, by the names that came with them.
func TestRecordedRequests(t *testing.T) {
	blocks := state.Chain{BlockBytes: 100}.ID()
	decided := func(lease uint32, asked, model string, chain ...uint64) journal.Event {
		return journal.Event{Kind: journal.Decision, Time: epoch, Instance: 1, Lease: lease, Primary: 1, Streamed: true,
			Asked: journal.HashName(asked), Model: journal.HashName(model), Predicted: lease == 1, PredictedTokens: 50,
			PromptBytes: 200, Chains: []journal.Chain{{ID: blocks, Blocks: chain}}}
	}
	ended := func(lease uint32, at uint64) journal.Event {
		return journal.Event{Kind: journal.Completion, Time: epoch + 1e9, Instance: 1, Lease: lease, Primary: at,
			Status: 200, OutputTokens: 3, TTFTMicros: 100_000, DurationMicros: 900_000, Ended: journal.EndedWhole}
	}
	trace := eventsTrace(t, func(w *recording.Writer) {
		w.Name(journal.ModelName, journal.HashName("m"), "m")
		w.Name(journal.ModelName, journal.HashName("rewritten"), "rewritten")
		w.Name(recording.EndpointName, 1, "a")
		w.Name(recording.EndpointName, 2, "b")
	}, ended(7, 1), // decided before the recording
		decided(1, "m", "rewritten", 11, 12), decided(2, "", "m", 21, 22), decided(3, "other", "m", 31, 32),
		ended(1, 2), ended(2, 1), ended(2, 2), ended(3, 1))
	if len(trace.Requests) != 3 || trace.Unended != 0 || len(trace.Failed) != 0 || len(trace.Endpoints) != 2 {
		t.Fatalf("got %d requests, %d not ended, %v failed, endpoints %v; want 3 at 2 endpoints, and none of these",
			len(trace.Requests), trace.Unended, trace.Failed, trace.Endpoints)
	}
	seen := map[uint64]bool{} // hashes are changed by the recording, but those of others are others
	for i, want := range []struct {
		model             string
		server, predicted int
	}{{"m", 1, 50}, {"m", 0, 0}, {"model-", 0, 0}} {
		q := &trace.Requests[i]
		if r := q.Recorded; r.Server != want.server || r.Predicted != want.predicted || r.TTFT != 0.1 ||
			r.Duration != 0.9 || r.Cut {
			t.Errorf("request %d: got %+v, want server %d, %d predicted, and whole after 0.1 and 0.9 s", i, r,
				want.server, want.predicted)
		}
		if named := q.Model == want.model || i == 2 && len(q.Model) == len("model-")+16; !named {
			t.Errorf("request %d: got model %q, want %q", i, q.Model, want.model)
		}
		for _, block := range q.Prompt.Blocks {
			if seen[block] {
				t.Errorf("request %d: got block %x, which another one has", i, block)
			}
			seen[block] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("got %d blocks, want 6", len(seen))
	}
}

// TestServersOfARecording: those that answer clients are the servers of a recording, or were to and could not, in the
// order of their names. One that prefills for others is none.
func TestServersOfARecording(t *testing.T) {
	decided := func(lease uint32, at, prefill uint64) journal.Event {
		return journal.Event{Kind: journal.Decision, Time: epoch, Instance: 1, Lease: lease, Primary: at,
			Prefill: prefill}
	}
	ended := func(lease uint32, at, tried uint64) journal.Event {
		return journal.Event{Kind: journal.Completion, Time: epoch + 1e9, Instance: 1, Lease: lease, Primary: at,
			Tried: tried, Status: 200}
	}
	for _, test := range []struct {
		name   string
		events []journal.Event
		want   []string
	}{
		{"one of two stages", []journal.Event{decided(1, 3, 1), ended(1, 3, 0)}, []string{"c"}},
		{"both in turn", []journal.Event{decided(1, 3, 1), ended(1, 3, 0), decided(2, 1, 3), ended(2, 1, 0)},
			[]string{"a", "c"}},
		{"one in the place of another", []journal.Event{decided(1, 3, 0), ended(1, 2, 3)}, []string{"b", "c"}},
		{"one without a name", []journal.Event{decided(1, 9, 1), ended(1, 9, 0), decided(2, 2, 1), ended(2, 2, 0)},
			[]string{"b", "endpoint-0000000000000009"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace := eventsTrace(t, func(w *recording.Writer) {
				for i, name := range []string{"a", "b", "c"} {
					w.Name(recording.EndpointName, uint64(i+1), name)
				}
			}, test.events...)
			if !slices.Equal(trace.Endpoints, test.want) || trace.Servers != len(test.want) {
				t.Errorf("got %d servers, %q, want %q", trace.Servers, trace.Endpoints, test.want)
			}
		})
	}
}

// TestRecordedFailures: requests without an answer are counted by what their clients got, whoever gave it.
func TestRecordedFailures(t *testing.T) {
	for _, test := range []struct {
		name         string
		status, code uint16
		ended        journal.Ending
		want         string
	}{
		{"the server failed", 500, 500, journal.EndedWhole, "status 500"},
		{"it broke off", 502, 200, journal.EndedReset, "status 502"},
		{"the client left", 0, 0, journal.EndedClient, "unanswered"},
		{"Envoy answered", 0, 429, journal.EndedEnvoy, "status 429"},
		{"nobody looked", 0, 0, journal.EndedUnknown, "of unknown end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			event := func(kind journal.Kind, lease uint32) journal.Event {
				return journal.Event{Kind: kind, Time: epoch, Instance: 1, Lease: lease, Primary: 1, Status: 200}
			}
			failed := event(journal.Completion, 1)
			failed.Status, failed.Code, failed.Ended = test.status, test.code, test.ended
			trace := eventsTrace(t, func(*recording.Writer) {}, event(journal.Decision, 1), failed,
				event(journal.Decision, 2), event(journal.Completion, 2))
			if len(trace.Failed) != 1 || trace.Failed[test.want] != 1 {
				t.Errorf("got %v, want one %s", trace.Failed, test.want)
			}
		})
	}
}

// TestDamagedRecording: a trace says in how many places its recording cannot be read.
func TestDamagedRecording(t *testing.T) {
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []journal.Kind{journal.Decision, journal.Completion} {
		e := journal.Event{Kind: kind, Time: epoch, Instance: 1, Lease: 1, Primary: 1, Status: 200}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	file.WriteString("cut o")
	if trace, err := Read(&file); err != nil || trace.Damaged != 1 || len(trace.Requests) != 1 {
		t.Errorf("got %+v, %v, want one request and one damaged place", trace, err)
	}
}

// TestNothingToReplay: of a recording without any answer it is said what is in it.
func TestNothingToReplay(t *testing.T) {
	decided := journal.Event{Kind: journal.Decision, Time: epoch, Instance: 1, Lease: 1, Primary: 1}
	failed, refused := decided, journal.Event{Kind: journal.Refused, Time: epoch, Reason: journal.HashName("shed")}
	failed.Kind, failed.Status = journal.Completion, 503
	for _, test := range []struct {
		name   string
		events []journal.Event
		want   string
	}{
		{"nothing", nil, "has no requests"},
		{"one that has not ended", []journal.Event{decided},
			"has no requests that were answered: 1 requests had not ended, and are left out"},
		{"failures alone", []journal.Event{decided, failed, refused, refused}, "has no requests that were answered: " +
			"refused or failed when it was recorded, and left out: 2 shed, 1 status 503"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var file bytes.Buffer
			w, err := recording.NewWriter(&file, 0)
			if err != nil {
				t.Fatal(err)
			}
			w.Name(journal.ReasonName, journal.HashName("shed"), "shed")
			for i := range test.events {
				if err := w.Event(&test.events[i]); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(&file); err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}
