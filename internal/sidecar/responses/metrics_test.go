package responses

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestMonitoringNamesMetrics keeps the dashboard, the alerts and the documentation true.
func TestMonitoringNamesMetrics(t *testing.T) {
	harness.CheckMonitoring(t, "pintle_store_", newMetrics())
}

// lookingTier is a second tier whose looks end with an error, while which something happens.
type lookingTier struct {
	fakeTier
	meanwhile func()
}

func (l *lookingTier) Get(ctx context.Context, key string) ([]byte, error) {
	l.meanwhile()
	return l.fakeTier.Get(ctx, key)
}

// onlySecond is a store whose first tier has nothing.
type onlySecond struct{ *tiered }

func (o onlySecond) Get(ctx context.Context, key string) (*Entry, error) {
	return o.readThrough(ctx, key)
}

func (o onlySecond) Again(context.Context, string) (*Entry, error) { return nil, ErrUnknown }

// TestWhoLeavesCountsNoLookup: a look that its client has given up says nothing of the tiers.
func TestWhoLeavesCountsNoLookup(t *testing.T) {
	down := errors.New("down")
	for _, test := range []struct {
		name   string
		fails  error
		leaves bool
		grace  time.Duration
		want   map[string]float64
	}{
		{"stays while it fails", down, false, 0, map[string]float64{"error mongo": 1, "miss redis": 1}},
		{"stays and finds nothing", nil, false, 0, map[string]float64{"miss mongo": 1, "miss redis": 1}},
		{"leaves while it fails", down, true, 0, nil},
		{"leaves and would find nothing", nil, true, 0, nil},
		{"leaves while it is looked for again", nil, true, time.Hour, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := open(t, memoryOf(1, 1<<20))
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			second := &lookingTier{meanwhile: func() {
				if test.leaves {
					leave()
				}
			}}
			second.set(test.fails, "")
			first := &remote{metrics: c.s.metrics}
			c.s.backend, c.s.tier, c.s.grace = onlySecond{&tiered{remote: first, second: second}}, "redis", test.grace
			r := httptest.NewRequestWithContext(ctx, "GET", "/pintle/v1/history/r", nil)
			r.Header.Set("Authorization", "Bearer token")
			c.s.ServeHTTP(httptest.NewRecorder(), r)
			for _, tier := range []string{"redis", "mongo"} {
				for _, result := range []string{"hit", "miss", "error"} {
					labels := result + " " + tier
					if got := c.counted("lookups_total", labels); got != test.want[labels] {
						t.Errorf("%s: counted %v, want %v", labels, got, test.want[labels])
					}
				}
			}
		})
	}
}
