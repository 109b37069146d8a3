package traffic

import (
	"reflect"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestFailureIsListedOnce: a decision that was explained, and is among the last no longer, fails; its place among those
// to be noted is then the next one to be used again.
func TestFailureIsListedOnce(t *testing.T) {
	for _, test := range []struct {
		name string
		// notable is how many decisions to be noted come in between.
		notable int
	}{{"the oldest", keptNotable - 1}, {"one of several", 0}} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, false)
			explained := journal.Event{Kind: journal.Decision, Instance: 9, Lease: 1, Steps: steps()}
			f.take(explained, false)
			for range test.notable {
				f.take(journal.Event{Kind: journal.Refused, Code: 429}, false)
			}
			for range keptLast {
				f.decide("m1", "vllm-1")
			}
			f.take(journal.Event{Kind: journal.Completion, Instance: 9, Lease: 1, Code: 502,
				Ended: journal.EndedReset}, false)
			f.decide("m1", "vllm-1")
			f.decide("m1", "vllm-1")
			listed := 0
			for _, d := range f.recent.notable.all {
				if d != nil && d.lease == (leaseKey{9, 1}) && d.Status == "502" {
					listed++
				}
			}
			if listed != 1 {
				t.Errorf("the failure is listed %d times, want once", listed)
			}
			seen := map[uint64]bool{}
			for _, d := range f.Decisions(0).Decisions {
				if seen[d.ID] {
					t.Errorf("request %d is listed twice", d.ID)
				}
				seen[d.ID] = true
			}
		})
	}
}

// TestDecisionsTell: what the status page lists of a request, and which of the last are kept for longer.
func TestDecisionsTell(t *testing.T) {
	for _, test := range []struct {
		name    string
		decided journal.Event
		then    []journal.Event
		want    Decision
		// kept is set where it stays listed when many others have come.
		kept bool
	}{
		{"another model asked for", journal.Event{Asked: journal.HashName("m0")}, nil,
			Decision{Asked: "m0", Predicted: -1, Cached: -1}, false},
		{"nothing asked for but what is served", journal.Event{Asked: journal.HashName("m1")}, nil,
			Decision{Predicted: -1, Cached: -1}, false},
		{"predicted", journal.Event{Asked: journal.HashName("m1"), Predicted: true, PredictedTokens: 0}, nil,
			Decision{Predicted: 0, Cached: -1}, false},
		{"answer began", journal.Event{Asked: journal.HashName("m1")},
			[]journal.Event{{Kind: journal.Began, TTFTMicros: 3000}},
			Decision{Predicted: -1, Cached: -1, TTFT: 3}, false},
		{"cached tokens reported", journal.Event{Asked: journal.HashName("m1")},
			[]journal.Event{{Kind: journal.Completion, Code: 200, CachedReported: true}},
			Decision{Predicted: -1, Status: "200", Cached: 0}, false},
		{"cached tokens not reported", journal.Event{Asked: journal.HashName("m1")},
			[]journal.Event{{Kind: journal.Completion, Code: 200, UsageReported: true, InputTokens: 5}},
			Decision{Predicted: -1, Status: "200", Cached: -1}, false},
		{"client left", journal.Event{Asked: journal.HashName("m1")},
			[]journal.Event{{Kind: journal.Completion, Ended: journal.EndedClient}},
			Decision{Predicted: -1, Cached: -1, Status: "none", Ended: "client"}, false},
		{"499", journal.Event{Asked: journal.HashName("m1")},
			[]journal.Event{{Kind: journal.Completion, Code: 499}},
			Decision{Predicted: -1, Cached: -1, Status: "499"}, false},
		{"500", journal.Event{Asked: journal.HashName("m1")},
			[]journal.Event{{Kind: journal.Completion, Code: 500}},
			Decision{Predicted: -1, Cached: -1, Status: "500"}, true},
		{"unreached", journal.Event{Asked: journal.HashName("m1")},
			[]journal.Event{{Kind: journal.Completion, Ended: journal.EndedUnreached}},
			Decision{Predicted: -1, Cached: -1, Status: "none", Ended: "unreached"}, true},
		{"reset", journal.Event{Asked: journal.HashName("m1")},
			[]journal.Event{{Kind: journal.Completion, Code: 200, Ended: journal.EndedReset}},
			Decision{Predicted: -1, Cached: -1, Status: "200", Ended: "reset"}, true},
		{"timeout", journal.Event{Asked: journal.HashName("m1")},
			[]journal.Event{{Kind: journal.Completion, Code: 200, Ended: journal.EndedTimeout}},
			Decision{Predicted: -1, Cached: -1, Status: "200", Ended: "timeout"}, true},
		{"explained", journal.Event{Asked: journal.HashName("m1"), Steps: steps()}, nil,
			Decision{Predicted: -1, Cached: -1, Explained: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, false)
			take := func(e journal.Event) {
				e.Instance, e.Lease, e.Model = 9, 1, journal.HashName("m1")
				f.take(e, false)
			}
			test.decided.Kind = journal.Decision
			take(test.decided)
			for _, e := range test.then {
				before := f.Decisions(0).Change
				take(e)
				if n := len(f.Decisions(before).Decisions); n != 1 {
					t.Errorf("%d decisions have changed by an event, want 1", n)
				}
			}
			got := f.Decisions(0).Decisions[0]
			got = Decision{Asked: got.Asked, Predicted: got.Predicted, TTFT: got.TTFT, Status: got.Status,
				Ended: got.Ended, Explained: got.Explained, Cached: got.Cached}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			for range keptLast {
				f.decide("m1", "vllm-1")
			}
			if kept := len(f.Decisions(0).Decisions) > keptLast; kept != test.kept {
				t.Errorf("kept for longer is %v, want %v", kept, test.kept)
			}
		})
	}
}

// TestFailureOfAForgottenDecision: a failure is listed though its decision is no longer, other ends are not.
func TestFailureOfAForgottenDecision(t *testing.T) {
	for _, test := range []struct {
		name string
		code uint16
		want int
	}{{"success", 200, 0}, {"failure", 502, 1}} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, false)
			f.take(journal.Event{Kind: journal.Completion, Instance: 9, Lease: 1, Code: test.code}, false)
			if n := len(f.Decisions(0).Decisions); n != test.want {
				t.Errorf("%d decisions are listed, want %d", n, test.want)
			}
		})
	}
}

// TestEndOfAForgottenDecision: what becomes of a request that is listed no longer is not told of another one.
func TestEndOfAForgottenDecision(t *testing.T) {
	f := newFixture(t, false)
	forgotten := f.decide("m1", "vllm-0")
	for range keptLast + 1 { // the last one is in the place of the first
		f.decide("m1", "vllm-1")
	}
	before := f.Decisions(0).Change
	f.take(forgotten, false)
	if got := f.Decisions(before).Decisions; len(got) != 0 {
		t.Errorf("got the changes %+v, want none", got)
	}
}

// TestDecisionsOfWhoIsGone: no request is listed as in flight that nobody has any more, as after a crash of Envoy.
func TestDecisionsOfWhoIsGone(t *testing.T) {
	f := newFixture(t, false)
	take := func(kind journal.Kind, instance uint64) {
		f.take(journal.Event{Kind: kind, Instance: instance, Lease: 1, Code: 200, Ended: journal.EndedWhole}, false)
	}
	for instance := range uint64(3) {
		take(journal.Decision, instance)
	}
	take(journal.Completion, 1)
	before := f.Decisions(0).Change
	for instance := range uint64(2) {
		take(journal.Gone, instance)
	}
	changed := f.Decisions(before).Decisions
	if len(changed) != 1 || changed[0].ID != 1 {
		t.Errorf("got the changes %+v, want that of the first", changed)
	}
	type end struct{ status, ended string }
	ends := func() (all [3]end) {
		for i := range all {
			d, _ := f.Decision(uint64(i + 1))
			all[i] = end{d.Status, d.Ended}
		}
		return all
	}
	if got, want := ends(), [3]end{{"unknown", "gone"}, {"200", ""}, {}}; got != want {
		t.Errorf("got the ends %q, want %q", got, want)
	}
	take(journal.Completion, 0)
	if got, want := ends(), [3]end{{"200", ""}, {"200", ""}, {}}; got != want {
		t.Errorf("got the ends %q once one lives after all, want %q", got, want)
	}
}

// TestDecisionsOfAnotherProcess: who asks for what has changed can tell a process that began anew from the one before,
// though its numbers are as high.
func TestDecisionsOfAnotherProcess(t *testing.T) {
	changed := func(requests int) []Changed {
		f := newFixture(t, false)
		answers := []Changed{f.Decisions(0)}
		for range requests {
			f.decide("m1", "vllm-0")
		}
		return append(answers, f.Decisions(0))
	}
	before, after := changed(3), changed(5)
	for _, answers := range [][]Changed{before, after} {
		if !answers[0].Process.Equal(answers[1].Process) || answers[0].Process.IsZero() {
			t.Errorf("got the processes %v and then %v, want the same", answers[0].Process, answers[1].Process)
		}
	}
	if before[1].Process.Equal(after[1].Process) {
		t.Errorf("got %v for a process and for the next one, want another", after[1].Process)
	}
}
