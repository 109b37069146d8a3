package follow

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/journal/journaltest"
	"github.com/pintle-dev/pintle/snapshot"
)

// envoy answers followers as the filter does.
type envoy struct {
	t        testing.TB
	mu       sync.Mutex
	data     *journaltest.Data
	instance uint64
	journal  *journal.Journal
	names    *journal.Names
	topology snapshot.Topology
	// status, when set, is answered with text.
	status int
	text   string
	asked  []string
	// namesAsked is how often the names were fetched.
	namesAsked int
}

func newEnvoy(t testing.TB) (*envoy, config.Ingest) {
	e := &envoy{t: t}
	e.restart()
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return e, config.Ingest{Name: "gateway", URL: server.URL + config.IngestPath}
}

// restart begins a process.
func (e *envoy) restart() {
	e.mu.Lock()
	e.data = journaltest.New(0)
	e.names = &journal.Names{Store: e.data.Store()}
	e.mu.Unlock()
	e.configure()
}

// configure begins an instance in the process.
func (e *envoy) configure() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instance++
	j, err := journal.New(e.data.Store(), journal.Options{Instance: e.instance, Slots: 16})
	if err != nil {
		e.t.Fatal(err)
	}
	e.journal = j
}

func (e *envoy) decide(model string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for range n {
		decision := e.decision(model)
		decision.Lease = e.journal.NextLease()
		e.journal.Append(&decision)
	}
}

// relay has decisions written that another process's instance made.
func (e *envoy) relay(model string, n uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for lease := range n {
		decision := e.decision(model)
		decision.Instance, decision.Lease = 99, lease+1
		message := journal.AppendRelay(nil, journal.AnyMark, journal.AnyMark, journal.AppendEvent(nil, &decision))
		if _, ok := e.journal.TakeRelay(message); !ok {
			e.t.Error("the journal does not take another process's decision")
		}
	}
}

// decision is one for a model, whose name is known then.
func (e *envoy) decision(model string) journal.Event {
	e.names.Add(journal.ModelName, journal.HashName(model), model)
	return journal.Event{Kind: journal.Decision, Time: time.Now().UnixNano(), Model: journal.HashName(model),
		Primary: journal.EndpointID("vllm-0")}
}

// ServeHTTP implements http.Handler.
func (e *envoy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer token" || e.status != 0 {
		w.WriteHeader(cmp.Or(e.status, 401))
		_, _ = io.WriteString(w, e.text)
		return
	}
	store := e.data.Store()
	names, change := journal.StoredNames(store)
	if strings.HasSuffix(r.URL.Path, "/names") {
		e.namesAsked++
		record, err := snapshot.AppendTopology(nil, &e.topology, snapshot.Position{Epoch: 1, Sequence: 1})
		if err != nil {
			e.t.Error(err)
		}
		for _, part := range [][]byte{names, record} {
			_, _ = w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(part))))
			_, _ = w.Write(part)
		}
		return
	}
	e.asked = append(e.asked, r.URL.RawQuery)
	followed, _ := journal.ReadFollowed(store)
	if text := r.URL.Query().Get("keep"); text != "" {
		followed.Kept = position(e.t, text)
		followed.Write(store)
	}
	var a journal.Answerer
	_, _ = w.Write(a.Append(nil, store, []journal.Position{position(e.t, r.URL.Query().Get("at"))}, followed.Kept,
		change, e.topology.ID()))
}

func position(t testing.TB, text string) (p journal.Position) {
	if _, err := fmt.Sscanf(text, "%d.%d.%d.%d", &p.Epoch, &p.Page, &p.Seq, &p.Offset); err != nil {
		t.Errorf("position %q: %v", text, err)
	}
	return p
}

// told is a Sink that writes down what it takes.
type told struct {
	mu    sync.Mutex
	names *Names
	all   []string
	at    journal.Position
}

// Take implements Sink.
func (s *told) Take(e *Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := map[journal.Kind]string{journal.Decision: "decided", journal.Gone: "gone", journal.Missed: "missed"}[e.Kind]
	switch {
	case e.Old:
		text = "old"
	case e.Relayed:
		text = "another's"
	case e.Kind == journal.Decision:
		text += " " + s.names.Of(journal.ModelName, e.Model) + " " + s.names.Endpoint(e.Primary)
	case e.Kind == journal.Missed:
		text += fmt.Sprint(" ", e.Missed)
	}
	s.all = append(s.all, text)
}

// Caught implements Sink.
func (s *told) Caught(_ string, at journal.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
}

func (s *told) kept() journal.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// take waits until something has been told, and returns it.
func (s *told) take(t testing.TB, n int) []string {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		if len(s.all) >= n {
			all := s.all
			s.all = nil
			s.mu.Unlock()
			return all
		}
		s.mu.Unlock()
	}
	t.Fatalf("told %v, want %d", s.all, n)
	return nil
}

// newFollower makes one that tells s, before Run.
func newFollower(ingest config.Ingest, s *told, interval time.Duration) *Follower {
	f := &Follower{Ingest: ingest, Token: func() string { return "token" }, Interval: interval, Sink: s,
		Log: slog.New(slog.DiscardHandler)}
	s.names = f.Names()
	return f
}

// start follows until stop is called.
func start(t testing.TB, ingest config.Ingest, keep bool) (f *Follower, s *told, stop func()) {
	s = &told{}
	f = newFollower(ingest, s, 5*time.Millisecond)
	if keep {
		f.Keep = s.kept
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		f.Run(ctx)
		close(done)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return f, s, stop
}

func expect(t testing.TB, s *told, want ...string) {
	t.Helper()
	if got := s.take(t, len(want)); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}
