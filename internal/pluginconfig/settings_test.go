package pluginconfig

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// TestSettings: what each key of the filter's own is where it is left out, and what it does where it is given.
func TestSettings(t *testing.T) {
	subset := func(c *Config) any { return c.Subset }
	management := func(c *Config) any { return c.PassManagement }
	unreadable := func(c *Config) any { return c.PassUnreadable }
	strip := func(c *Config) any { return c.Strip }
	sidecar := func(c *Config) any { return c.Sidecar }
	dialect := func(c *Config) any { return c.Plan.Reading().Dialect }
	stale := func(c *Config) any { return c.Plan.Staleness().Policy }
	corrects := func(c *Config) any { return c.Plan.StateOptions().InFlight }
	failing := func(c *Config) any { return c.Plan.StateOptions().Failures }
	halfLife := func(c *Config) any { return c.Plan.StateOptions().FailureHalfLife }
	// withOne has one plug-in that keeps nothing of what is asked for here.
	withOne := func(keys string) string { return `{"config": {"plugins": [{"type": "random-picker"}]}` + keys + `}` }
	usual := Sidecar{Cluster: "pintle-sidecar", Timeout: 400 * time.Millisecond, PrefixTimeout: 50 * time.Millisecond}
	tests := []struct {
		name, text string
		of         func(c *Config) any
		want       any
	}{
		{"subset", `{}`, subset, SubsetIgnore},
		{"subset, ignored", `{"subset": "ignore"}`, subset, SubsetIgnore},
		{"subset of metadata", `{"subset": "metadata"}`, subset, SubsetMetadata},
		{"subset of a header", `{"subset": "header"}`, subset, SubsetHeader},
		{"management", `{}`, management, false},
		{"management refused", `{"management": "refuse", "unreadable": "pass"}`, management, false},
		{"management passed", `{"management": "pass"}`, management, true},
		{"unreadable", `{}`, unreadable, false},
		{"unreadable refused", `{"unreadable": "refuse", "management": "pass"}`, unreadable, false},
		{"unreadable passed", `{"unreadable": "pass"}`, unreadable, true},
		{"strip", `{"strip": ["X-A", "x-b"]}`, strip, []string{"x-a", "x-b"}},
		{"sidecar", `{}`, sidecar, usual},
		{"sidecar, of its own", `{"sidecar": {"cluster": "c", "timeout": "1ms", "prefixTimeout": "1ms"}}`, sidecar,
			Sidecar{"c", time.Millisecond, time.Millisecond}},
		{"dialect", `{}`, dialect, scoring.DialectHeimdall},
		{"dialect of llm-d", `{"dialect": "llm-d"}`, dialect, scoring.DialectLLMD},
		{"dialect by what only one has", `{"config": {"plugins": [{"type": "token-load-scorer"}]}}`, dialect,
			scoring.DialectLLMD},
		{"stale", `{}`, stale, scoring.StaleNeutral},
		{"stale in llm-d's dialect", `{"dialect": "llm-d"}`, stale, scoring.StaleZero},
		{"stale, neutral in llm-d's dialect", `{"dialect": "llm-d", "stale": {"policy": "neutral"}}`, stale,
			scoring.StaleNeutral},
		{"stale, zero", `{"stale": {"policy": "zero"}}`, stale, scoring.StaleZero},
		{"correction", withOne(``), corrects, true},
		{"no correction", withOne(`, "load": {"correction": false}`), corrects, false},
		{"failing", withOne(``), failing, true},
		{"failing, excluded", withOne(`, "failing": {"policy": "exclude"}`), failing, true},
		{"failing, ignored", withOne(`, "failing": {"policy": "ignore"}`), failing, false},
		{"half-life", `{}`, halfLife, 20 * time.Second},
		{"half-life of its own", `{"failing": {"halfLife": "1ms"}}`, halfLife, time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := test.of(c); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestDialectSaidElsewhere: the configuration's own key beats what is said elsewhere, which holds where there is none.
func TestDialectSaidElsewhere(t *testing.T) {
	tests := []struct {
		name, text string
		elsewhere  scoring.Dialect
		want       scoring.Dialect
	}{
		{"nowhere", `{}`, scoring.DialectUnsaid, scoring.DialectHeimdall},
		{"elsewhere alone", `{}`, scoring.DialectLLMD, scoring.DialectLLMD},
		{"elsewhere, of a bare document", `{"plugins": []}`, scoring.DialectLLMD, scoring.DialectLLMD},
		{"in both", `{"dialect": "heimdall"}`, scoring.DialectLLMD, scoring.DialectHeimdall},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := ParseAs([]byte(test.text), nil, test.elsewhere)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Plan.Reading().Dialect; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestFailingAbove: an endpoint is left out by the failure that takes its share above the bound, and not before.
func TestFailingAbove(t *testing.T) {
	tests := []struct {
		name, text string
		want       int // failures on end
	}{
		{"as usual", `{}`, 6},
		{"above 0.6", `{"failing": {"above": 0.6}}`, 7},
		{"above none", `{"failing": {"above": 0}}`, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			s := state.New(c.Plan.StateOptions())
			s.SetEndpoints([]uint64{1, 2})
			pool := &scoring.Pool{State: s}
			for i, name := range []string{"a", "b"} {
				pool.Endpoints = append(pool.Endpoints, scoring.Endpoint{Index: i, StateIndex: i, Name: name})
			}
			c.Plan.Prepare(pool)
			candidates := func() map[string]bool {
				left := map[string]bool{}
				for seed := range uint64(32) {
					cycle := scoring.NewCycle(seed)
					cycle.Request.Headers = make([]string, len(c.Plan.RequestHeaders()))
					cycle.Pool = pool
					endpoints, failure := c.Plan.Decide(cycle)
					if failure != nil {
						t.Fatal(failure.Message)
					}
					left[endpoints[0].Name] = true
				}
				return left
			}
			got := 0
			for candidates()["a"] && got < 20 {
				got++
				s.Apply(&journal.Event{Kind: journal.Completion, Primary: 1, Status: 500})
			}
			if got != test.want {
				t.Errorf("left out after %d failures, want %d", got, test.want)
			}
		})
	}
}

// TestClosed: which requests are refused by their headers alone, and how.
func TestClosed(t *testing.T) {
	inference, helper := openai.Operation{Kind: openai.KindInference}, openai.Operation{Kind: openai.KindHelper}
	management, form := openai.Operation{Kind: openai.KindManagement}, openai.Operation{Kind: openai.KindForm}
	other := openai.Operation{}
	tests := []struct {
		name, text, method string
		operation          openai.Operation
		encoded            bool
		status             int
		reason             string
	}{
		{"inference", `{}`, "POST", inference, false, 0, ""},
		{"a tunnel", `{}`, "CONNECT", inference, false, 405, "connect"},
		{"a tunnel, whatever passes", `{"management": "pass", "unreadable": "pass"}`, "CONNECT", management, true, 405,
			"connect"},
		{"management", `{}`, "POST", management, false, 403, "management_path"},
		{"management, read alone", `{}`, "GET", management, false, 403, "management_path"},
		{"management passed", `{"management": "pass"}`, "POST", management, false, 0, ""},
		{"encoded", `{}`, "POST", inference, true, 415, "encoded_body"},
		{"encoded, of a helper", `{}`, "POST", helper, true, 415, "encoded_body"},
		{"encoded, passed", `{"unreadable": "pass"}`, "POST", inference, true, 0, ""},
		{"encoded, read alone", `{}`, "GET", inference, true, 0, ""},
		{"encoded form", `{}`, "POST", form, true, 0, ""},
		{"encoded, of anything else", `{}`, "POST", other, true, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			got := c.Closed(test.method, test.operation, test.encoded)
			if got == nil {
				got = &scoring.Failure{}
			}
			silent := got.Message == ""
			if int(got.Status) != test.status || got.Reason != test.reason || silent != (test.reason == "") {
				t.Errorf("got %d %q %q, want %d %q", got.Status, got.Reason, got.Message, test.status, test.reason)
			}
		})
	}
}

// TestNowhereToFailOver: who has Envoy fail over is told where pickers leave it nowhere to go.
func TestNowhereToFailOver(t *testing.T) {
	const told = "destination: override-host has nowhere to fail over to, as no picker names more than one endpoint; " +
		"give pickers maxNumOfEndpoints: 3"
	const several = `{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 2}}`
	for _, tc := range []struct{ name, destination, plugins, want string }{
		{"one address", "original-dst", `{"type": "queue-scorer"}`, ""},
		{"a list of one", "override-host", `{"type": "queue-scorer"}`, told},
		{"a list of several", "override-host", `{"type": "queue-scorer"}, ` + several, ""},
	} {
		config, err := Parse([]byte(`{"destination": "` + tc.destination + `", "config": {"plugins": [` + tc.plugins + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(config.Warnings(), "\n"); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
