package push

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestState: what is told of an Envoy is of the last push, and of the last accepted one what it holds: once it takes
// snapshots again, why it did not is over.
func TestState(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	p := &Pusher{Log: log, Metrics: metrics.New(pool.New(log, engine.Known, nil))}
	refuses := outcome{result: "status_503", err: errors.New("refused")}
	for _, step := range []struct {
		name     string
		outcome  outcome
		sequence uint64
		want     State
	}{
		{"refused", refuses, 1, State{Result: "status_503", Failure: "refused"}},
		{"accepted", outcome{result: "accepted", filter: "v1"}, 2,
			State{Result: "accepted", Filter: "v1", Holds: 20, Acknowledged: snapshot.Position{Sequence: 2}}},
		{"refused later", refuses, 3, State{Result: "status_503", Failure: "refused", Filter: "v1", Holds: 20,
			Acknowledged: snapshot.Position{Sequence: 2}}},
		{"accepted by an older module", outcome{result: "accepted"}, 4,
			State{Result: "accepted", Holds: 40, Acknowledged: snapshot.Position{Sequence: 4}}},
	} {
		p.position.Sequence, p.topology = step.sequence, 10*step.sequence
		before := p.Now().Accepted
		p.record(step.outcome, 0)
		got := p.Now()
		if accepted := !got.Accepted.Equal(before); accepted != (step.outcome.err == nil) {
			t.Errorf("%s: told as accepted now: %v, want %v", step.name, accepted, !accepted)
		}
		if step.want.Accepted = got.Accepted; got != step.want {
			t.Errorf("%s: got %+v, want %+v", step.name, got, step.want)
		}
	}
}
