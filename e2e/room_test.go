package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// room is an Envoy of one worker before one server, with a store that is out of reach and one that is not.
type room struct {
	*harness.Envoy
	server    *harness.Scripted
	listeners []*harness.Listener
	// changes is how often the configuration was replaced.
	changes int
}

// turnBytes is the size of a turn. Of these 64 fill what a worker keeps.
const turnBytes = 1_000_000

func newRoom(t *testing.T) *room {
	t.Helper()
	dead, err := harness.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	r := &room{listeners: []*harness.Listener{{Name: "requests"},
		{Name: "ingest", Ingest: true, MaxBodyBytes: 8 << 20}}}
	if r.server, err = harness.NewScripted(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.server.Close)
	alive := startStore(t, inMemory(time.Hour))
	o := harness.Options{Workers: 1, Dynamic: true, Args: []string{"--drain-time-s", "1"},
		Edit: func(config string) string { return withCluster("alive", alive)(withCluster("dead", dead)(config)) }}
	r.storeAt("dead")
	if r.Envoy, err = harness.StartWith(o, recoveryCells[0], nil, r.listeners...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	r.LogOnFailure(t)
	r.Publish(t, harness.Endpoint{Name: "a", Address: r.server.Address})
	return r
}

// storeAt writes down which cluster has the store, in a configuration that differs from all before.
func (r *room) storeAt(cluster string) {
	for _, l := range r.listeners {
		l.Plugin = map[string]any{"config": storing(map[string]any{}),
			"sidecar": map[string]any{"cluster": cluster, "timeout": fmt.Sprint(20+r.changes, "s")}}
	}
}

// replace gives the listeners another configuration, and waits until the old one has ended.
func (r *room) replace(t *testing.T, cluster string) {
	t.Helper()
	r.changes++
	r.storeAt(cluster)
	r.Reconfigure(t, nil, r.listeners...)
	harness.WaitFor(t, 30*time.Second, "the old plug-in to end", func() (bool, string) {
		stats := r.Stats(t, "listener_manager.(listener_modified|total_listeners_draining)$")
		return stats["listener_manager.listener_modified"] == int64(len(r.listeners)*r.changes) &&
			stats["listener_manager.total_listeners_draining"] == 0, fmt.Sprint(stats)
	})
}

// send sends a turn to a server that answers with handler.
func (r *room) send(t *testing.T, handler http.HandlerFunc) harness.Answer {
	t.Helper()
	r.server.Script(t, handler)
	body := fmt.Sprintf(`{"model":"m","input":%q}`, strings.Repeat("a ", turnBytes/2))
	return harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, r.URL("requests", "/v1/responses"), body, false))
}

func finished(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id":"resp_1","status":"completed","output":[]}`)
}

// TestRoomIsGivenBack: a worker keeps 64 MiB of conversations that the store has not taken. What servers answered with
// an error, or did not bring to its end, and what a plug-in still had when its configuration was replaced, is room for
// the next ones.
func TestRoomIsGivenBack(t *testing.T) {
	const some = 40
	r := newRoom(t)
	for range some {
		for _, handler := range []http.HandlerFunc{
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		} {
			if got := r.send(t, handler); got.Status < 500 {
				t.Fatalf("got %d, want an error", got.Status)
			}
		}
	}
	for _, next := range []string{"dead", "alive"} {
		for range some {
			if got := r.send(t, finished); got.Status != http.StatusOK {
				t.Fatalf("got %d %s, want 200", got.Status, got.Body)
			}
		}
		r.replace(t, next)
	}
	harness.WaitFor(t, 30*time.Second, "a response to be stored", func() (bool, string) {
		r.send(t, finished)
		stats := r.Stats(t, "wasmcustom.pintle.responses")
		return stats["wasmcustom.pintle.responses.stored"] > 0, fmt.Sprint(stats)
	})
}
