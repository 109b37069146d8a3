package pool

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
)

// TestAttributesOfAnotherEngine: what stands at a place among one engine's attributes is nothing of another one's.
func TestAttributesOfAnotherEngine(t *testing.T) {
	vllm, sglang := engine.Known.ByName("vllm"), engine.Known.ByName("sglang")
	for _, test := range []struct {
		name string
		next *engine.Engine
		want uint16
	}{{"the same", vllm, 3}, {"another", sglang, 0}, {"in doubt", nil, 0}} {
		t.Run(test.name, func(t *testing.T) {
			var target Target
			target.Detected(vllm)
			target.Read(&engine.Sample{AttributesKnown: 3}, time.Unix(1, 0), nil)
			target.Detected(test.next)
			if view := target.Now(); view.Kind != test.next || view.Sample.AttributesKnown != test.want {
				t.Errorf("got known attributes %b, engine as told: %v; want %b", view.Sample.AttributesKnown,
					view.Kind == test.next, test.want)
			}
		})
	}
}

// TestShare: another gateway's sample is taken where it is newer and of the same engine, and ends what failed here.
func TestShare(t *testing.T) {
	vllm, sglang := engine.Known.ByName("vllm"), engine.Known.ByName("sglang")
	const here = 10 // s
	for _, test := range []struct {
		name  string
		kind  *engine.Engine // as known here
		at    int64
		taken bool
	}{
		{"newer", vllm, here + 1, true},
		{"of an unknown engine", nil, here + 1, true},
		{"as old", vllm, here, false},
		{"older", vllm, here - 1, false},
		{"of another engine", sglang, here + 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var target Target
			target.Read(&engine.Sample{WaitingRequests: 1}, time.Unix(here, 0), nil)
			target.Detected(test.kind)
			target.Failed("timeout", "too late", time.Unix(here, 0))
			before := target.Now()
			taken, differs := target.Share(vllm, &engine.Sample{WaitingRequests: 2}, time.Unix(test.at, 0), nil)
			got, want := target.Now(), before
			if test.taken {
				want.Kind, want.Result, want.Failure, want.FailingSince = vllm, "ok", "", time.Time{}
				want.Shared, want.Sampled, want.Sample.WaitingRequests = true, time.Unix(test.at, 0), 2
			}
			same := got.Kind == want.Kind && got.Result == want.Result && got.Failure == want.Failure &&
				got.FailingSince.Equal(want.FailingSince) && got.Shared == want.Shared &&
				got.Sampled.Equal(want.Sampled) && got.Sample.Equal(&want.Sample)
			if !same || taken != test.taken || differs != test.taken {
				t.Errorf("taken: %v, differs: %v, got %+v, want %v and %+v", taken, differs, got, test.taken, want)
			}
		})
	}
}

// TestOwnSampleIsLate: a sample of this sidecar that was asked for before another gateway's does not take its place.
func TestOwnSampleIsLate(t *testing.T) {
	vllm := engine.Known.ByName("vllm")
	const theirs = 10 // s
	for _, test := range []struct {
		name  string
		at    int64
		taken bool
	}{{"asked for before", theirs - 1, false}, {"at the same time", theirs, false}, {"later", theirs + 1, true}} {
		t.Run(test.name, func(t *testing.T) {
			var target Target
			target.Share(vllm, &engine.Sample{WaitingRequests: 1}, time.Unix(theirs, 0), nil)
			differs := target.Read(&engine.Sample{WaitingRequests: 2}, time.Unix(test.at, 0), nil)
			view := target.Now()
			if taken := view.Sample.WaitingRequests == 2; taken != test.taken || differs != test.taken ||
				view.Shared == test.taken {
				t.Errorf("got %+v, differs: %v; want the own sample: %v", view, differs, test.taken)
			}
		})
	}
}
