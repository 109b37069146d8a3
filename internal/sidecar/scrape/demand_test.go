package scrape

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestDemand: models are looked at as often as the configuration says, whoever asks, and where it does not say once an
// Envoy has asked.
func TestDemand(t *testing.T) {
	for _, test := range []struct {
		name       string
		configured time.Duration
		asked      int           // times
		want       time.Duration // 0 is not yet
	}{
		{"configured", 7 * time.Second, 0, 7 * time.Second},
		{"as short as can be", time.Nanosecond, 0, time.Nanosecond},
		{"configured and asked for", 7 * time.Second, 1, 7 * time.Second},
		{"neither", 0, 0, 0},
		{"asked for", 0, 1, 30 * time.Second},
		{"asked for by many", 0, 3, 30 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var d Demand
				got := time.Duration(-1)
				go func() { got = d.wait(ctx, test.configured) }()
				synctest.Wait()
				for range test.asked {
					d.Ask()
				}
				synctest.Wait()
				if test.want == 0 {
					if got != -1 {
						t.Errorf("got %v before anybody asked, want to wait", got)
					}
					cancel()
					synctest.Wait()
				}
				if got != test.want {
					t.Errorf("got %v, want %v", got, test.want)
				}
			})
		})
	}
}
