package plantest

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

// FailingPlan compiles a configuration by which endpoints that fail are no candidates.
func FailingPlan(t testing.TB, config string, stale scoring.Staleness) *scoring.Plan {
	t.Helper()
	return planBy(t, config, scoring.Settings{Stale: stale,
		Failing: scoring.Failing{Exclude: true, Above: 0.5, HalfLife: time.Minute}})
}

// Fail has an endpoint fail requests of several clients.
func Fail(pool *scoring.Pool, e *scoring.Endpoint) {
	for client := range uint64(8) {
		pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: Now, Status: 500,
			Primary: pool.ID(e), Client: 1 + client, Ended: journal.EndedWhole})
	}
}

// FailThose has the endpoints fail whose names, a letter each, are among names.
func FailThose(pool *scoring.Pool, names string) {
	for i := range pool.Endpoints {
		if e := &pool.Endpoints[i]; strings.Contains(names, e.Name) {
			Fail(pool, e)
		}
	}
}
