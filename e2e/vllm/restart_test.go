//go:build vllm && linux

package vllm

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// grace is how long after a server's death requests may still fail.
const grace = 2 * time.Second

// TestKilledEngine: an engine that dies under load costs the requests that it had and those of a moment after, with the
// configurations for Envoy as they are shipped. It costs none while it is away nor when it comes back, and then gets
// requests again.
func TestKilledEngine(t *testing.T) {
	b := engines[1]
	if b.cmd == nil {
		t.Skip("the engines are not the tests' own")
	}
	var loads []*steadyLoad
	var ingest []string
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		f := startFile(t, name)
		loads, ingest = append(loads, shortRequests(f)), append(ingest, f.ingest)
	}
	startSidecar(t, nil, fileToken, ingest...)
	for _, l := range loads {
		l.start(t)
	}
	for _, l := range loads {
		l.wantServedBy(t, b, "before it dies")
	}
	killed := time.Now()
	b.kill()
	time.Sleep(grace + 8*time.Second)
	if err := b.launch(); err != nil {
		t.Fatal(err)
	}
	if err := b.await(); err != nil {
		t.Fatal(err)
	}
	t.Logf("engine %s is back after %v", b.name, time.Since(killed).Round(time.Second))
	for _, l := range loads {
		l.wantServedBy(t, b, "when it is back")
	}
	for _, l := range loads {
		l.end()
		l.wantFailuresWithin(t, killed, grace)
	}
}

// steadyLoad sends requests one after another.
type steadyLoad struct {
	file
	// workers send at the same time, each with a pause between its requests. body is the one number i of a worker's.
	workers int
	pause   time.Duration
	body    func(i, worker int) string
	ended   atomic.Bool
	running sync.WaitGroup

	mu       sync.Mutex
	served   int
	failures []failure
}

type failure struct {
	began, ended time.Time
	err          error
}

// shortRequests come with hardly a pause.
func shortRequests(f file) *steadyLoad {
	return &steadyLoad{file: f, workers: 4, pause: 20 * time.Millisecond, body: func(i, worker int) string {
		return chat(model, fmt.Sprintf("%s, %d of %d", f.name, i, worker), 4, false)
	}}
}

func (l *steadyLoad) start(t *testing.T) {
	for worker := range l.workers {
		client := harness.Client(t, false)
		l.running.Go(func() {
			for i := 0; !l.ended.Load(); i++ {
				began := time.Now()
				err := ask(client, l.base, l.body(i, worker))
				l.note(failure{began, time.Now(), err})
				time.Sleep(l.pause)
			}
		})
	}
	t.Cleanup(l.end)
}

func (l *steadyLoad) note(f failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.err == nil {
		l.served++
	} else {
		l.failures = append(l.failures, f)
	}
}

func (l *steadyLoad) end() {
	l.ended.Store(true)
	l.running.Wait()
}

// wantServedBy waits until an engine answers requests of this load.
func (l *steadyLoad) wantServedBy(t *testing.T, e *engine, when string) {
	t.Helper()
	first := ""
	harness.WaitFor(t, 30*time.Second, fmt.Sprintf("%s to send requests to engine %s %s", l.name, e.name, when),
		func() (bool, string) {
			text, err := l.Admin("/clusters")
			if err != nil {
				t.Fatal(err)
			}
			_, served, _ := strings.Cut(text, "::"+e.address+"::rq_success::")
			served, _, _ = strings.Cut(served, "\n")
			if first == "" {
				first = served
			}
			return served != first && served != "0", served
		})
}

// wantFailuresWithin checks that whatever failed had begun before the grace was over.
func (l *steadyLoad) wantFailuresWithin(t *testing.T, killed time.Time, grace time.Duration) {
	t.Helper()
	last := time.Duration(0)
	for _, f := range l.failures {
		switch after := f.began.Sub(killed); {
		case f.ended.Before(killed):
			t.Errorf("%s: a request failed before the engine was killed: %v", l.name, f.err)
		case after > grace:
			t.Errorf("%s: a request that began %v after the engine was killed failed: %v", l.name, after, f.err)
		default:
			last = max(last, after)
		}
	}
	t.Logf("%s: %d requests served, %d failed, the last of these begun %v after the engine was killed", l.name,
		l.served, len(l.failures), last)
}
