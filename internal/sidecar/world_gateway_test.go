package sidecar

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/journal/journaltest"
	"github.com/pintle-dev/pintle/snapshot"
)

// worldGateway is an Envoy: what it was told, and its journal. A restart loses both.
type worldGateway struct {
	listening
	number int

	mu      sync.Mutex
	mode    string
	process int
	in      *ingest
	sent    snapshot.Position // what the sidecar sent last
	data    *journaltest.Data
	journal *journal.Journal
	names   *journal.Names
	written map[string]int // completions by model
}

func newWorldGateway(t testing.TB, number int, address string) *worldGateway {
	g := &worldGateway{listening: listening{t: t, address: address}, number: number, mode: well,
		written: map[string]int{}}
	g.handler = g
	g.begin()
	g.start()
	t.Cleanup(g.stop)
	return g
}

// begin begins a process.
func (g *worldGateway) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.process++
	g.in = &ingest{t: g.t}
	g.data = journaltest.New(0)
	g.names = &journal.Names{Store: g.data.Store()}
	j, err := journal.New(g.data.Store(), journal.Options{Instance: uint64(100*g.number + g.process), Slots: 16})
	if err != nil {
		g.t.Fatal(err)
	}
	g.journal = j
}

// model is what requests of its present process name.
func (g *worldGateway) model() string { return fmt.Sprintf("m-%d-%d", g.number, g.process) }

// served are the requests that came to their ends, by model.
func (g *worldGateway) served() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.written)
}

// serve journals requests that come to their ends.
func (g *worldGateway) serve(n int, endpoint string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	hash := journal.HashName(g.model())
	g.names.Add(journal.ModelName, hash, g.model())
	for range n {
		e := journal.Event{Kind: journal.Decision, Time: time.Now().UnixNano(), Lease: g.journal.NextLease(),
			Model: hash, Asked: hash, Primary: journal.EndpointID(endpoint)}
		g.journal.Append(&e)
		e.Kind, e.Code, e.Status, e.Ended = journal.Completion, 200, 200, journal.EndedWhole
		g.journal.Append(&e)
	}
	g.written[g.model()] += n
}

func (g *worldGateway) set(mode string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = mode
}

// answers reports whether it does what an Envoy should.
func (g *worldGateway) answers() bool {
	there := g.listens()
	g.mu.Lock()
	defer g.mu.Unlock()
	return there && (g.mode == well || g.mode == late)
}

// received is what a gateway was told last; nil for one that does not answer or was told nothing.
func (g *worldGateway) received() *received {
	if !g.answers() {
		return nil
	}
	g.mu.Lock()
	in := g.in
	g.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.accepted) == 0 {
		return nil
	}
	in.accepted = in.accepted[len(in.accepted)-1:]
	got := in.accepted[0]
	return &got
}

// forgetSent has what comes next be the first of a sidecar.
func (g *worldGateway) forgetSent() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = snapshot.Position{}
}

func (g *worldGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	mode, in := g.mode, g.in
	g.mu.Unlock()
	switch mode {
	case hangs:
		_, _ = io.Copy(io.Discard, r.Body) // only then it is noticed that the client gives up
		<-r.Context().Done()
		return
	case late:
		time.Sleep(40 * time.Millisecond)
	case fails:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case garbage:
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"error":{"code":"older"},"current":{"epoch":"x`)
		return
	case refuses:
		answer(w, http.StatusUnauthorized, "unauthorized", snapshot.Position{})
		return
	}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, config.IngestPath) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if m, err := snapshot.Split(body); err == nil {
			g.note(m.Position)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		in.ServeHTTP(w, r)
		return
	}
	g.tell(w, r)
}

// note checks that what is sent never goes back.
func (g *worldGateway) note(p snapshot.Position) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !p.After(g.sent) {
		g.t.Errorf("gateway %d: got %v behind %v", g.number, p, g.sent)
	}
	g.sent = p
}

// tell answers followers as the filter does.
func (g *worldGateway) tell(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	store := g.data.Store()
	names, change := journal.StoredNames(store)
	topology := g.in.told()
	switch {
	case strings.HasSuffix(r.URL.Path, "/names"):
		record, err := snapshot.AppendTopology(nil, topology, snapshot.Position{Epoch: 1, Sequence: 1})
		if err != nil {
			g.t.Error(err)
		}
		for _, part := range [][]byte{names, record} {
			_, _ = w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(part))))
			_, _ = w.Write(part)
		}
	case strings.HasSuffix(r.URL.Path, "/journal"):
		followed, _ := journal.ReadFollowed(store)
		if text := r.URL.Query().Get("keep"); text != "" {
			followed.Kept = g.position(text)
			followed.Write(store)
		}
		var a journal.Answerer
		_, _ = w.Write(a.Append(nil, store, []journal.Position{g.position(r.URL.Query().Get("at"))}, followed.Kept,
			change, topology.ID()))
	default:
		http.NotFound(w, r)
	}
}

func (g *worldGateway) position(text string) (p journal.Position) {
	if _, err := fmt.Sscanf(text, "%d.%d.%d.%d", &p.Epoch, &p.Page, &p.Seq, &p.Offset); err != nil {
		g.t.Errorf("position %q: %v", text, err)
	}
	return p
}

// told is the topology that it knows.
func (i *ingest) told() *snapshot.Topology {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.topology == nil {
		return &snapshot.Topology{}
	}
	return i.topology
}
