//go:build responses

package responses

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// kills is how often each part is killed.
const kills = 20

// load stores responses at gateways and reads them again, until stop.
type load struct {
	t       *testing.T
	count   atomic.Int64
	done    chan struct{}
	writers sync.WaitGroup

	mu     sync.Mutex
	stored []string
}

func startLoad(t *testing.T, gateways ...*gateway) *load {
	l := &load{t: t, done: make(chan struct{})}
	for i := range 4 {
		l.writers.Go(func() { l.write(gateways[i%len(gateways)], fmt.Sprintf("r%d", i)) })
	}
	return l
}

// write stores one response after another. What is acknowledged is known from then on, or the store says that it cannot
// tell.
func (l *load) write(g *gateway, name string) {
	var mine []string
	for n := 0; ; n++ {
		select {
		case <-l.done:
			return
		default:
		}
		id := fmt.Sprintf("%s-%d", name, n)
		switch g.put(id, "") {
		case 204:
			mine = append(mine, id)
			l.mu.Lock()
			l.stored = append(l.stored, id)
			l.mu.Unlock()
			l.count.Add(1)
		case 0: // a sidecar that was killed refuses quickly
			time.Sleep(time.Millisecond)
		}
		if len(mine) == 0 {
			continue
		}
		id = mine[n%len(mine)]
		status, text := g.ask("GET", "history/"+id, "")
		if status != 0 && status != 503 && (status != 200 || text != history(id)) {
			l.t.Errorf("%s: got %d %s for what was acknowledged", id, status, text)
		}
	}
}

// more waits until so many more are acknowledged.
func (l *load) more(n int64) {
	l.t.Helper()
	want := l.count.Load() + n
	harness.WaitFor(l.t, 30*time.Second, "responses to be stored", func() (bool, string) {
		return l.count.Load() >= want, fmt.Sprint(l.count.Load(), " of ", want)
	})
}

// check ends the load. All that was acknowledged is in both tiers.
func (l *load) check(w *world, g *gateway) {
	l.t.Helper()
	close(l.done)
	l.writers.Wait()
	// A sidecar that could not reach Valkey for a while tries it again each second.
	harness.WaitFor(l.t, 10*time.Second, "the store to answer", func() (bool, string) {
		status, text := g.ask("GET", "history/"+l.stored[0], "")
		return status == 200, text
	})
	w.drained()
	documents := w.documents()
	for _, id := range l.stored {
		if !documents[id] {
			l.t.Errorf("%s was acknowledged, and MongoDB has not got it", id)
		}
		// Who reads it would not tell: what the first tier has not got comes from the second.
		if n, err := w.redis.Exists(l.t.Context(), entryKey+id+":").Result(); n != 1 || err != nil {
			l.t.Errorf("%s was acknowledged, and Valkey has %d of it, %v, want 1", id, n, err)
		}
	}
	read := func() {
		for i := 0; i < len(l.stored); i += max(1, len(l.stored)/100) {
			g.want(200, history(l.stored[i]), "GET", "history/"+l.stored[i])
		}
	}
	read()
	if err := w.redis.FlushAll(l.t.Context()).Err(); err != nil {
		l.t.Fatal(err)
	}
	read()
	l.t.Logf("%d responses were stored", len(l.stored))
}

// TestKillSidecars kills one of two sidecars at any moment.
func TestKillSidecars(t *testing.T) {
	w := newWorld(t)
	a, b := w.start("5s"), w.start("5s")
	l := startLoad(t, a, b)
	for i := range kills {
		l.more(10)
		killed := []*gateway{a, b}[i%2]
		killed.Kill()
		killed.restart()
	}
	l.check(w, a)
}

// TestKillValkey kills Valkey at any moment.
func TestKillValkey(t *testing.T) {
	w := newWorld(t)
	g := w.start("5s")
	l := startLoad(t, g)
	for range kills {
		l.more(10)
		w.valkey.Kill()
		if err := w.valkey.Start(); err != nil {
			t.Fatal(err)
		}
	}
	l.check(w, g)
}

// TestCutMongo cuts the connections to MongoDB at any moment.
func TestCutMongo(t *testing.T) {
	w := newWorld(t)
	g := w.start("5s")
	l := startLoad(t, g)
	for range kills {
		l.more(10)
		w.mongo.Drop()
	}
	l.check(w, g)
}

// TestKillConsumers kills sidecars that have read from the stream and wait for MongoDB. What they told it may come
// there later, and another sidecar claims what they did not acknowledge.
func TestKillConsumers(t *testing.T) {
	w := newWorld(t)
	g := w.start("5s")
	l := startLoad(t, g)
	for left, tries := 0, 0; left < kills; tries++ {
		w.mongo.Hold()
		l.more(1)
		harness.WaitFor(t, 30*time.Second, "a message to be read", func() (bool, string) {
			return w.pending() > 0, "none"
		})
		g.Kill()
		// What was written before Hold may have been acknowledged right before the end, and nothing read after it.
		claims := w.pending() > 0
		w.mongo.Release()
		g.restart()
		if claims {
			left++
			g.metric(`pintle_store_synced_total{result="claimed"}`, 1)
		}
		if t.Failed() || tries == 2*kills {
			t.Fatalf("%d of %d sidecars left messages behind, want %d", left, tries+1, kills)
		}
	}
	l.check(w, g)
}

// pending is how many messages were read and not acknowledged.
func (w *world) pending() int64 {
	pending, err := w.redis.XPending(w.t.Context(), streamKey, groupName).Result()
	if err != nil {
		w.t.Fatal(err)
	}
	return pending.Count
}
