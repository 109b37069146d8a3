//go:build prometheus

package prometheus

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/kvpub"
)

// common is what a sidecar has in common with others: a Valkey with the stream of gateways and with conversations, to
// which each sidecar has a way of its own.
type common struct {
	valkey    *harness.Valkey
	near, far *harness.Link
	store     string // where the filter would ask for conversations
}

func newCommon(t *testing.T) common {
	valkey := harness.StartValkey(t)
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	return common{valkey: valkey, near: harness.NewLink(t, valkey.Address), far: harness.NewLink(t, valkey.Address),
		store: fmt.Sprint("127.0.0.1:", ports[0])}
}

// start starts the sidecar that is watched, and another gateway's. It returns the first one's admin address.
func (w *world) start(t *testing.T) string {
	t.Helper()
	document := filepath.Join(t.TempDir(), "filter.yaml")
	if err := os.WriteFile(document, []byte("config: {plugins: [{type: precise-prefix-cache-scorer, parameters: "+
		"{indexerConfig: {tokenizersPoolConfig: {modelName: m}}}}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	replicate := func(name string, way *harness.Link) string {
		return fmt.Sprintf("replicate: {redis: 'redis://%s', gateway: %s}\n", way.Address, name)
	}
	startSidecar(t, harness.NewGateway(t).URL, w.endpoints, replicate("far", w.far))
	return startSidecar(t, w.gateway.URL, w.endpoints, replicate("near", w.near)+fmt.Sprintf(
		"responses: {address: '%s', storeConfig: {tieredConfig: {redis: {address: 'redis://%s'}}}}\n", w.store,
		w.near.Address), "-plugins", document)
}

// newPublisher has a server's KV events published until the test ends.
func newPublisher(t *testing.T) *kvpub.Publisher {
	t.Helper()
	p, err := kvpub.New(kvpub.Options{Listen: "127.0.0.1:0", Topic: "kv@any@m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// publish tells of one block more.
func (s *modelServer) publish(hash uint64) {
	s.events.Publish(kvpub.AppendBatch(nil, kvpub.Maps, float64(time.Now().UnixMilli())/1000, 0, []kvpub.Event{
		{Kind: "BlockStored", Hashes: []uint64{hash + 1}, Tokens: make([]uint32, 16), BlockTokens: 16}}))
}

// conversations stores a response and asks for it ten times a second until it is stopped.
func (w *world) conversations(t *testing.T) (stop func()) {
	t.Helper()
	end := make(chan struct{})
	ask := func(method, path, body string) {
		request, err := http.NewRequest(method, "http://"+w.store+"/pintle/v1/"+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Authorization", "Bearer secret-token")
		request.Header.Set("X-Pintle-Input", "3")
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-end:
				return
			case <-time.After(100 * time.Millisecond):
			}
			ask(http.MethodPost, "turns", `"a"{"id":"r1","status":"completed","output":[]}`)
			ask(http.MethodGet, "history/r1", "")
		}
	})
	return func() { close(end); done.Wait() }
}

// stranger has somebody without the key write to the gateways' stream, ten times a second.
func (w *world) stranger() trouble {
	end := make(chan struct{})
	var done sync.WaitGroup
	return trouble{[]string{"PintleGatewaysRefused"}, func() {
		done.Go(func() {
			client := w.valkey.Client()
			defer client.Close()
			for {
				add := client.XAdd(context.Background(),
					&redis.XAddArgs{Stream: "pintle", Values: []any{"e", "no entry"}})
				if err := add.Err(); err != nil {
					w.t.Error(err)
				}
				select {
				case <-end:
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}, func() { close(end); done.Wait() }}
}

func (w *world) commonTroubles() []trouble {
	events := w.servers[0].events
	return []trouble{
		// What is lost to nobody who listens is no gap, so this comes before the connection ends.
		{[]string{"PintleKVEventsLost"}, func() { events.Lose(3, true) }, func() {}},
		{[]string{"PintleKVPublisherGone"}, events.Leave, func() {
			if err := events.Return(); err != nil {
				w.t.Error(err)
			}
		}},
		{[]string{"PintleGatewayLost"}, w.far.Cut, w.far.Mend},
		w.stranger(),
		{[]string{"PintleReplicationFails", "PintleStoreLookupsFail", "PintleStoreWritesFail"}, w.near.Cut,
			w.near.Mend},
	}
}
