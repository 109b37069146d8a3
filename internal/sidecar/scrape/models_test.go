package scrape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// What one server lists is bounded: it goes into every snapshot.
func TestModelListsAreBounded(t *testing.T) {
	type model struct {
		ID     string `json:"id"`
		Parent string `json:"parent,omitempty"`
	}
	var body struct {
		Data []model `json:"data"`
	}
	for i := range 2 * maxModels {
		body.Data = append(body.Data, model{ID: fmt.Sprintf("adapter-%04d", 2*maxModels-1-i), Parent: "z-base"})
	}
	body.Data = append(body.Data, model{ID: ""}, model{ID: strings.Repeat("x", maxModelBytes+1)},
		model{ID: "z-base"}, model{ID: strings.Repeat("y", maxModelBytes)}, model{ID: "z-base"})
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	address, _ := scripted(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text), 0)
	f := newFetcher(t.Context(), address, nil)
	defer f.close()
	f.aim("/v1/models", 0)
	l := &modelLister{timeout: 1 << 40}
	var got []string
	base := 0
	for range 2 { // each time anew
		var failure *scrapeError
		if got, base, failure = l.list(t.Context(), f); failure != nil {
			t.Fatal(failure)
		}
	}
	// The base models take the place of two adapters, and x is too long.
	if want := maxModels + 2 + 1; l.omitted != want {
		t.Errorf("%d names are left out, want %d", l.omitted, want)
	}
	if len(got) != maxModels || base != 2 || got[0] != strings.Repeat("y", maxModelBytes) || got[1] != "z-base" ||
		got[2] != "adapter-0000" {
		t.Errorf("got %d models, %d base ones, from %.20s, %.20s, %.20s, want %d, the two base models first", len(got),
			base, got[0], got[1], got[2], maxModels)
	}
}

// TestAdaptersOfSGLang: requests to SGLang name an adapter together with its base model, and in no other way.
func TestAdaptersOfSGLang(t *testing.T) {
	const models = `{"data": [{"id": "org/m", "owned_by": "%[1]s", "parent": null},
		{"id": "sql", "owned_by": "%[1]s", "root": "/sql", "parent": "org/m"}]}`
	for owner, want := range map[string]string{"sglang": "org/m org/m:sql", "vllm": "org/m sql"} {
		server := newServer(t, map[string]string{"/v1/models": fmt.Sprintf(models, owner)})
		f := newFetcher(t.Context(), server.address(), nil)
		defer f.close()
		f.aim("/v1/models", 0)
		got, base, failure := (&modelLister{timeout: time.Minute}).list(t.Context(), f)
		if failure != nil || strings.Join(got, " ") != want || base != 1 {
			t.Errorf("%s: got %q, %d base models, %v, want %s, one", owner, got, base, failure, want)
		}
	}
}

// TestNoModelsIsNotAnEmptyList: a server that answers without a list must not lose the one that it gave before.
func TestNoModelsIsNotAnEmptyList(t *testing.T) {
	for _, test := range []struct{ name, body, result string }{
		{"an error", `{"error": {"message": "not ready"}}`, "no_models"},
		{"nothing", `{"object": "list", "data": null}`, "no_models"},
		{"no object", `[]`, "no_models"},
		{"no JSON", `not ready`, "no_models"},
		{"an empty list", `{"object": "list", "data": []}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFetcher(t.Context(), newServer(t, map[string]string{"/v1/models": test.body}).address(), nil)
			defer f.close()
			f.aim("/v1/models", 0)
			_, _, failure := (&modelLister{timeout: time.Minute}).list(t.Context(), f)
			got := ""
			if failure != nil {
				got = failure.result
			}
			if got != test.result {
				t.Errorf("got the result %q (%v), want %q", got, failure, test.result)
			}
		})
	}
}

// TestModelsAreAskedForWithTheOwnSecret: whoever says how all lists are asked for leaves each endpoint its secret.
func TestModelsAreAskedForWithTheOwnSecret(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"common", "own"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name+"-secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	common := &topology.Access{TokenFile: filepath.Join(folder, "common")}
	own := &topology.Access{TokenFile: filepath.Join(folder, "own"), TokenHeader: "x-api-key"}
	for _, test := range []struct {
		name            string
		endpoint, lists *topology.Access
		header, want    string
	}{
		{"nothing is said of lists", own, nil, "x-api-key", "own-secret"},
		{"an own secret", own, common, "x-api-key", "own-secret"},
		{"scheme and certificates of lists alone", own, &topology.Access{}, "x-api-key", "own-secret"},
		{"the secret of all", common, common, "Authorization", "Bearer common-secret"},
		{"no secret", nil, &topology.Access{}, "Authorization", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := make(chan string, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got <- r.Header.Get(test.header)
				_, _ = io.WriteString(w, `{"data": []}`)
			}))
			t.Cleanup(server.Close)
			s := newTestScraper(t, engine.Known, server.Listener.Addr().String())
			s.target.Access = test.endpoint
			l := &modelLister{target: s.target, access: test.lists, every: time.Hour, timeout: time.Minute,
				sleep: pace.Sleep, log: s.Log, metrics: s.Metrics}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				l.run(ctx)
			}()
			if got := <-got; got != test.want {
				t.Errorf("got the header %s: %s, want %s", test.header, got, test.want)
			}
			cancel()
			<-ended
		})
	}
}

// TestModelsAreAskedForSoonerAfterAFailure: a server that is starting gets requests for its models soon, whatever the
// time between two looks.
func TestModelsAreAskedForSoonerAfterAFailure(t *testing.T) {
	for _, test := range []struct {
		name        string
		every, want time.Duration // between two looks, and after a failure
	}{
		{"seldom", 30 * time.Second, 2 * time.Second},
		{"more often than that", time.Second, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newServer(t, map[string]string{"/v1/models": `{"data": []}`})
			server.fails = http.StatusServiceUnavailable
			s := newTestScraper(t, engine.Known, server.address())
			ctx, cancel := context.WithCancel(t.Context())
			var waits []time.Duration
			l := &modelLister{target: s.target, every: test.every, timeout: time.Minute, changed: func() {}, log: s.Log,
				metrics: s.Metrics, sleep: func(_ context.Context, wait time.Duration) {
					if waits = append(waits, wait); len(waits) == 3 {
						cancel()
					}
					server.mu.Lock()
					defer server.mu.Unlock()
					server.fails = 0
				}}
			l.run(ctx)
			for i, want := range []time.Duration{test.want, test.every, test.every} {
				if got := waits[i]; got < want-want/20 || got > want+want/20 {
					t.Errorf("look %d: waits for %v, want some %v", i+1, got, want)
				}
			}
		})
	}
}

// TestOmittedModelsAreLoggedOnce: when an endpoint begins to list more than is taken, and when it no longer does.
func TestOmittedModelsAreLoggedOnce(t *testing.T) {
	var text strings.Builder
	l := &modelLister{target: &pool.Target{Name: "vllm-0"}, log: slog.New(slog.NewTextHandler(&text, nil))}
	for _, step := range []struct {
		omitted int
		says    string
	}{{0, ""}, {44, "WARN"}, {44, ""}, {45, ""}, {0, "INFO"}, {0, ""}, {1, "WARN"}} {
		text.Reset()
		l.omitted = step.omitted
		l.tellOmitted()
		lines, want := strings.Count(text.String(), "\n"), min(len(step.says), 1)
		if lines != want || !strings.Contains(text.String(), step.says) {
			t.Errorf("with %d names: got %q, want %d lines %s", step.omitted, text.String(), want, step.says)
		}
		if got := l.target.Now().ModelsOmitted; got != step.omitted {
			t.Errorf("%d names are said to be left out, want %d", got, step.omitted)
		}
	}
}

// TestHiddenModelsAreLoggedOnce: when an endpoint begins to hide its models, or to hide them otherwise, and when it no
// longer does.
func TestHiddenModelsAreLoggedOnce(t *testing.T) {
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	l := &modelLister{target: &pool.Target{Name: "vllm-0"}, log: log,
		metrics: metrics.New(pool.New(log, engine.Known, nil))}
	hides := &scrapeError{result: "unauthorized", err: errors.New("it answered 401")}
	starts := &scrapeError{result: "error", err: errors.New("connection refused")}
	for _, step := range []struct {
		err  *scrapeError
		says string // the level of the line
	}{{nil, ""}, {hides, "WARN"}, {hides, ""}, {nil, "INFO"}, {nil, ""}, {starts, "WARN"}, {starts, ""},
		{hides, "WARN"}, {starts, ""}, {hides, ""}, {nil, "INFO"}, {hides, "WARN"}} {
		text.Reset()
		l.record(step.err)
		lines, want := strings.Count(text.String(), "\n"), min(len(step.says), 1)
		if lines != want || !strings.Contains(text.String(), step.says) {
			t.Errorf("got %q, want %d lines %s", text.String(), want, step.says)
		}
		if got := l.target.Now().ModelsFailure != ""; got != (step.err != nil) {
			t.Errorf("it is said to hide its models: %v, want %v", got, step.err != nil)
		}
	}
}
