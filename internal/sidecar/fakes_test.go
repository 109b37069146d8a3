package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/journal/journaltest"
	"github.com/pintle-dev/pintle/snapshot"
)

const testToken = "test-token"

// modelServer serves a metrics page that tests change.
type modelServer struct {
	*httptest.Server
	page     atomic.Pointer[string]
	requests atomic.Int64
	hang     atomic.Bool
	counting atomic.Bool // the page's waiting requests are the scrapes so far
	status   atomic.Int64
}

func newModelServer(t testing.TB, waiting int) *modelServer {
	m := &modelServer{}
	m.set(waiting)
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *modelServer) set(waiting int) {
	m.setPage(fmt.Sprintf("vllm:num_requests_waiting %d\nvllm:num_requests_running 2\nvllm:kv_cache_usage_perc 0.5\n"+
		"vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\"} 1\n"+
		"vllm:lora_requests_info{running_lora_adapters=\"a,b\",waiting_lora_adapters=\"b\",max_lora=\"4\"} 1\n",
		waiting))
}

func (m *modelServer) setPage(page string) { m.page.Store(&page) }

func (m *modelServer) serve(w http.ResponseWriter, r *http.Request) {
	if n := m.requests.Add(1); m.counting.Load() {
		m.set(int(n))
	}
	if m.hang.Load() {
		<-r.Context().Done()
		return
	}
	if status := m.status.Load(); status != 0 && strings.HasPrefix(r.URL.Path, "/metrics") {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(status))
		return
	}
	if r.Method != http.MethodGet || r.Header.Get("Accept-Encoding") != "identity" {
		http.Error(w, "wrong request", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = io.WriteString(w, *m.page.Load())
}

func (m *modelServer) address() string { return m.Listener.Addr().String() }

// received is one message that the fake ingest got.
type received struct {
	at       time.Time
	position snapshot.Position
	full     bool
	topology *snapshot.Topology
	load     snapshot.Load
}

// waiting returns the endpoint's waiting requests, or -1 when it is not there or has no sample.
func (r *received) waiting(name string) int {
	for i, e := range r.topology.Endpoints {
		if e.Name == name && r.load.Endpoints[i].AgeMillis != snapshot.NoSample {
			return int(r.load.Endpoints[i].WaitingRequests)
		}
	}
	return -1
}

// ingest is a fake of the filter's ingest listener.
type ingest struct {
	t testing.TB
	// refuse answers a request and says yes, or says no.
	refuse func(w http.ResponseWriter, r *http.Request, p snapshot.Position, full bool) bool

	mu sync.Mutex
	// version is what its filter says it is, empty for one that says nothing.
	version  string
	topology *snapshot.Topology
	id       uint64
	last     snapshot.Position
	accepted []received
	tried    int
}

func newIngest(t testing.TB) (*ingest, string) {
	i := &ingest{t: t}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	return i, server.URL + config.IngestPath
}

func (i *ingest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // of its journal, in which nothing is
		var a journal.Answerer
		_, _ = w.Write(a.Append(nil, journaltest.New(0).Store(), nil, journal.Position{}, 0, 0))
		return
	}
	if strings.HasSuffix(r.URL.Path, "/events") {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	i.mu.Lock()
	i.tried++
	refuse := i.refuse
	if i.version != "" {
		w.Header().Set("X-Pintle-Version", i.version)
	}
	i.mu.Unlock()
	m, err := snapshot.Split(body)
	if err != nil {
		i.t.Errorf("got a message that Split refuses: %v", err)
		return
	}
	if refuse != nil && refuse(w, r, m.Position, m.TopologyRecord != nil) {
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+testToken || r.URL.Path != config.IngestPath ||
		r.Method != http.MethodPost {
		answer(w, http.StatusUnauthorized, "unauthorized", snapshot.Position{})
		return
	}
	i.accept(w, m)
}

func (i *ingest) accept(w http.ResponseWriter, m snapshot.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !m.Position.After(i.last) {
		answer(w, http.StatusConflict, "older", i.last)
		return
	}
	topology, id := i.topology, i.id
	if m.TopologyRecord != nil {
		record, _, _ := snapshot.Next(m.TopologyRecord)
		topology, _ = snapshot.DecodeTopology(record.Payload)
		id = m.TopologyID
	}
	if topology == nil || m.TopologyID != id {
		answer(w, http.StatusConflict, "unknown_topology", snapshot.Position{})
		return
	}
	got := received{at: time.Now(), position: m.Position, full: m.TopologyRecord != nil, topology: topology}
	record, _, _ := snapshot.Next(m.LoadRecord)
	if err := got.load.Decode(bytes.Clone(record.Payload)); err != nil {
		i.t.Errorf("got a load record that does not decode: %v", err)
	}
	i.topology, i.id, i.last = topology, id, m.Position
	i.accepted = append(i.accepted, got)
	w.WriteHeader(http.StatusNoContent)
}

func answer(w http.ResponseWriter, status int, code string, current snapshot.Position) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"error":   map[string]string{"code": code, "message": "refused by the test"},
		"current": map[string]uint64{"epoch": current.Epoch, "sequence": current.Sequence},
	})
}

func (i *ingest) setRefuse(f func(http.ResponseWriter, *http.Request, snapshot.Position, bool) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refuse = f
}

func (i *ingest) setVersion(v string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.version = v
}

func (i *ingest) messages() []received {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.accepted[:len(i.accepted):len(i.accepted)]
}

func (i *ingest) tries() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.tried
}

// await waits for a last message for which fits says yes, and returns it.
func (i *ingest) await(what string, fits func(r *received) bool) received {
	i.t.Helper()
	var found received
	eventually(i.t, what, func() bool {
		messages := i.messages()
		if len(messages) == 0 {
			return false
		}
		found = messages[len(messages)-1]
		return fits(&found)
	})
	return found
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain: %s", what)
}

// running is a sidecar under test.
type running struct {
	t     testing.TB
	path  string
	admin string
	log   *harness.Log
	stop  func() (code int)
}

// staticYAML is a discovery list of name: address pairs.
func staticYAML(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "{name: %s, address: '%s', labels: {role: decode}, models: [m1]},", pairs[i], pairs[i+1])
	}
	return "[" + b.String() + "]"
}

// configYAML has scrapes time out only where a test shortens their time: a busy machine must fail none.
func configYAML(admin, ingests, discovery string) string {
	return fmt.Sprintf("envoy: {ingest: [%s], token: %s}\nscrape: {interval: 10ms, timeout: 30s}\npush: {interval: "+
		"5ms}\nadmin: {address: '%s'}\ndiscovery: %s\n",
		ingests, testToken, admin, discovery)
}

// freeAddress returns an address on which nothing listens, and which the kernel gives to nobody who asks for any port.
func freeAddress(t testing.TB) string {
	port, err := stack.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	return stack.Address(port)
}

// start runs the command with a configuration until the test ends or stop is called.
func start(t testing.TB, ingests, discovery string) *running {
	t.Helper()
	return startWith(t, func(admin string) string { return configYAML(admin, ingests, discovery) })
}

// startWith is start with a whole configuration, made for an admin address, and further arguments.
func startWith(t testing.TB, document func(admin string) string, more ...string) *running {
	t.Helper()
	r := &running{t: t, path: filepath.Join(t.TempDir(), "sidecar.yaml"), admin: freeAddress(t), log: &harness.Log{}}
	writeFile(t, r.path, document(r.admin))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() { done <- Command(ctx, append([]string{"-c", r.path}, more...), io.Discard, r.log) }()
	r.stop = sync.OnceValue(func() int { cancel(); return <-done })
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Logf("log:\n%s", r.log)
		}
	})
	return r
}

func (r *running) get(path string) (status int, body string) {
	response, err := http.Get("http://" + r.admin + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	content, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(content)
}

// writeFile replaces a file by renaming, as editors do.
func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
