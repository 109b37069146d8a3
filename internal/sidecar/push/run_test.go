package push

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/snapshot"
)

// told is what an Envoy was told: a record's kinds, and the position.
type told struct {
	kinds    string
	position snapshot.Position
}

// read reads a message.
func read(t *testing.T, body []byte) (m told) {
	for len(body) > 0 {
		record, n, err := snapshot.Next(body)
		if err != nil {
			t.Errorf("got %v, want a message", err)
			return m
		}
		m.kinds += map[snapshot.Kind]string{snapshot.KindTopology: "topology ", snapshot.KindLoad: "load"}[record.Kind]
		m.position, body = record.Position, body[n:]
	}
	return m
}

// TestRun: an Envoy is told the topology until it has taken it, and again after it has failed, under positions of which
// each is above the one before, with the token. Its answers say what it is and wants; one that sends elsewhere is not
// followed.
func TestRun(t *testing.T) {
	type answer struct {
		status int
		header string
	}
	taken := answer{status: http.StatusNoContent}
	for _, test := range []struct {
		name    string
		answers []answer // the last one from then on
		want    []string // the records of each message
		result  string
		wants   bool // models
		filter  string
	}{
		{"taken", []answer{taken}, []string{"topology load", "load", "load"}, "accepted", false, ""},
		{"refused in between", []answer{taken, {http.StatusServiceUnavailable, ""}, taken},
			[]string{"topology load", "load", "topology load", "load"}, "accepted", false, ""},
		{"elsewhere", []answer{{http.StatusTemporaryRedirect, "Location: /elsewhere"}}, []string{"topology load"},
			"status_307", false, ""},
		{"wants models", []answer{{http.StatusNoContent, "X-Pintle-Wants: models"}}, []string{"topology load", "load"},
			"accepted", true, ""},
		{"wants something else", []answer{{http.StatusNoContent, "X-Pintle-Wants: more"}},
			[]string{"topology load", "load"}, "accepted", false, ""},
		{"says its version", []answer{{http.StatusNoContent, "X-Pintle-Version: " + strings.Repeat("v", 100)}},
			[]string{"topology load", "load"}, "accepted", false, strings.Repeat("v", 64)},
	} {
		t.Run(test.name, func(t *testing.T) {
			pushes, wanted := make(chan told, 1000), make(chan struct{}, 1000)
			answers := test.answers
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || r.URL.Path != config.IngestPath || r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("got %v at %s with %q, want the token at %s", err, r.URL, r.Header, config.IngestPath)
				}
				pushes <- read(t, body)
				if name, value, ok := strings.Cut(answers[0].header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(answers[0].status)
				answers = answers[min(1, len(answers)-1):]
			}))
			defer server.Close()
			pl := pool.New(slog.New(slog.DiscardHandler), engine.Known, nil)
			pl.Learned(t.Context())
			token, err := NewToken(&config.Config{Token: "secret"})
			if err != nil {
				t.Fatal(err)
			}
			p := &Pusher{Ingest: config.Ingest{Name: "envoy", URL: server.URL + config.IngestPath}, Token: token,
				Interval: time.Millisecond, Pool: pl, Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(pl),
				WantsModels: func() { wanted <- struct{}{} }}
			began := uint64(time.Now().UnixNano())
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); p.Run(ctx) }()
			defer func() { cancel(); <-ended }()
			var last snapshot.Position
			for i, want := range test.want {
				m := <-pushes
				if m.kinds != want {
					t.Errorf("message %d: got %q, want %q", i, m.kinds, want)
				}
				if m.position.Epoch < began || m.position.Sequence <= last.Sequence {
					t.Errorf("message %d: got the position %+v, want one above %+v, of an epoch from %d on", i,
						m.position, last, began)
				}
				last = m.position
			}
			harness.WaitFor(t, time.Minute, test.result, func() (bool, string) {
				return p.Now().Result == test.result, p.Now().Result
			})
			if state := p.Now(); state.Filter != test.filter {
				t.Errorf("got the version %q, want %q", state.Filter, test.filter)
			}
			if got := len(wanted) > 0; got != test.wants {
				t.Errorf("it wants models: %v, want %v", got, test.wants)
			}
		})
	}
}

// TestTokenFile: a file without a token ends the start, and one that comes later leaves the last token in use.
func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &config.Config{TokenFile: path}
	if _, err := NewToken(c); err == nil {
		t.Error("got a token of no file, want an error")
	}
	write("first\n")
	token, err := NewToken(c)
	if err != nil || token.Get() != "first" {
		t.Fatalf("got %v, %v, want the token first", token, err)
	}
	var log harness.Log
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); token.Watch(ctx, path, slog.New(slog.NewTextHandler(&log, nil))) }()
	defer func() { cancel(); <-ended }()
	for _, step := range []struct{ text, want, says string }{
		{"second", "second", ""},
		{"two words", "second", "token file unusable; the last token stays in use"},
		{"third\n", "third", ""},
	} {
		write(step.text)
		harness.WaitFor(t, time.Minute, step.want, func() (bool, string) {
			return token.Get() == step.want && strings.Contains(log.String(), step.says), log.String()
		})
	}
	if strings.Contains(log.String(), "two words") {
		t.Errorf("the log tells what is in the file: %s", log.String())
	}
}

// TestAtOnce: a full message that an Envoy asks for leaves at once, whether anything has changed or not.
func TestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		pl := pool.New(log, engine.Known, nil)
		pl.Learned(t.Context()) // of no sources, so that there is something to push
		p := &Pusher{Interval: time.Hour, Pool: pl, Log: log, Metrics: metrics.New(pl), topology: 7}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var pushes []time.Time
		p.run(ctx, func(_ context.Context, now time.Time) outcome {
			if pushes = append(pushes, now); len(pushes) == 2 {
				cancel()
				if p.topology != 0 {
					t.Error("the topology counts as known, want a full message")
				}
			}
			return outcome{result: "unknown_topology", err: errors.New("unknown"), again: true}
		})
		if len(pushes) != 2 || !pushes[1].Equal(pushes[0]) {
			t.Errorf("pushed at %v, want twice at one moment", pushes)
		}
	})
}

// roundTripper answers in an Envoy's place.
type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestStuckWorker: where one of an Envoy's two workers stands still, and every second push comes to it, the other one's
// samples are not stale.
func TestStuckWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		pl := pool.New(log, engine.Known, nil)
		pl.Learned(t.Context()) // of no sources, so that there is something to push
		token, err := NewToken(&config.Config{Token: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		pushes, last, oldest := 0, time.Now(), time.Duration(0)
		client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if pushes++; pushes%2 == 0 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			oldest, last = max(oldest, time.Since(last)), time.Now()
			if pushes > 20 {
				cancel()
			}
			return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
		})}
		p := &Pusher{Interval: time.Millisecond, Token: token, Pool: pl, Log: log, Metrics: metrics.New(pl),
			client: client}
		p.run(ctx, p.push)
		if most := time.Second; oldest > most {
			t.Errorf("the other worker heard nothing for %v, want %v at most", oldest, most)
		}
	})
}
