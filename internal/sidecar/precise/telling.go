package precise

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/journal"
)

// forgot tells that an endpoint has nothing any more. What other ranks of it have is told of again with the next
// prompts.
func (b *Background) forgot(endpoint string) {
	if !b.spoke[endpoint] {
		return
	}
	delete(b.spoke, endpoint)
	b.resay = time.Now().UnixNano()
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

func (b *Background) enqueue(e *journal.Event) {
	e.Kind, e.Time, e.Instance = journal.Held, time.Now().UnixNano(), b.instance
	encoded := bytes.Clone(journal.AppendEvent(nil, e))
	if b.bytes+len(encoded) > mostTelling {
		b.resay = e.Time
		b.told.WithLabelValues("dropped").Inc()
		return
	}
	b.telling, b.bytes, b.untold = append(b.telling, encoded), b.bytes+len(encoded), b.untold+1
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Run tells Envoys until ctx ends.
func (b *Background) Run(ctx context.Context) {
	clients := make([]*http.Client, len(b.Ingests))
	for i := range clients {
		clients[i] = &http.Client{Transport: b.Ingests[i].Transport(), Timeout: tellTimeout}
		defer clients[i].CloseIdleConnections()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wake:
		}
		for events := b.next(); len(events) > 0; events = b.next() {
			message := journal.AppendRelay(nil, journal.AnyMark, journal.AnyMark, events)
			for i, client := range clients {
				b.post(ctx, client, b.Ingests[i], message)
			}
			b.mu.Lock()
			b.untold = len(b.telling)
			b.mu.Unlock()
		}
	}
}

// next takes events that wait.
func (b *Background) next() (events []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(b.telling) && len(events) < mostMessage {
		events = append(events, b.telling[n]...)
		n++
	}
	b.telling = slices.Delete(b.telling, 0, n)
	b.bytes -= len(events)
	return events
}

func (b *Background) post(ctx context.Context, client *http.Client, to config.Ingest, message []byte) {
	request, err := to.Request(ctx, http.MethodPost, "/events", b.Token(), bytes.NewReader(message))
	status := 0
	if err == nil {
		var response *http.Response
		if response, err = client.Do(request); err == nil {
			status = response.StatusCode
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
	b.resay = time.Now().UnixNano()
}
