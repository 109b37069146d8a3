package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
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
	// valkey has the index; nil where it is in memory.
	valkey *harness.Valkey
	// here is the sidecar that is asked. There is another one, which feeds nobody but a stand-in at other and without
	// which the index knows nothing of servers[2]; it is where Valkey is.
	here, there *harness.Sidecar
	other       string
	load        steady
	// prompts are those whose blocks are watched: one that only this test sends, and those of the load.
	prompts []string
}

func (k *kills) startHere() {
	k.here = k.follow(exactly(k.valkey, "here"), k.URL("ingest", harness.IngestPath), k.prefix)
}

func (k *kills) startThere() {
	k.there = k.follow(exactly(k.valkey, "there"), k.other, "127.0.0.1:0")
}

// kill is one thing that dies, and comes back.
type kill struct {
	name string
	// clears is a server whose cache is cleared while it is dead.
	clears       *harness.Server
	strike, mend func()
}

func (k *kills) all() []kill {
	s := k.servers
	all := []kill{
		{"the sidecar that is asked", s[1], func() { k.here.Kill() }, k.startHere},
		{"a publisher", s[2], func() { k.tell(s[0], "/sim/events", `{"fault":"gone"}`) },
			func() { k.tell(s[0], "/sim/events", `{"fault":"restart"}`) }},
		{"a publisher, at once back", s[2], func() {},
			func() { k.tell(s[1], "/sim/events", `{"fault":"restart"}`) }},
	}
	if k.valkey == nil {
		return all
	}
	return append(all,
		kill{"the other sidecar", s[2], func() { k.there.Kill() }, k.startThere},
		kill{"Valkey", s[2], func() { k.valkey.Kill() }, func() {
			if err := k.valkey.Start(); err != nil {
				k.t.Fatal(err)
			}
		}})
}

// steady is a load of the same few requests again and again.
type steady struct {
	bodies []string
	// every is how much time there is for each; 0 sends as quickly as answers come.
	every   time.Duration
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
	wait := func() {}
	if l.every > 0 {
		ticker := time.NewTicker(l.every)
		t.Cleanup(ticker.Stop)
		wait = func() { <-ticker.C } // each of them is for one client
	}
	for n := range clients {
		client := harness.Client(t, false)
		l.tasks.Go(func() {
			for i := n; !l.stopped.Load(); i++ {
				wait()
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
	const (
		times = 3           // that each dies
		most  = time.Second // with PINTLE_BARS, from when it is started again until the index is true again
	)
	k.t = t
	l := &k.load
	l.every = 20 * time.Millisecond
	for i := range 12 {
		l.bodies = append(l.bodies, chatOf(fmt.Sprint("prompt ", i, strings.Repeat(" of twelve", 40))))
	}
	k.prompts = append([]string{chatOf("nobody sends this under load" + strings.Repeat(" at all", 40))}, l.bodies...)
	l.start(t, 4, k.URL("requests", chatPath))
	took, slowest := map[string][]time.Duration{}, map[string]time.Duration{}
	for range times {
		for _, kill := range k.all() {
			for i, s := range k.servers { // so that each has something
				k.tell(s, chatPath, k.prompts[0])
				k.tell(s, chatPath, l.bodies[i])
			}
			k.trueAgain(time.Now())
			l.lap()
			kill.strike()
			l.more(t, 10)
			k.tell(kill.clears, "/sim/events", `{"fault":"clear"}`)
			l.more(t, 10)
			began := time.Now()
			kill.mend()
			again := k.trueAgain(began)
			answers := l.lap()
			slowest[kill.name] = max(slowest[kill.name], answers[len(answers)-1])
			if took[kill.name] = append(took[kill.name], again); harness.Bars() && again > most {
				t.Errorf("%s: the index is true again after %v, want at most %v", kill.name, again, most)
			}
		}
	}
	l.stop()
	for _, lost := range l.lost {
		t.Errorf("a request was lost: %s", lost)
	}
	for _, kill := range k.all() {
		t.Logf("%s: the index is true again after %v, each answer came within %v", kill.name, took[kill.name],
			slowest[kill.name])
	}
	t.Logf("%d requests served", l.served.Load())
}

// trueAgain waits until the sidecar says what the caches hold, Envoy goes by it, and both go on so for some requests of
// the load. It returns how long after began that was so for the first time.
func (k *kills) trueAgain(began time.Time) time.Duration {
	k.t.Helper()
	var since time.Time
	var served int64
	harness.WaitFor(k.t, 10*time.Second, "the index to be true, and to stay so", func() (bool, string) {
		if wrong := k.wrong(); wrong != "" {
			since = time.Time{}
			return false, wrong
		}
		if since.IsZero() {
			since, served = time.Now(), k.load.served.Load()
		}
		return k.load.served.Load() >= served+10, "true since " + since.Sub(began).String()
	})
	return since.Sub(began)
}

// wrong is what the sidecar or Envoy says of prompts that is not what the caches hold.
func (k *kills) wrong() string {
	k.t.Helper()
	for i, body := range k.prompts {
		said, ok := k.holders(body)
		if truth := k.truth(body); !ok || !maps.Equal(said, truth) {
			return fmt.Sprintf("prompt %d: the sidecar says %v, %v, want %v", i, said, ok, truth)
		}
	}
	truth := k.truth(k.prompts[0])
	got := k.send(k.prompts[0])
	var explained struct {
		Prefix struct {
			State   string
			Matched [][]any // each a server, its blocks and what they are worth
		}
	}
	err := json.Unmarshal([]byte(got.Header.Get("X-Pintle-Explain")), &explained)
	matched := map[string]int{}
	for _, m := range explained.Prefix.Matched {
		matched[fmt.Sprint(m[0])] = int(m[1].(float64))
	}
	if err != nil || got.Status != http.StatusOK || explained.Prefix.State != "known" || !maps.Equal(matched, truth) {
		return fmt.Sprintf("Envoy says %v, %v, %v, want %v", got.Status, explained, err, truth)
	}
	return ""
}
