package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// staleAfter is when samples go stale on the listeners neutral, exclude and last. On all others they do not.
const staleAfter = 500 * time.Millisecond

// models are what the simulated servers answer to.
var models = []string{"sim-model", "m-v1", "m-v2", "s", longModel, oddModel, textModel}

// Names of models that are longer than most, and that JSON has to quote.
const (
	longModel = "a-model/with-a-name-that-is-much-longer-than-the-one-it-stands-for"
	oddModel  = "a \"b\" \\c é😀\t"
)

// smallBody is the longest body that the listener small takes.
const smallBody = 64 << 10

// fixture is a cell's Envoy with its servers, shared by all tests.
type fixture struct {
	*harness.Envoy
	servers  []*harness.Server
	scripted *harness.Scripted
	// dead are addresses in the cluster that refuse connections.
	dead []string
	// shortest is the shortest queue that a server shows, see move.
	shortest int
}

// fixtures start with the first test that needs them.
var fixtures = map[harness.Cell]func() (*fixture, error){}

// started are the fixtures to stop.
var started struct {
	sync.Mutex
	fixtures []*fixture
}

func TestMain(m *testing.M) {
	for _, cell := range harness.Cells() {
		fixtures[cell] = sync.OnceValues(func() (*fixture, error) { return newFixture(cell) })
	}
	code := m.Run()
	for _, f := range started.fixtures {
		f.stop()
	}
	harness.Clean()
	os.Exit(code)
}

// inCells runs a test in each cell. Every test finds sim-0 as the best endpoint.
func inCells(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	eachCell(t, func(*testing.T) {}, test)
}

// inCellsAtOnce is inCells in all cells at the same time, for tests that a busy machine does not disturb.
func inCellsAtOnce(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	eachCell(t, (*testing.T).Parallel, test)
}

func eachCell(t *testing.T, begin func(*testing.T), test func(t *testing.T, f *fixture)) {
	t.Helper()
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			begin(t)
			f, err := fixtures[cell]()
			if err != nil {
				t.Fatal(err)
			}
			f.LogOnFailure(t)
			f.prefer(t, "sim-0")
			test(t, f)
		})
	}
}

func newFixture(cell harness.Cell) (*fixture, error) {
	f := &fixture{}
	if err := f.startServers(); err != nil {
		f.stop()
		return nil, err
	}
	socket, err := harness.SocketPath(cell.String())
	if err != nil {
		return nil, err
	}
	all := append(listeners(cell, socket), pluginListeners(cell, f.servers[0].Address)...)
	if f.Envoy, err = harness.Start(cell, f.addresses(), all...); err != nil {
		f.stop()
		return nil, err
	}
	started.Lock()
	defer started.Unlock()
	started.fixtures = append(started.fixtures, f)
	return f, nil
}

func (f *fixture) startServers() error {
	for i := range 4 {
		server, err := harness.NewServer(
			sim.Config{Name: fmt.Sprintf("sim-%d", i), Models: models, OutputTokens: 8, Blocks: 1 << 18})
		if err != nil {
			return err
		}
		f.servers = append(f.servers, server)
	}
	for range 2 {
		dead, err := harness.DeadAddress()
		if err != nil {
			return err
		}
		f.dead = append(f.dead, dead)
	}
	var err error
	f.scripted, err = harness.NewScripted()
	return err
}

func (f *fixture) addresses() []string {
	all := append([]string{f.scripted.Address}, f.dead...)
	for _, s := range f.servers {
		all = append(all, s.Address)
	}
	return all
}

func (f *fixture) stop() {
	f.Stop()
	for _, s := range f.servers {
		s.Close()
	}
	if f.scripted != nil {
		f.scripted.Close()
	}
}

// listeners are those of every cell. They differ in the plug-in's configuration alone.
func listeners(cell harness.Cell, socket string) []*harness.Listener {
	ranked := 1
	if cell.OverrideHost() {
		ranked = 3
	}
	plugin := func(after time.Duration, policy string) map[string]any {
		// Without load correction and whatever fails, the choice follows from the metrics alone, which most tests are
		// about.
		return map[string]any{
			"config": harness.Document(ranked), "stale": map[string]any{"after": after.String(), "policy": policy},
			"load": map[string]any{"correction": false}, "failing": map[string]any{"policy": "ignore"},
		}
	}
	failing := plugin(time.Hour, "neutral")
	delete(failing, "failing")
	fresh := plugin(time.Hour, "neutral")
	fresh["strip"] = []string{"x-data-parallel-rank"}
	corrected := plugin(time.Hour, "neutral")
	delete(corrected, "load")
	corrected["config"] = map[string]any{
		"plugins": []map[string]any{{"type": "running-requests-size-scorer"}, {"type": "queue-scorer"}}}
	explained := plugin(time.Hour, "neutral")
	explained["debug"] = true
	label := map[string]any{"type": "by-label",
		"parameters": map[string]any{"label": "role", "validValues": []string{"nobody"}}}
	growing := alone("")
	growing["config"] = map[string]any{"plugins": []map[string]any{{"type": "prefix-cache-scorer",
		"parameters": map[string]any{"autoTune": false, "doubleEveryBlocks": 4, "maxPrefixBlocksToMatch": 12}}}}
	return []*harness.Listener{
		{Name: "requests", Plugin: fresh},
		{Name: "corrected", Plugin: corrected},
		{Name: "failing", Plugin: failing},
		{Name: "active", Plugin: alone("active-request-scorer")},
		{Name: "prefix", Plugin: alone("prefix-cache-scorer")},
		{Name: "growing", Plugin: growing},
		{Name: "virtual", Plugin: virtualModels()},
		{Name: "salted", Plugin: salted("secret", saltSecret)},
		{Name: "small", Plugin: fresh, MaxBodyBytes: smallBody},
		{Name: "debug", Plugin: explained},
		{Name: "nobody", Plugin: map[string]any{"config": harness.Document(1, label)}},
		{Name: "neutral", Plugin: plugin(staleAfter, "neutral")},
		{Name: "exclude", Plugin: plugin(staleAfter, "exclude")},
		{Name: "last", Plugin: plugin(staleAfter, "last")},
		{Name: "zero", Plugin: plugin(staleAfter, "zero")},
		{Name: "ingest", Plugin: fresh, Ingest: true, MaxBodyBytes: 8 << 20},
		{Name: "socket", Plugin: fresh, Ingest: true, MaxBodyBytes: 8 << 20, Socket: socket},
	}
}

// alone is a configuration whose only scorer is the one named.
func alone(scorer string) map[string]any {
	return map[string]any{
		"config": map[string]any{"plugins": []map[string]any{{"type": scorer}}},
		"load":   map[string]any{"correction": false}, "debug": true,
	}
}

// pool is the four simulated servers, of which the named ones have an empty queue.
func (f *fixture) pool(best ...string) []harness.Endpoint {
	var endpoints []harness.Endpoint
	for _, s := range f.servers {
		e := harness.Endpoint{Name: s.Name, Address: s.Address, Waiting: 10}
		for _, name := range best {
			if name == s.Name {
				e.Waiting = 0
			}
		}
		endpoints = append(endpoints, e)
	}
	return endpoints
}

// prefer publishes a pool in which one server is the best, and forgets what the servers have received.
func (f *fixture) prefer(t testing.TB, name string) {
	t.Helper()
	f.Publish(t, f.pool(name)...)
	f.forget(t)
}

// forget empties the servers' logs.
func (f *fixture) forget(t testing.TB) {
	t.Helper()
	for _, s := range f.servers {
		request, err := http.NewRequest(http.MethodDelete, "http://"+s.Address+"/sim/requests", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
}

// received are the requests that a server has got, of all servers without a name.
func (f *fixture) received(name string) []sim.Received {
	var all []sim.Received
	for _, s := range f.servers {
		if name == "" || s.Name == name {
			all = append(all, s.Requests()...)
		}
	}
	return all
}

// only is the one request that reached the named server.
func (f *fixture) only(t testing.TB, name string) sim.Received {
	t.Helper()
	got := f.received(name)
	if len(got) != 1 {
		t.Fatalf("%s received %d requests, want 1", name, len(got))
	}
	return got[0]
}

const (
	chatPath = "/v1/chat/completions"
	chatBody = `{"model":"sim-model","messages":[{"role":"user","content":"hello"}],"max_tokens":2}`
)

// startEnvoy starts an Envoy whose listeners requests and ingest have one plug-in. It ends with the test.
func startEnvoy(t testing.TB, o harness.Options, cell harness.Cell, hosts []string,
	plugin map[string]any) *harness.Envoy {
	t.Helper()
	envoy, err := harness.StartWith(o, cell, hosts, &harness.Listener{Name: "requests", Plugin: plugin},
		&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	return envoy
}

// askFor sends a chat that asks an Envoy's requests listener for a model.
func askFor(t testing.TB, envoy *harness.Envoy, model string) harness.Answer {
	t.Helper()
	body := strings.Replace(chatBody, "sim-model", model, 1)
	return harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), body, false))
}

// wantServer checks that a request succeeded at the named server.
func wantServer(t testing.TB, got harness.Answer, want string) {
	t.Helper()
	if got.Status != http.StatusOK || got.Server() != want {
		t.Fatalf("got %d from %q, want 200 from %q; body: %.300s", got.Status, got.Server(), want, got.Body)
	}
}

// wantAnyServer checks that some server answered, whatever it said.
func wantAnyServer(t testing.TB, got harness.Answer) {
	t.Helper()
	if got.Server() == "" {
		t.Fatalf("got %d from Envoy, want an answer of a server; %s: %.300s", got.Status,
			got.Header.Get("X-Pintle-Reason"), got.Body)
	}
}
