package pool

import (
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// TestUnread: what is said of endpoints whose scrapes fail hangs on how many of their pool they are, and for how long.
func TestUnread(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	const soon, later = unreadAfter - 1, unreadAfter
	say := func(text string) []string {
		return []string{"scrape: " + text + "; what is known of their load grows stale"}
	}
	tests := []struct {
		name    string
		results map[string]string // of the endpoints p/a, p/b, p/c, p/d and q/e; empty is ok
		after   time.Duration
		want    []string
	}{
		{"none", nil, later, nil},
		{"one of four", map[string]string{"p/a": "error"}, later, nil},
		{"half of them", map[string]string{"p/b": "status", "p/d": "timeout"}, later,
			say("2 of 4 endpoints of the pool p cannot be read, such as p/b: why status")},
		{"not yet", map[string]string{"p/b": "status", "p/d": "timeout"}, soon, nil},
		{"all of another pool", map[string]string{"p/a": "error", "q/e": "no_metrics"}, later,
			say("1 of 1 endpoints of the pool q cannot be read, such as q/e: why no_metrics")},
		{"one that refuses", map[string]string{"p/a": "unauthorized"}, 0,
			[]string{"scrape: 1 of 5 endpoints refuse to be read, such as p/a: why unauthorized"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, named("one"))
			var all []topology.Endpoint
			for i, name := range []string{"p/a", "p/b", "p/c", "p/d", "q/e"} {
				e := endpointAt(name, "10.0.0.1:"+string(rune('1'+i)))
				e.Pool = name[:1]
				all = append(all, e)
			}
			w.told(t, 0, all...)
			for _, target := range w.Generation().Targets {
				result := test.results[target.Name]
				if result == "" {
					target.Failed("ok", "", start)
					continue
				}
				target.Failed(result, "why "+result, start)
				target.Failed(result, "why "+result, start.Add(time.Second))
			}
			if got := w.Unread(start.Add(test.after)); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, target := range w.Generation().Targets {
				target.Failed("ok", "", start)
			}
			if got := w.Unread(start.Add(time.Hour)); len(got) != 0 {
				t.Errorf("got %q once all is well, want nothing", got)
			}
		})
	}
}
