package precise

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/journal"
)

// limit is for what ends when something is broken.
const limit = time.Minute

// listener is an Envoy that is told something: each message waits for the status that the test has it answer with.
type listener struct {
	ingest  config.Ingest
	heard   chan []byte
	answers chan int
	gone    chan struct{}
}

func newListener(t *testing.T, name string) *listener {
	e := &listener{heard: make(chan []byte, 100), answers: make(chan int, 100), gone: make(chan struct{}, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer secret-token" {
			t.Errorf("got %v and %v, want a message with the token", err, r.Header)
		}
		e.heard <- message
		select {
		case status := <-e.answers:
			w.WriteHeader(status)
		case <-r.Context().Done():
			e.gone <- struct{}{}
		}
	}))
	t.Cleanup(server.Close)
	e.ingest = config.Ingest{Name: name, URL: server.URL + config.IngestPath}
	return e
}

// wantHeard waits for messages until they have said what is wanted, and nothing else.
func (e *listener) wantHeard(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	head := len(journal.AppendRelay(nil, journal.AnyMark, journal.AnyMark, nil))
	for len(got) < len(want) {
		message := wait(t, e.ingest.Name+" to be told", e.heard)
		got = append(got, heard(t, message[min(head, len(message)):])...)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %q, want %q", e.ingest.Name, got, want)
	}
}

func wait[V any](t *testing.T, what string, from <-chan V) (v V) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(limit):
		t.Fatalf("waited %v for %s", limit, what)
	}
	return v
}

// untold is how many changes the Envoy that is furthest behind was not told of.
func untold(b *Background) (most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, to := range b.envoys {
		most = max(most, to.untold)
	}
	return most
}

// TestEnvoysAreToldApart: one that hangs keeps no other waiting, and is told all that was said meanwhile in its
// order. What it could not be told is said again with the next prompt.
func TestEnvoysAreToldApart(t *testing.T) {
	hanging, well := newListener(t, "hanging"), newListener(t, "well")
	s := newService(t, tenTokens)
	b := inBackground(s, hanging.ingest, well.ingest)
	b.hanging = 10 * limit
	ctx, end := context.WithCancel(context.Background())
	defer end()
	ended := make(chan struct{})
	go func() {
		b.Run(ctx)
		close(ended)
	}()
	for range cap(well.answers) {
		well.answers <- http.StatusOK
	}
	prompt := kvindex.Prompt{Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}}
	keys := kvindex.Keys(nil, s.Blocks.Root("", "m"), 4, &prompt)
	add := func(name string, keys []kvindex.Key) {
		t.Helper()
		publisher := kvindex.Publisher{Endpoint: name}
		if err := s.Blocks.Add(ctx, publisher, kvindex.GPU, []uint64{1, 2}[:len(keys)], keys); err != nil {
			t.Fatal(err)
		}
	}
	hand := func() {
		t.Helper()
		if b.learn(ctx, fourBlocks()) != nil {
			t.Fatal("nothing is learnt")
		}
	}
	add("a", keys)
	hand()
	hanging.wantHeard(t, "a has 4 of [71 72 73 74]")
	well.wantHeard(t, "a has 4 of [71 72 73 74]")
	add("b", keys[:1])
	well.wantHeard(t, "b has 2 of [71 72]")
	add("b", keys)
	well.wantHeard(t, "b has 4 of [71 72 73 74]")
	if got := untold(b); got != 3 {
		t.Errorf("got %d changes untold, want 3", got)
	}
	hanging.answers <- http.StatusServiceUnavailable
	hanging.wantHeard(t, "b has 2 of [71 72]", "b has 4 of [71 72 73 74]")
	hanging.answers <- http.StatusOK
	harness.WaitFor(t, limit, "all to be told", func() (bool, string) {
		got := untold(b)
		return got == 0, fmt.Sprint(got)
	})
	hand()
	hanging.wantHeard(t, "a has 4 of [71 72 73 74]", "b has 4 of [71 72 73 74]")
	well.wantHeard(t, "a has 4 of [71 72 73 74]", "b has 4 of [71 72 73 74]")
	end()
	wait(t, "the end", ended)
	wait(t, "the hanging request to be given up", hanging.gone)
}

// TestTellingKeepsItsConnection: what an Envoy is told, several times a second, goes over one connection.
func TestTellingKeepsItsConnection(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(make([]byte, 24)) // as the filter says where its journal is
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	b := inBackground(newService(t, tenTokens), config.Ingest{Name: "a", URL: server.URL + config.IngestPath})
	client := &http.Client{Transport: b.envoys[0].Transport()}
	defer client.CloseIdleConnections()
	for range 5 {
		b.post(t.Context(), client, b.envoys[0], journal.AppendRelay(nil, journal.AnyMark, journal.AnyMark, nil))
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("got %d connections for 5 messages, want 1", n)
	}
}

// TestFullIndex: what the index has no room for any more is told of as what a server has removed. Nobody would be told
// when that removes it: the index knows it by its key no more.
func TestFullIndex(t *testing.T) {
	s := newService(t, tenTokens)
	var err error
	s.Blocks, err = kvindex.New(kvindex.Config{BlockTokens: 4, InMemory: &kvindex.InMemoryConfig{Size: 1}})
	if err != nil {
		t.Fatal(err)
	}
	b := inBackground(s, config.Ingest{Name: "an Envoy"})
	ctx := context.Background()
	prompt := kvindex.Prompt{Tokens: []uint32{1, 2, 3, 4}}
	keys := kvindex.Keys(nil, s.Blocks.Root("", "m"), 4, &prompt)
	at := kvindex.Publisher{Endpoint: "a"}
	add := func(hash uint64, key kvindex.Key) {
		if err := s.Blocks.Add(ctx, at, kvindex.GPU, []uint64{hash}, []kvindex.Key{key}); err != nil {
			t.Fatal(err)
		}
	}
	add(1, keys[0])
	if b.learn(ctx, fourBlocks()) != nil {
		t.Fatal("nothing is learnt")
	}
	if got, want := b.said(t), []string{"a has 2 of [71 72]"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for hash := uint64(2); ; hash++ {
		add(hash, kvindex.Key(hash)) // one of the two has to go
		var want []string
		if _, err = b.Key(ctx, at, 1); err != nil {
			want = []string{"a has 0 of [71 72]"}
		}
		if got := b.said(t); !slices.Equal(got, want) {
			t.Errorf("%d others: got %q, want %q", hash-1, got, want)
		}
		if err != nil {
			break
		}
	}
}
