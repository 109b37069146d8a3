package admin

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/traffic"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// TestDecisions: the status page asks for the decisions since one of them, and for one with all that is known of it.
// What is no number, and a decision that is not there, is said to be.
func TestDecisions(t *testing.T) {
	p := pool.New(slog.New(slog.DiscardHandler), engine.Known, nil)
	tr := traffic.New(traffic.Options{})
	for lease := range uint32(3) {
		tr.Take(&follow.Event{Event: &journal.Event{Kind: journal.Decision, Instance: 1, Lease: lease + 1, Time: 1},
			Envoy: "envoy", Names: follow.NamesOf(nil, nil)})
	}
	a := &Admin{Pool: p, Traffic: tr, Metrics: metrics.New(p), Config: &config.Config{}, Recorder: &Recorder{},
		Log: slog.New(slog.DiscardHandler)}
	h := a.Handler()
	get := func(path string) (int, string) {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer.Code, strings.TrimSpace(answer.Body.String())
	}
	_, text := get("/decisions")
	var all traffic.Changed
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all.Decisions) != 3 {
		t.Fatalf("got %s, %v, want three decisions", text, err)
	}
	for _, test := range []struct {
		name, path string
		status     int
		want       string // in the answer
	}{
		{"since none", "/decisions?since=0", http.StatusOK, `"decisions":[{`},
		{"of which process", "/decisions?since=3", http.StatusOK, `{"process":"20`},
		{"since a text", "/decisions?since=x", http.StatusBadRequest, "since: a number is right"},
		{"since nothing", "/decisions?since=", http.StatusBadRequest, "since: a number is right"},
		{"one", "/decisions/1", http.StatusOK, `"id":1`},
		{"one that is not there", "/decisions/99", http.StatusNotFound, "the decision is no longer there"},
		{"a text", "/decisions/x", http.StatusBadRequest, "the number of a decision is right"},
		{"plots", "/plots", http.StatusOK, "{"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if status, got := get(test.path); status != test.status || !strings.Contains(got, test.want) {
				t.Errorf("got %d %s, want %d with %s", status, got, test.status, test.want)
			}
		})
	}
}

// TestDescribeTime: times are told in milliseconds with a tenth, and how far off they were with three digits.
func TestDescribeTime(t *testing.T) {
	got := describeTime(state.Accuracy{Predicted: 0.12344, Actual: 0.2, Error: 0.38285, Samples: 1})
	if want := (timeBody{PredictedMs: 123.4, ActualMs: 200, Error: 0.383}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestWhereResponsesAre: the status says where conversations are kept.
func TestWhereResponsesAre(t *testing.T) {
	for _, test := range []struct {
		name    string
		backend scoring.StoreBackend
		want    string
	}{
		{"in memory", scoring.StoreBackend{}, "in memory, at 127.0.0.1:1"},
		{"one tier", scoring.StoreBackend{Tiered: &scoring.StoreTiers{}}, "in redis, at 127.0.0.1:1"},
		{"two tiers", scoring.StoreBackend{Tiered: &scoring.StoreTiers{Mongo: &scoring.StoreMongo{}}},
			"in redis and behind it in mongo, at 127.0.0.1:1"},
	} {
		c := &config.Config{Responses: &config.Responses{Backend: test.backend, Address: "127.0.0.1:1"}}
		if got := describeConfig(c).Responses; got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
