package pool

import (
	"fmt"
	"slices"
	"strings"
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
		results map[string]string // of the endpoints p/a, p/b, p/c, p/d, q/e, r/f, r/g and r/h; empty is ok
		after   time.Duration
		want    []string
	}{
		{"none", nil, later, nil},
		{"one of four", map[string]string{"p/a": "error"}, later, nil},
		{"one of three", map[string]string{"r/f": "error"}, later, nil},
		{"half of them", map[string]string{"p/b": "status", "p/d": "timeout"}, later,
			say("2 of 4 endpoints of the pool p cannot be read, such as p/b: why status")},
		{"not yet", map[string]string{"p/b": "status", "p/d": "timeout"}, soon, nil},
		{"all of another pool", map[string]string{"p/a": "error", "q/e": "no_metrics"}, later,
			say("1 of 1 endpoints of the pool q cannot be read, such as q/e: why no_metrics")},
		{"one that refuses", map[string]string{"p/a": "unauthorized"}, 0,
			[]string{"scrape: 1 of 8 endpoints refuse to be read, such as p/a: why unauthorized"}},
		{"a pool that refuses", map[string]string{"r/f": "credentials", "r/g": "unauthorized", "r/h": "credentials"},
			later, []string{"scrape: 3 of 8 endpoints refuse to be read, such as r/f: why credentials"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, named("one"))
			var all []topology.Endpoint
			for i, name := range []string{"p/a", "p/b", "p/c", "p/d", "q/e", "r/f", "r/g", "r/h"} {
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

// TestUnreadBesideLoad: what endpoints do not say of their models and GPUs is said of all of them in a line each, until
// they say it.
func TestUnreadBesideLoad(t *testing.T) {
	const (
		models = "models: 2 of 3 endpoints do not say which they serve, such as b: status 401; what was known of " +
			"them stays, and without that they get requests for any model"
		omits = "models: 2 of 3 endpoints list more than is taken, such as a, which gets no requests for 44 of them"
		gpus  = "gpu: the use of GPUs is not known of 1 of 3 endpoints, such as c: no exporter"
	)
	for _, test := range []struct {
		name         string
		models, gpus string // why they are not known of b and c, and of c
		omitted      int    // how many models of a and b are left out
		want         []string
	}{
		{"all known", "", "", 0, nil},
		{"models", "status 401", "", 0, []string{models}},
		{"more models than are taken", "", "", 44, []string{omits}},
		{"GPUs", "", "no exporter", 0, []string{gpus}},
		{"all", "status 401", "no exporter", 44, []string{models, omits, gpus}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, named("one"))
			w.told(t, 0, endpointAt("a", "10.0.0.1:1"), endpointAt("b", "10.0.0.2:1"), endpointAt("c", "10.0.0.3:1"))
			tell := func(models, gpus string, omitted int) {
				targets := w.Generation().Targets
				targets[0].Omits(omitted)
				targets[1].Omits(omitted)
				targets[1].Hides(models)
				targets[2].Hides(models)
				targets[2].Uses(0, gpus)
			}
			tell(test.models, test.gpus, test.omitted)
			if got := w.Unread(time.Time{}); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			tell("", "", 0)
			if got := w.Unread(time.Time{}); len(got) != 0 {
				t.Errorf("got %q once all is known, want nothing", got)
			}
		})
	}
}

// TestModelsOfTheSource: of an endpoint whose source says its models nothing is said of the list that it should give:
// that counts for nothing.
func TestModelsOfTheSource(t *testing.T) {
	for _, test := range []struct {
		name         string
		given, lists []string // the source's models, and the last list
		said         bool
	}{
		{"nobody says them", nil, nil, true},
		{"the server did", nil, []string{"m", "n"}, true},
		{"the source does", []string{"m"}, nil, false},
		{"both, and the list has more", []string{"n"}, []string{"m", "n"}, false},
		{"both, and the list has fewer", []string{"m", "n"}, []string{"m"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, named("one"))
			e := endpointAt("a", "10.0.0.1:1")
			e.Models = test.given
			w.told(t, 0, e)
			target := w.Generation().Targets[0]
			target.Serves(test.lists, 1)
			w.Learned(t.Context())
			target.Hides("status 401")
			target.Omits(44)
			if got := w.Unread(time.Time{}); len(got) > 0 != test.said {
				t.Errorf("got %q, want something: %v", got, test.said)
			}
		})
	}
}

// TestModelsThatDoNotFit: that a snapshot has no room for all that servers say is told once, until it has.
func TestModelsThatDoNotFit(t *testing.T) {
	w := newWorld(t, named("one"))
	var endpoints []topology.Endpoint
	for i := range 40 {
		endpoints = append(endpoints, endpointAt(fmt.Sprintf("e-%02d", i), "10.0.0.1:1"))
	}
	w.told(t, 0, endpoints...)
	for _, step := range []struct {
		name  string
		names int // at each endpoint, of some 512 bytes
		want  string
		lines int // in the log so far
	}{
		{"few", 10, "", 0},
		{"many", 256, "names at 40 of 40 endpoints, such as e-00, do not fit into one snapshot", 1},
		{"still many", 256, "names at 40 of 40 endpoints, such as e-00, do not fit into one snapshot", 1},
		{"few again", 10, "", 1},
	} {
		var models []string
		for i := range step.names {
			models = append(models, fmt.Sprintf("%0510d", i))
		}
		for _, target := range w.Generation().Targets {
			target.Serves(models, 1)
		}
		w.Learned(t.Context())
		got := strings.Join(w.Warnings(), "\n")
		if !strings.Contains(got, step.want) || (got == "") != (step.want == "") {
			t.Errorf("%s: got warnings %q, want %q", step.name, got, step.want)
		}
		if n := strings.Count(w.log.String(), "not all that was found can be used"); n != step.lines {
			t.Errorf("%s: got %d lines, want %d:\n%s", step.name, n, step.lines, w.log.String())
		}
	}
}
