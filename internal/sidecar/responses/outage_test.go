package responses

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// failingBackend fails while it has a failure.
type failingBackend struct {
	Backend
	failure error
}

func (f *failingBackend) Get(ctx context.Context, key string) (*Entry, error) {
	if f.failure != nil {
		return nil, f.failure
	}
	return f.Backend.Get(ctx, key)
}

func (f *failingBackend) Put(ctx context.Context, e *Entry) error {
	if f.failure != nil {
		return f.failure
	}
	return f.Backend.Put(ctx, e)
}

// TestOutages: a store that fails is said to once, however many requests meet it, and once to work again. In between
// its trouble says why, until it has done for a while what it was asked.
func TestOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, memoryOf(100, 1<<20))
		var log bytes.Buffer
		c.s.log = slog.New(slog.NewTextHandler(&log, nil))
		backend := &failingBackend{Backend: c.s.backend}
		c.s.backend = backend
		wantTrouble := func(when, want string) {
			t.Helper()
			if got := c.s.Trouble(); got != want {
				t.Errorf("%s: trouble %q, want %q", when, got, want)
			}
		}
		if status := c.store("", `"a"`, answer("r1", "b")); status != 204 {
			t.Fatalf("got %d, want 204", status)
		}
		wantTrouble("before", "")

		backend.failure = errors.New("redis: gone")
		for range 3 {
			c.want(503, "GET", "history/r1")
			if status := c.store("", `"a"`, answer("r2", "b")); status != 503 {
				t.Errorf("got %d, want 503", status)
			}
		}
		time.Sleep(time.Minute)
		wantTrouble("a minute later", "responses: the store fails, the last time 1m0s ago: redis: gone")

		backend.failure = nil
		c.want(200, "GET", "history/r1")
		wantTrouble("as soon as it works", "responses: the store fails, the last time 1m0s ago: redis: gone")
		time.Sleep(steadyAfter)
		wantTrouble("when nobody asks any more", "")
		c.want(404, "GET", "history/r2")
		wantTrouble("after", "")

		want := []string{`level=WARN msg="the store of responses fails" error="redis: gone"`,
			`level=INFO msg="the store of responses works again" failures=6 for=10s`}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != len(want) {
			t.Fatalf("logged %d lines, want %d:\n%s", len(lines), len(want), log.String())
		}
		for i, line := range lines {
			if !strings.HasSuffix(line, want[i]) {
				t.Errorf("line %d of the log is %s, want %s", i, line, want[i])
			}
		}
	})
}

// TestOutageThatStoringEnds: a store that is asked for nothing but to store is said to work again, too.
func TestOutageThatStoringEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, memoryOf(100, 1<<20))
		var log bytes.Buffer
		c.s.log = slog.New(slog.NewTextHandler(&log, nil))
		backend := &failingBackend{Backend: c.s.backend, failure: errors.New("redis: gone")}
		c.s.backend = backend
		for _, want := range []int{503, 204, 204} {
			if status := c.store("", `"a"`, answer("r1", "b")); status != want {
				t.Errorf("got %d, want %d", status, want)
			}
			backend.failure = nil
			time.Sleep(steadyAfter)
		}
		if got := log.String(); !strings.Contains(got, "the store of responses works again") || c.s.Trouble() != "" {
			t.Errorf("logged %q, with the trouble %q, want that it works again", got, c.s.Trouble())
		}
	})
}

// TestWhoLeavesSeesNoOutage: a request whose client has left fails, and the store does not.
func TestWhoLeavesSeesNoOutage(t *testing.T) {
	c := open(t, memoryOf(100, 1<<20))
	ctx, leave := context.WithCancel(t.Context())
	leave()
	c.s.backend = &failingBackend{Backend: c.s.backend, failure: ctx.Err()}
	r := httptest.NewRequestWithContext(ctx, "GET", "/pintle/v1/history/r1", nil)
	r.Header.Set("Authorization", "Bearer token")
	c.s.ServeHTTP(httptest.NewRecorder(), r)
	if got := c.s.Trouble(); got != "" {
		t.Errorf("got the trouble %q, want none", got)
	}
}

// TestUnwritten: a Redis that takes nothing back is said to once, however many entries the second tier is read for, and
// whether it is gone or lets all wait.
func TestUnwritten(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	silent, err := net.Listen("tcp4", "127.0.0.1:0") // whose connections nobody takes
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	defer func(d time.Duration) { redisTimeout = d }(redisTimeout)
	redisTimeout = 50 * time.Millisecond
	for _, test := range []struct {
		name string
		at   net.Addr
	}{{"gone", gone.Listener.Addr()}, {"silent", silent.Addr()}} {
		t.Run(test.name, func(t *testing.T) {
			r, err := newRemote(scoring.StoreRedis{Addresses: []string{test.at.String()}}, newMetrics())
			if err != nil {
				t.Fatal(err)
			}
			defer r.client.Close()
			var log bytes.Buffer
			tiers := &tiered{remote: r, log: slog.New(slog.NewTextHandler(&log, nil))}
			left, leave := context.WithCancel(t.Context())
			leave()
			tiers.writeBack(left, "key", []byte("value"), time.Hour)
			if got := log.String(); got != "" {
				t.Errorf("logged %q of a client that has left, want nothing", got)
			}
			for range 3 {
				tiers.writeBack(t.Context(), "key", []byte("value"), time.Hour)
			}
			const want = `level=WARN msg="entries of the second tier cannot be written back to redis" error=`
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
				t.Errorf("logged %q, want one line with %s", got, want)
			}
		})
	}
}

// TestOutageAfterAnotherThatNobodySawEnd: after a success and then no request for long, the next failure is the first
// one of another outage.
func TestOutageAfterAnotherThatNobodySawEnd(t *testing.T) {
	start := time.Now()
	for _, test := range []struct {
		name  string
		quiet time.Duration
		first bool
	}{
		{"soon after the success", steadyAfter - 1, false},
		{"long after", steadyAfter, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var o outage
			o.failed("gone", start)
			o.succeeded(start)
			now := start.Add(test.quiet)
			if ended := o.trouble(now) == ""; ended != test.first {
				t.Errorf("ended: %v, want %v", ended, test.first)
			}
			if got := o.failed("gone", now); got != test.first {
				t.Errorf("the first failure: %v, want %v", got, test.first)
			}
		})
	}
}
