package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// kills is what can be killed around exact prefix caches.
type kills struct {
	*caches
	valkey *harness.Valkey
	// here is the sidecar that is asked, there another one, which feeds nobody but a stand-in at other.
	here, there *harness.Sidecar
	other       string
}

func (k *kills) startHere() {
	k.here = k.follow(exactly(k.valkey, "here"), k.URL("ingest", harness.IngestPath), k.prefix)
}

func (k *kills) startThere() {
	k.there = k.follow(exactly(k.valkey, "there"), k.other, "127.0.0.1:0")
}

// steady is a load of the same few requests again and again.
type steady struct {
	bodies  []string
	stopped atomic.Bool
	served  atomic.Int64
	tasks   sync.WaitGroup

	mu   sync.Mutex
	lost []string
	// took is how long answers took since the last lap.
	took []time.Duration
}

// start has clients send.
func (l *steady) start(t *testing.T, clients int, url string) {
	for n := range clients {
		client := harness.Client(t, false)
		l.tasks.Go(func() {
			for i := n; !l.stopped.Load(); i++ {
				l.send(client, url, l.bodies[i%len(l.bodies)])
			}
		})
	}
	t.Cleanup(l.stop)
}

func (l *steady) stop() {
	l.stopped.Store(true)
	l.tasks.Wait()
}

func (l *steady) send(client *http.Client, url, body string) {
	began := time.Now()
	response, err := client.Post(url, "application/json", strings.NewReader(body))
	failure := fmt.Sprint(err)
	if err == nil {
		text, readErr := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK && readErr == nil {
			l.served.Add(1)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.took = append(l.took, time.Since(began))
			return
		}
		failure = fmt.Sprintf("%s, %v, %s", response.Status, readErr, text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lost) < 10 {
		l.lost = append(l.lost, failure)
	}
}

// lap is how long answers took since the last one, from the shortest on.
func (l *steady) lap() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	took := l.took
	l.took = nil
	slices.Sort(took)
	return took
}

// more waits until further requests have been served.
func (l *steady) more(t *testing.T, n int64) {
	t.Helper()
	begun := l.served.Load()
	harness.WaitFor(t, time.Minute, "requests to be served", func() (bool, string) {
		return l.served.Load() >= begun+n, fmt.Sprint(l.served.Load() - begun)
	})
}

// survivesKills: neither sidecar, nor Valkey, nor a server's publisher costs a request when it dies under load, and
// when it is back the index says again what the caches hold.
func survivesKills(t *testing.T, k *kills) {
	const most = time.Second // with PINTLE_BARS, until the index is true again
	l := &steady{}
	for i := range 12 {
		l.bodies = append(l.bodies, chatOf(fmt.Sprint("prompt ", i, strings.Repeat(" of twelve", 40))))
	}
	idle := chatOf("nobody sends this under load" + strings.Repeat(" at all", 40))
	for i, s := range k.servers {
		k.tell(s, chatPath, l.bodies[i]) // so that each server has something
		k.tell(s, chatPath, idle)
	}
	all := append([]string{idle}, l.bodies...)
	k.wantTruth(all...)
	l.start(t, 4, k.URL("requests", chatPath))
	l.more(t, 100)
	k.wantTruth(all...)
	for _, kill := range []struct {
		name         string
		strike, mend func()
	}{
		{"the sidecar that is asked", func() { k.here.Kill() }, k.startHere},
		{"the other sidecar, which misses that a cache is cleared", func() {
			k.there.Kill()
			k.tell(k.servers[2], "/sim/events", `{"fault":"clear"}`)
		}, k.startThere},
		{"Valkey", k.valkey.Kill, func() {
			if err := k.valkey.Start(); err != nil {
				t.Fatal(err)
			}
		}},
		{"a publisher, which begins anew at once", func() {}, func() {
			k.tell(k.servers[0], "/sim/events", `{"fault":"restart"}`)
		}},
	} {
		kill.strike()
		l.more(t, 100)
		kill.mend()
		harness.WaitFor(t, 30*time.Second, "the sidecar to answer", func() (bool, string) {
			_, ok := k.holders(l.bodies[0])
			return ok, ""
		})
		took := k.wantTruth(all...)
		t.Logf("%s: the index is true again after %v", kill.name, took)
		if harness.Bars() && took > most {
			t.Errorf("%s: the index is true again after %v, want at most %v", kill.name, took, most)
		}
	}
	l.more(t, 100)
	l.stop()
	for _, lost := range l.lost {
		t.Errorf("a request was lost: %s", lost)
	}
	t.Logf("%d requests served", l.served.Load())
}
