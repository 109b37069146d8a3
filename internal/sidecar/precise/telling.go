package precise

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/journal"
)

// forgot tells that an endpoint has nothing any more. What other ranks of it have is told of again with the next
// prompts.
func (b *Background) forgot(endpoint string) {
	if !b.spoke[endpoint] {
		return
	}
	delete(b.spoke, endpoint)
	b.resay = b.passed()
	b.enqueue(&journal.Event{Primary: journal.EndpointID(endpoint)})
}

// tell tells that of a prompt's blocks an endpoint has the first held ones, and not the others.
func (b *Background) tell(endpoint string, chain uint64, blocks []uint64, held int) {
	for len(blocks) > 0 {
		n := min(len(blocks), journal.MaxBlocks)
		b.enqueue(&journal.Event{Primary: journal.EndpointID(endpoint), Held: uint32(min(held, n)),
			Chains: []journal.Chain{{ID: chain, Blocks: blocks[:n]}}})
		blocks, held = blocks[n:], max(held-n, 0)
	}
}

// gone tells of what an endpoint has no more, as it has removed it or the index had no room for it.
func (b *Background) gone(ctx context.Context, endpoint string, keys []kvindex.Key) {
	gone := map[uint64][]uint64{} // by chain
	for _, key := range keys {
		texts := b.known.of(key)
		if len(texts) == 0 {
			continue
		}
		// Another tier or rank may have it.
		if hits, err := b.Lookup(ctx, nil, []kvindex.Key{key}, []string{endpoint}); err != nil || len(hits) > 0 {
			continue
		}
		for _, t := range texts {
			gone[t.chain] = append(gone[t.chain], t.hash)
		}
		if hits, err := b.Lookup(ctx, nil, []kvindex.Key{key}, b.Endpoints()); err == nil && len(hits) == 0 {
			b.known.forget(key)
		}
	}
	for chain, blocks := range gone {
		b.tell(endpoint, chain, blocks, 0)
	}
}

// envoy is one that is told of changes, without waiting for others. What waits is bounded; b.mu guards it.
type envoy struct {
	config.Ingest
	wake    chan struct{}
	waiting [][]byte
	bytes   int
	// untold is how many events wait or are on their way.
	untold int
}

func (b *Background) enqueue(e *journal.Event) {
	e.Kind, e.Time, e.Instance = journal.Held, time.Now().UnixNano(), b.instance
	encoded := bytes.Clone(journal.AppendEvent(nil, e))
	for _, to := range b.envoys {
		if to.bytes+len(encoded) > mostTelling {
			b.resay = b.passed()
			b.told.WithLabelValues("dropped").Inc()
			continue
		}
		to.waiting, to.bytes, to.untold = append(to.waiting, encoded), to.bytes+len(encoded), to.untold+1
		select {
		case to.wake <- struct{}{}:
		default:
		}
	}
}

// Run tells Envoys until ctx ends, each at its own pace.
func (b *Background) Run(ctx context.Context) {
	var tellers sync.WaitGroup
	for _, to := range b.envoys {
		tellers.Go(func() { b.run(ctx, to) })
	}
	tellers.Wait()
}

func (b *Background) run(ctx context.Context, to *envoy) {
	client := &http.Client{Transport: to.Transport(), Timeout: b.hanging}
	defer client.CloseIdleConnections()
	for {
		select {
		case <-ctx.Done():
			return
		case <-to.wake:
		}
		for events := b.next(to); len(events) > 0; events = b.next(to) {
			b.post(ctx, client, to, journal.AppendRelay(nil, journal.AnyMark, journal.AnyMark, events))
			b.mu.Lock()
			to.untold = len(to.waiting)
			b.mu.Unlock()
		}
	}
}

// next takes events that wait for an Envoy.
func (b *Background) next(to *envoy) (events []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(to.waiting) && len(events) < mostMessage {
		events = append(events, to.waiting[n]...)
		n++
	}
	to.waiting = slices.Delete(to.waiting, 0, n)
	to.bytes -= len(events)
	return events
}

func (b *Background) post(ctx context.Context, client *http.Client, to *envoy, message []byte) {
	request, err := to.Request(ctx, http.MethodPost, "/events", b.Token(), bytes.NewReader(message))
	status := 0
	if err == nil {
		var response *http.Response
		if response, err = client.Do(request); err == nil {
			status = response.StatusCode
			// A connection whose answer is not read is not used again.
			_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, mostMessage))
			_ = response.Body.Close()
		}
	}
	if status == http.StatusOK {
		b.told.WithLabelValues("told").Inc()
		return
	}
	b.told.WithLabelValues("failed").Inc()
	b.Log.Debug("an Envoy was not told what servers have", "ingest", to.Name, "status", status, "error", err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resay = b.passed()
}
