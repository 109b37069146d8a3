package scorers_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// Requests of a user who floods go to one end and those of the other to the other end; without a flood both go where
// the load is low.
func TestVTCBasicKeepsUsersApart(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "vtc-basic"}]}`, make([]scoring.Endpoint, 3)...)
	seen := map[string]bool{}
	for range 9 {
		seen[r.route("heavy", strings.Repeat("x", 4000))] = true
		r.serve()
	}
	if len(seen) != 3 {
		t.Errorf("a user alone is served by %v, want all three", seen)
	}
	r.route("light", "hello")
	r.serve()
	for range 20 {
		if got := r.route("heavy", strings.Repeat("x", 4000)); got != "c" {
			t.Errorf("the heavy user goes to %s, want c", got)
		}
		if got := r.route("light", "hello"); got != "a" {
			t.Errorf("the light user goes to %s, want a", got)
		}
		if got := r.route("new", ""); got != "a" {
			t.Errorf("a new user goes to %s, want a", got)
		}
	}
}

// Requests of invented users that no server serves change nothing for the others, however long they are.
func TestVTCBasicUnserved(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "vtc-basic"}]}`, make([]scoring.Endpoint, 3)...)
	count := func() map[string]int {
		seen := map[string]int{}
		for i := range 90 {
			seen[r.route([]string{"one", "two", "three"}[i%3], "hello")]++
			r.serve()
		}
		return seen
	}
	count()
	for i := range 10 {
		r.route("invented "+strconv.Itoa(i), strings.Repeat("x", 6<<20))
	}
	if seen := count(); seen["a"] > 40 || seen["b"] > 40 || seen["c"] > 40 {
		t.Errorf("requests of others go to %v, want them spread", seen)
	}
}

// The list of endpoints is ordered by name, whatever order the pool has.
func TestVTCBasicOrder(t *testing.T) {
	for _, names := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}} {
		var endpoints []scoring.Endpoint
		for _, name := range names {
			endpoints = append(endpoints, scoring.Endpoint{Name: name})
		}
		r := newRouter(t, `{"plugins": [{"type": "vtc-basic"}]}`, endpoints...)
		r.route("light", "hello")
		r.serve()
		for range 3 {
			r.route("heavy", strings.Repeat("x", 40_000))
			r.serve()
		}
		if got := r.route("heavy", strings.Repeat("x", 4000)); got != "c" {
			t.Errorf("pool %v: the heavy user goes to %s, want c", names, got)
		}
	}
}

// "test message" is 3 + 5 tokens, as AIBrix estimates; other lengths likewise. The weights are 1 and 2.
func TestVTCBasicEstimates(t *testing.T) {
	for _, tt := range []struct {
		prompt  string
		in, out uint32
		total   float64
	}{
		{"", 0, 0, 0}, {"Hello", 2, 3, 8}, {"abcd", 1, 2, 5}, {"abcde", 2, 3, 8}, {"test message", 3, 5, 13},
		{strings.Repeat("x", 24), 6, 9, 24},
	} {
		r := newRouter(t, `{"plugins": [{"type": "vtc-basic"}]}`, make([]scoring.Endpoint, 2)...)
		r.route("u", tt.prompt)
		if r.event.InputTokens != tt.in || r.event.OutputTokens != tt.out || r.event.User != journal.HashName("u") {
			t.Errorf("%q is journaled as %d + %d tokens of %x, want %d + %d", tt.prompt, r.event.InputTokens,
				r.event.OutputTokens, r.event.User, tt.in, tt.out)
		}
		if got := r.cycle.Pool.State.Tokens.Total(journal.HashName("u")); got != tt.total {
			t.Errorf("%q counts %v, want %v", tt.prompt, got, tt.total)
		}
	}
}

// Three answers tell how long the user's next one is; in the source's semantics none does, though they are learnt from.
func TestVTCBasicLearnsOutputs(t *testing.T) {
	for semantics, learnt := range map[string]uint32{"documented": 700, "source": 5} {
		r := newRouter(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "inflight-load-producer",
			"parameters": {"addEstimatedOutputTokens": true}}, {"type": "vtc-basic",
			"parameters": {"semantics": "`+semantics+`"}}]}`, make([]scoring.Endpoint, 2)...)
		if r.cycle.Pool.State.Outputs == nil {
			t.Fatalf("%s: no outputs are learnt from", semantics)
		}
		for answers, want := range []uint32{5, 5, 5, learnt} {
			r.route("u", "test message")
			if got := r.event.OutputTokens; got != want {
				t.Errorf("%s, after %d answers: %d tokens of output expected, want %d", semantics, answers, got, want)
			}
			r.cycle.Pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: plantest.Now, Status: 200,
				Model: journal.HashName(r.cycle.Request.Model), User: journal.HashName("u"), UsageReported: true,
				OutputTokens: 700})
		}
	}
}

// Without a user nothing is counted and the load decides; in the source's semantics, chance.
func TestVTCBasicWithoutUser(t *testing.T) {
	for semantics, want := range map[string]int{"documented": 1, "source": 3} {
		r := newRouter(t, `{"plugins": [{"type": "vtc-basic", "parameters": {"semantics": "`+semantics+`"}}]}`,
			make([]scoring.Endpoint, 3)...)
		r.load("a", 50)
		r.load("b", 50)
		seen := map[string]bool{}
		for range 20 {
			seen[r.route("", "hello")] = true
		}
		if len(seen) != want {
			t.Errorf("%s: served by %v, want %d endpoints", semantics, seen, want)
		}
		if n := r.cycle.Pool.State.Tokens.Users(); n != 0 || r.event.User != 0 {
			t.Errorf("%s: %d users, want 0", semantics, n)
		}
	}
}

// Requests that another profile routes count too.
func TestVTCBasicCountsEveryStrategy(t *testing.T) {
	r := newRouter(t,
		`{"plugins": [{"type": "routing-strategy-handler"}, {"type": "vtc-basic"}, {"type": "random-picker"}], "schedulingProfiles": [
		{"name": "random", "plugins": [{"pluginRef": "random-picker"}]}, {"name": "vtc-basic", "plugins": [{"pluginRef": "vtc-basic"}]}]}`, make([]scoring.Endpoint, 3)...)
	r.route("u", "test message")
	if got := r.cycle.Pool.State.Tokens.Total(journal.HashName("u")); got != 13 {
		t.Errorf("counts %v, want 13", got)
	}
}

func TestVTCBasicParameters(t *testing.T) {
	for parameters, want := range map[string]string{
		`{"maxPodLoad": 0}`: "plugins[0](vtc-basic).parameters.maxPodLoad: is 0; it divides the load, so " +
			"give a number above 0",
		`{"userHeader": ""}`: "plugins[0](vtc-basic).parameters.userHeader: is empty; name the request " +
			"header that names the user",
		`{"fairnessWeight": -1}`: "plugins[0](vtc-basic).parameters.fairnessWeight: -1 is not a number from 0 to " +
			"1e+12",
		`{"timeUnit": "hours"}`:    `plugins[0](vtc-basic).parameters.timeUnit: "hours" is not one of minutes, seconds, milliseconds`,
		`{"semantics": "aibrix"}`:  `plugins[0](vtc-basic).parameters.semantics: "aibrix" is not one of documented, source`,
		`{"outputTokenWeight": 0}`: "",
		`{"windowSize": 0}`: "plugins[0](vtc-basic).parameters.windowSize: 0 is not a whole number from 1 " +
			"to 1000000",
		`{"userHeader": "X-Tenant"}`: "",
	} {
		if got := plantest.Mistakes(`{"plugins": [{"type": "vtc-basic", "parameters": ` + parameters +
			`}]}`); got != want {
			t.Errorf("%s: mistakes:\n%s\nwant:\n%s", parameters, got, want)
		}
	}
	if got := plantest.Mistakes(
		`{"plugins": [{"type": "vtc-basic"}, {"type": "vtc-basic", "name": "b"}]}`); !strings.Contains(got,
		"is a second vtc-basic") {
		t.Errorf("two are taken: %q", got)
	}
}

// TestVTCBasicTimeout: a request is in flight for as long as its estimate counts, within bounds.
func TestVTCBasicTimeout(t *testing.T) {
	const long = `{"type": "active-request-scorer", "parameters": {"requestTimeout": "15m"}}, `
	const short = `{"type": "active-request-scorer", "parameters": {"requestTimeout": "10s"}}, `
	tests := []struct {
		name, others, window string
		want                 time.Duration
	}{
		{"of five minutes", "", `{}`, 5 * time.Minute},
		{"of less than what is usual", "", `{"timeUnit": "seconds", "windowSize": 30}`, 2 * time.Minute},
		{"in milliseconds", "", `{"timeUnit": "milliseconds", "windowSize": 420000}`, 7 * time.Minute},
		{"of hours", "", `{"windowSize": 600}`, 10 * time.Minute},
		{"others ask for more", long, `{}`, 15 * time.Minute},
		{"others ask for less", short, `{}`, 5 * time.Minute},
		{"others ask for less than a short window", short, `{"windowSize": 1}`, 2 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [`+tt.others+`{"type": "vtc-basic", "parameters": `+tt.window+`}]}`,
				plantest.Neutral)
			if got := plan.StateOptions().RequestTimeout; got != tt.want {
				t.Errorf("a timeout of %v, want %v", got, tt.want)
			}
		})
	}
}
