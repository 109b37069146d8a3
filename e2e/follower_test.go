package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// followed follows an Envoy's journal from now on, all of its workers, until the test ends.
func followed(t *testing.T, envoy *harness.Envoy, sink follow.Sink) *follow.Follower {
	t.Helper()
	f, _ := followedBy(t, envoy, harness.Token, sink, 0)
	return f
}

// followedBy is followed by one with another token or that wants the steps of a share of the decisions, and ends with
// the test or before.
func followedBy(t *testing.T, envoy *harness.Envoy, token string, sink follow.Sink,
	sample float64) (f *follow.Follower, stop func()) {
	t.Helper()
	f = &follow.Follower{
		Ingest: config.Ingest{Name: "gateway", URL: "http://" + envoy.Address("ingest") + config.IngestPath},
		Token:  func() string { return token }, Interval: 20 * time.Millisecond, Sink: sink,
		Log: slog.New(slog.DiscardHandler), Sample: sample,
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return f, stop
}

// begun is a follow.Sink that hands on what it hears, and tells which of Envoy's two workers know of followers: those
// that tell of what they refuse. Until then a request is not told of.
type begun struct {
	follow.Sink
	// since is when it began, nanoseconds since 1970: a follower hears what is there of earlier tests, too, of plug-ins
	// of other listeners.
	since int64
	mu    sync.Mutex
	// unreadable and nameless are how many refusals each worker has told of, by why it refused.
	unreadable, nameless map[uint64]int
}

func newBegun(sink follow.Sink) *begun {
	return &begun{Sink: sink, since: time.Now().UnixNano(), unreadable: map[uint64]int{}, nameless: map[uint64]int{}}
}

// Take implements follow.Sink.
func (b *begun) Take(e *follow.Event) {
	b.Sink.Take(e)
	if e.Kind != journal.Refused || e.Time < b.since {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e.Names.Of(journal.ReasonName, e.Reason) {
	case "invalid_body":
		b.unreadable[e.Instance]++
	case probed:
		b.nameless[e.Instance]++
	}
}

// probed is why workers refuse the requests by which tests find out whether they know of followers.
const probed = "model_missing"

// await has requests refused until both workers tell of it, and returns how many.
func (b *begun) await(t *testing.T, url string) (probes int) {
	t.Helper()
	harness.WaitFor(t, 20*time.Second, "both workers to know of the follower", func() (bool, string) {
		probe(t, url, `{"messages": []}`)
		probes++
		workers, _ := b.told(b.nameless)
		return workers == 2, fmt.Sprint(workers)
	})
	return probes
}

// settle is to follow await, and waits until nothing of it is still to be told. Nobody else may have unreadable
// requests refused meanwhile.
func (b *begun) settle(t *testing.T, url string) {
	t.Helper()
	_, before := b.told(b.unreadable)
	// Each worker tells in the order of what it does: with the second kind all of the first are there.
	for sent := 1; ; sent++ {
		probe(t, url, "nonsense")
		workers := 0
		harness.WaitFor(t, 10*time.Second, "what a worker refused to be told", func() (bool, string) {
			all := 0
			workers, all = b.told(b.unreadable)
			return all == before+sent, fmt.Sprint(all, " of ", before+sent)
		})
		if workers == 2 {
			return
		}
	}
}

// told is how many workers have told of refusals, and of how many.
func (b *begun) told(by map[uint64]int) (workers, all int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range by {
		all += n
	}
	return len(by), all
}

// probe sends a request over a connection of its own, which either worker may take.
func probe(t *testing.T, url, body string) {
	t.Helper()
	client := harness.Client(t, false)
	defer client.CloseIdleConnections()
	harness.Send(t, client, harness.Request(t, http.MethodPost, url, body, false))
}
