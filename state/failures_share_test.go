package state

import (
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// TestFailuresFade: a share is half after the half-life that is asked for, or after the default, and one of refusals
// after an eighth of it.
func TestFailuresFade(t *testing.T) {
	for _, tc := range []struct {
		name            string
		halfLife, after time.Duration
		refusals        bool
	}{
		{"the default", 0, 20 * time.Second, false},
		{"refusals by the default", 0, 2500 * time.Millisecond, true},
		{"another one", 4 * time.Second, 4 * time.Second, false},
		{"refusals by another one", 4 * time.Second, 500 * time.Millisecond, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := NewFailures(tc.halfLife)
			f.Resize(1)
			f.Expire(someTime)
			e := journal.Event{Kind: journal.Completion, Time: someTime, Status: 200, Ended: journal.EndedWhole}
			f.Complete(0, &e)
			if e.Status = 500; tc.refusals {
				e.Status = 503
			}
			f.Complete(0, &e)
			for n, want := range []float64{1.0 / 8, 1.0 / 16, 1.0 / 32} {
				if got := f.Share(0, someTime+int64(n)*int64(tc.after)); !(math.Abs(got-want) <= 1e-9) {
					t.Errorf("after %d times %v: got %v, want %v", n, tc.after, got, want)
				}
			}
		})
	}
}

// TestFailuresToldLate: what another gateway tells so late that it says nothing of now moves no share.
func TestFailuresToldLate(t *testing.T) {
	const skew = time.Duration(maxSkew)
	for _, tc := range []struct {
		name string
		late outcome
		want int // failures that count
	}{
		{"a failure, a little late", outcome{-skew, 3, 500, 0}, 3},
		{"a failure", outcome{-skew - 1, 3, 500, 0}, 2},
		{"a refusal", outcome{-skew - 1, 3, 503, 0}, 2},
		{"an answer", outcome{-skew - 1, 3, 200, 0}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := NewFailures(0)
			f.Resize(1)
			for client := range uint64(2) {
				outcome{0, client + 1, 500, 0}.apply(f)
			}
			tc.late.applyAt(f, someTime)
			const later = int64(DefaultFailureHalfLife)
			got, want := f.Share(0, someTime+later), (1-math.Pow(7.0/8, float64(tc.want)))/2
			if !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("the share is %v a half-life later, want %v: %d that count", got, want, tc.want)
			}
		})
	}
}

// outcome is what becomes of a request of a client, so long after the beginning.
type outcome struct {
	after  time.Duration
	client uint64
	status uint16
	kind   journal.Kind // Completion where it is left out
}

func (o outcome) apply(f *Failures) {
	o.applyAt(f, someTime+int64(o.after))
}

// applyAt is apply at a time that need not be when it was.
func (o outcome) applyAt(f *Failures, now int64) {
	if o.kind == 0 {
		o.kind = journal.Completion
	}
	f.Expire(now)
	f.Complete(0, &journal.Event{Kind: o.kind, Time: someTime + int64(o.after), Status: o.status, Client: o.client,
		User: o.client, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1})
}

// TestFailuresOfOneClient: how many of a client's failures count once another one fails, too.
func TestFailuresOfOneClient(t *testing.T) {
	times := func(n int, o outcome) (all []outcome) {
		for range n {
			all = append(all, o)
		}
		return all
	}
	answered, failed, others := outcome{0, 2, 200, 0}, outcome{0, 1, 500, 0}, outcome{0, 3, 500, 0}
	join := func(parts ...[]outcome) (all []outcome) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	tests := []struct {
		name     string
		outcomes []outcome
		want     int // failures that count
	}{
		{"none, while another is answered", join(times(1, answered), times(9, failed)), 0},
		{"all, once another fails", join(times(1, answered), times(3, failed), times(1, others)), 4},
		{"five at most", join(times(1, answered), times(9, failed), times(1, others)), 6},
		{"none of before an answer", join(times(1, answered), times(3, failed), times(1, answered), times(1, others)),
			1},
		{"all of after it", join(times(1, answered), times(3, failed), times(1, answered), times(1, failed),
			times(1, others)), 2},
		{"all, after long enough", join(times(1, answered), times(3, outcome{10 * time.Second, 1, 500, 0})), 3},
		{"none, hardly long enough", join(times(1, answered), times(3, outcome{10*time.Second - 1, 1, 500, 0})), 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := NewFailures(0)
			f.Resize(1)
			for _, o := range tc.outcomes {
				o.apply(f)
			}
			got, want := f.Share(0, f.clock.now), 1-math.Pow(7.0/8, float64(tc.want))
			if !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("the share is %v, want %v: %d that count", got, want, tc.want)
			}
		})
	}
}

// TestRefusalsByTheLastAnswer: refusals fade fast while the endpoint answers, be it that it only begins to.
func TestRefusalsByTheLastAnswer(t *testing.T) {
	refused := func(after time.Duration) outcome { return outcome{after, 1, 429, 0} }
	tests := []struct {
		name     string
		outcomes []outcome
		fast     bool
	}{
		{"never answered", []outcome{refused(time.Hour)}, false},
		{"just answered", []outcome{{0, 1, 200, 0}, refused(0)}, true},
		{"answered a while ago", []outcome{{0, 1, 200, 0}, refused(10*time.Second - 1)}, true},
		{"answered too long ago", []outcome{{0, 1, 200, 0}, refused(10 * time.Second)}, false},
		{"just began to answer", []outcome{{0, 1, 200, journal.Began}, refused(0)}, true},
		{"after a failure", []outcome{{0, 1, 200, 0}, {0, 1, 500, 0}, refused(0)}, false},
		{"after a failure that has faded", []outcome{{0, 1, 200, 0}, {0, 1, 500, 0}, {time.Second, 1, 200, 0},
			refused(time.Second)}, true},
		{"after a refusal", []outcome{{0, 1, 200, 0}, refused(0), refused(0), refused(0)}, true},
		{"and a failure after them", []outcome{{0, 1, 200, 0}, refused(0), refused(0), {0, 1, 500, 0}}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := NewFailures(0)
			f.Resize(1)
			for _, o := range tc.outcomes {
				o.apply(f)
			}
			now := f.clock.now
			want := 0.5
			if tc.fast {
				want = 1.0 / 256
			}
			if got := f.Share(0, now+int64(DefaultFailureHalfLife)) / f.Share(0, now); !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("after a half-life %v of the share is left, want %v", got, want)
			}
		})
	}
}

// TestBeginningsCountAsNothing: an answer that begins is none that has ended well.
func TestBeginningsCountAsNothing(t *testing.T) {
	f := NewFailures(0)
	f.Resize(1)
	outcome{0, 1, 500, 0}.apply(f)
	outcome{0, 1, 200, journal.Began}.apply(f)
	if got := f.Share(0, someTime); got != 1.0/8 {
		t.Errorf("got %v, want an eighth", got)
	}
}

// TestFailuresOutOfRange: what happens at an endpoint that is none in the pool is passed over.
func TestFailuresOutOfRange(t *testing.T) {
	f := NewFailures(0)
	f.Resize(2)
	for _, index := range []int{-1, 2} {
		for _, status := range []uint16{0, 200, 503} {
			e := journal.Event{Kind: journal.Completion, Time: someTime, Status: status}
			f.Decide(index, &e)
			f.Complete(index, &e)
			f.fail(index, &e, true)
		}
		f.Reset(index)
		if share, since := f.Share(index, someTime), f.SilentSince(index, someTime, 0, 0); share != 0 || since != 0 {
			t.Errorf("%d: got a share of %v and silence since %d, want none", index, share, since)
		}
	}
	for index := range 2 {
		if got := f.Share(index, someTime); got != 0 {
			t.Errorf("%d: got a share of %v, want none", index, got)
		}
	}
}
