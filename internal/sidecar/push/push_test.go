package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestWhatARefusalMeans(t *testing.T) {
	const code = `{"error":{"code":"%s","message":"m"},"current":{"epoch":7,"sequence":1}}`
	tests := []struct {
		name   string
		status int
		body   string
		result string
		waits  [3]time.Duration // after one, two and ten failures
		says   string
	}{
		{"older", 409, fmt.Sprintf(code, "older"), "older", [3]time.Duration{0, 100 * time.Millisecond, time.Second},
			"older m"},
		{"unknown topology", 409, fmt.Sprintf(code, "unknown_topology"), "unknown_topology",
			[3]time.Duration{0, 100 * time.Millisecond, time.Second}, "unknown_topology"},
		{"another conflict", 409, fmt.Sprintf(code, "x"), "status_409",
			[3]time.Duration{50 * time.Millisecond, 100 * time.Millisecond, time.Second}, "x m"},
		{"server error", 503, "", "status_503",
			[3]time.Duration{50 * time.Millisecond, 100 * time.Millisecond, time.Second}, "503"},
		{"wrong token", 401, fmt.Sprintf(code, "unauthorized"), "status_401",
			[3]time.Duration{500 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond}, "unauthorized"},
		{"an older filter", 400, fmt.Sprintf(code, "unsupported_version"), "status_400",
			[3]time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second},
			"unsupported_version: its filter reads no snapshots of version 2; upgrade the filter"},
		{"no plug-in", 404, "", "status_404", [3]time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second},
			"buffer filter"},
		{"no plug-in, and no server known", 503, fmt.Sprintf(code, "no_endpoints"), "status_503",
			[3]time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second}, "it lacks the plug-in with this port"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &Pusher{}
			response := &http.Response{StatusCode: test.status,
				Status: fmt.Sprint(test.status, " ", http.StatusText(test.status))}
			o := p.refused(response, []byte(test.body))
			if o.result != test.result || !strings.Contains(o.err.Error(), test.says) {
				t.Errorf("got %q, %v, want %q and %q", o.result, o.err, test.result, test.says)
			}
			for i, failures := range []int{1, 2, 10} {
				if got := o.wait(failures); got != test.waits[i] {
					t.Errorf("wait after %d failures: got %v, want %v", failures, got, test.waits[i])
				}
			}
			if wantEpoch := uint64(8); test.result == "older" && p.position.Epoch != wantEpoch {
				t.Errorf("epoch: got %d, want %d", p.position.Epoch, wantEpoch)
			}
		})
	}
	absent := outcome{result: "connect"}
	if got := absent.wait(10); got != connectBackoff {
		t.Errorf("wait for a listener that is not there: got %v, want %v", got, connectBackoff)
	}
}

func TestHealth(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name  string
		state State
		want  string // in the reason; empty is healthy
	}{
		{"never", State{}, "last accepted push: never"},
		{"just now", State{Accepted: now}, ""},
		{"within", State{Accepted: now.Add(-5 * time.Second), Failure: "refused"}, ""},
		{"too long ago", State{Accepted: now.Add(-5*time.Second - time.Millisecond)}, "last accepted push: 5.001s ago"},
		{"too long ago, failing", State{Accepted: now.Add(-time.Minute), Failure: "refused"},
			"1m0s ago; last failure: refused"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &Pusher{Ingest: config.Ingest{Name: "http://a"}, state: test.state}
			got := p.Health(now, 5*time.Second)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A sidecar that is replaced loses its turn once or twice; only one that stays takes it again and again.
func TestRivals(t *testing.T) {
	start := time.Now()
	var r rivals
	for i := range rivalTurns {
		if r.any(start) {
			t.Fatalf("got a rival after %d turns, want none before %d", i, rivalTurns)
		}
		r.turn(start.Add(time.Duration(i) * time.Second))
	}
	if now := start.Add(rivalTurns * time.Second); !r.any(now) {
		t.Errorf("got no rival after %d turns, want one", rivalTurns)
	}
	if later := start.Add(rivalWindow); r.any(later) {
		t.Error("got a rival that has been silent, want none")
	}
	p := &Pusher{Log: slog.New(slog.DiscardHandler), position: snapshot.Position{Epoch: 5}}
	p.outranked(math.MaxUint64)
	if p.position.Epoch != 5 {
		t.Errorf("epoch behind one that has none above it: got %d, want 5", p.position.Epoch)
	}
}

// TestTurns: of two sidecars that take turns the log says so once, and once that they do no more.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		pl := pool.New(slog.New(slog.DiscardHandler), engine.Known, nil)
		p := &Pusher{Log: slog.New(slog.NewTextHandler(&log, nil)), Metrics: metrics.New(pl)}
		turn := func() {
			p.record(outcome{result: "accepted"}, 0)
			time.Sleep(heartbeat)
			p.rivals.turn(time.Now())
			p.record(outcome{result: older, err: errors.New("older"), again: true}, 0)
		}
		for range rivalTurns {
			turn()
		}
		const line = "the two take turns"
		if got := strings.Count(log.String(), line); got != 1 {
			t.Fatalf("got %d lines with %q, want 1:\n%s", got, line, log.String())
		}
		log.Reset()
		for range 100 {
			turn()
		}
		if log.Len() > 0 {
			t.Errorf("got lines of turns that are known, want none:\n%s", log.String())
		}
		time.Sleep(rivalWindow)
		p.record(outcome{result: "accepted"}, 0)
		if got, want := log.String(), "no other sidecar feeds this Envoy any more"; !strings.Contains(got, want) {
			t.Errorf("got %q, want a line with %q", got, want)
		}
	})
}

// TestNowAndThen: of pushes of which some fail, as where one of an Envoy's workers stands still, the log says so once,
// and once what has become of it.
func TestNowAndThen(t *testing.T) {
	tests := []struct {
		name, ends string // how it ends, and what is said of that
		last       outcome
	}{
		{"they go well again", `level=INFO msg="push accepted"`, outcome{result: "accepted"}},
		{"all of them fail", `level=WARN msg="push failed"`, outcome{result: "timeout", err: errors.New("late")}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				pl := pool.New(slog.New(slog.DiscardHandler), engine.Known, nil)
				p := &Pusher{Log: slog.New(slog.NewTextHandler(&log, nil)), Metrics: metrics.New(pl)}
				both := func(times int) {
					for range times {
						p.record(outcome{result: "accepted"}, 0)
						time.Sleep(heartbeat)
						p.record(outcome{result: "timeout", err: errors.New("late")}, 0)
						time.Sleep(pushTimeout)
					}
				}
				want := func(lines ...string) {
					t.Helper()
					got := strings.Split(strings.TrimSpace(log.String()), "\n")
					for i, line := range lines {
						if len(got) != len(lines) || !strings.Contains(got[i], line) {
							t.Fatalf("got %q, want %q", got, lines)
						}
					}
					log.Reset()
				}
				both(100)
				want(`level=INFO msg="push accepted"`, `level=WARN msg="push failed"`, `level=INFO msg="push accepted"`,
					`level=WARN msg="pushes fail now and then"`)
				for range 2 * steadyFor / time.Second {
					p.record(tc.last, 0)
					time.Sleep(time.Second)
				}
				want(tc.ends)
			})
		})
	}
}

// TestFirstPush: an Envoy is told nothing before all sources have been read, and all soon after.
func TestFirstPush(t *testing.T) {
	for _, after := range []time.Duration{heartbeat / 2, 3*heartbeat + heartbeat/2} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := slog.New(slog.DiscardHandler)
				pl := pool.New(log, engine.Known, nil)
				p := &Pusher{Interval: 10 * time.Millisecond, Pool: pl, Log: log, Metrics: metrics.New(pl),
					wake: pl.Watch()}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				time.AfterFunc(after, func() { pl.Learned(ctx) })
				var pushed time.Time
				p.run(ctx, func(_ context.Context, now time.Time) outcome {
					pushed = now
					cancel()
					return outcome{result: "accepted"}
				})
				if got, want := pushed.Sub(began), after+gathering; got != want {
					t.Errorf("pushed after %v, want %v", got, want)
				}
			})
		})
	}
}
