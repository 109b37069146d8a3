package harness

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/journal/journaltest"
	"github.com/pintle-dev/pintle/snapshot/shared"
)

// Gateway is an Envoy as a sidecar sees it: it takes snapshots, and tells of a journal that the test writes. Safe for
// concurrent use.
type Gateway struct {
	// URL is where snapshots are posted.
	URL string

	mu      sync.Mutex
	data    *journaltest.Data
	journal *journal.Journal
	names   *journal.Names
	refuse  int
	stalls  bool
}

// NewGateway starts a gateway, whose log keeps few events, until the test ends.
func NewGateway(t testing.TB) *Gateway {
	t.Helper()
	g := &Gateway{}
	g.Restart()
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	g.URL = server.URL + IngestPath
	return g
}

// Restart forgets all, as an Envoy does that is started anew.
func (g *Gateway) Restart() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.data = journaltest.New(0)
	g.names = &journal.Names{Store: g.data.Store()}
	var err error
	g.journal, err = journal.New(g.data.Store(), journal.Options{Instance: rand.Uint64() | 1, Slots: 64})
	if err != nil {
		panic(err) // the options are constants
	}
}

// Tick is journal.Journal's, after what is new has been read.
func (g *Gateway) Tick(now time.Time) {
	g.Events()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.journal.Tick(now.UnixNano())
}

// Events returns the events that are new since the last call, without their lists.
func (g *Gateway) Events() (all []journal.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.journal.Poll()
	for e := g.journal.Next(); e != nil; e = g.journal.Next() {
		event := *e
		event.Chains, event.Encode, event.Shadow, event.Sessions, event.Steps = nil, nil, nil, nil, nil
		all = append(all, event)
	}
	return all
}

// Refuse has everything answered with a status; 0 ends that.
func (g *Gateway) Refuse(status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse = status
}

// Stall has everything wait until whoever asks gives up; false ends that.
func (g *Gateway) Stall(stalls bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stalls = stalls
}

func (g *Gateway) stalled() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stalls
}

// NextLease is journal.Journal's.
func (g *Gateway) NextLease() uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.journal.NextLease()
}

// Append writes events into the journal; the sidecar sees either none of them or all.
func (g *Gateway) Append(events ...*journal.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range events {
		g.journal.Append(e)
	}
}

// Name tells a name, and returns its hash.
func (g *Gateway) Name(kind journal.NameKind, name string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.names.Add(kind, journal.HashName(name), name)
	return journal.HashName(name)
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.stalled() {
		_, _ = io.Copy(io.Discard, r.Body) // before, the server does not see that they are gone
		<-r.Context().Done()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	store := g.data.Store()
	value, _ := journal.StoredNames(store)
	names := bytes.Clone(value)
	switch {
	case g.refuse != 0:
		w.WriteHeader(g.refuse)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events"):
		message, _ := io.ReadAll(r.Body)
		if !g.journal.CheckRelay(message) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		now, ok := g.journal.TakeRelay(message)
		if !ok {
			w.WriteHeader(http.StatusConflict)
		}
		_, _ = w.Write(now.Append(nil))
		if r.URL.RawQuery != "" {
			g.tell(w, r)
		}
	case r.Method == http.MethodPost:
		message, _ := io.ReadAll(r.Body) // what is cut is refused
		if _, err := shared.Put(store, message, time.Now().UnixNano()); err != nil {
			w.WriteHeader(http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Path == "/pintle/v1/names":
		topology, _, _ := store.Get(shared.KeyTopology)
		_, _ = w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(names))), names...))
		_, _ = w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(topology))), topology...))
	default:
		g.tell(w, r)
	}
}

// tell answers with what is new in the journal.
func (g *Gateway) tell(w io.Writer, r *http.Request) {
	var at journal.Position
	_, _ = fmt.Sscanf(r.URL.Query().Get("at"), "%d.%d.%d.%d", &at.Epoch, &at.Page, &at.Seq, &at.Offset)
	store := g.data.Store()
	_, change := journal.StoredNames(store)
	var a journal.Answerer
	_, _ = w.Write(a.Append(nil, store, []journal.Position{at}, journal.Position{}, change, shared.Topology(store)))
}
