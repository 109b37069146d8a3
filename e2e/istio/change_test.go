//go:build istio

package istio

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// load is clients that ask without a pause.
type load struct {
	stopped atomic.Bool
	served  atomic.Int64
	clients sync.WaitGroup
	mu      sync.Mutex
	lost    []string
}

// startLoad has clients ask on connections that they keep.
func (g *gateway) startLoad(t *testing.T) *load {
	t.Helper()
	const clients = 4
	l := &load{}
	for range clients {
		client := harness.Client(t, false)
		l.clients.Go(func() {
			for !l.stopped.Load() {
				got, err := g.try(client, chatBody)
				if err == nil && got.Status == http.StatusOK {
					l.served.Add(1)
					continue
				}
				l.mu.Lock()
				l.lost = append(l.lost, fmt.Sprintf("%d %s %v", got.Status, got.Body, err))
				l.mu.Unlock()
			}
		})
	}
	t.Cleanup(func() { l.stopped.Store(true); l.clients.Wait() })
	return l
}

// more waits until n more requests were served.
func (l *load) more(t testing.TB, n int64) {
	t.Helper()
	from := l.served.Load()
	harness.WaitFor(t, pushLimit, "requests to be served", func() (bool, string) {
		return l.served.Load() >= from+n, fmt.Sprintf("%d of %d", l.served.Load()-from, n)
	})
}

// end stops the clients; no request may have been lost.
func (l *load) end(t testing.TB) {
	t.Helper()
	l.stopped.Store(true)
	l.clients.Wait()
	if len(l.lost) > 0 {
		t.Errorf("%d requests of %d were lost, the first: %s", len(l.lost), l.served.Load()+int64(len(l.lost)),
			l.lost[0])
	}
	t.Logf("%d requests served, %d lost", l.served.Load(), len(l.lost))
}

// startStream begins an answer that takes some seconds. end reads the rest of it, which must be whole.
func (g *gateway) startStream(t *testing.T) (end func()) {
	t.Helper()
	const tokens = 600
	body := fmt.Sprintf(
		`{"model":"sim-model","messages":[{"role":"user","content":"hello"}],"max_tokens":%d,"ignore_eos":true,"stream":true}`, tokens)
	response, err := harness.Client(t, false).Post("http://"+g.requests+chatPath, "application/json",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("stream: got %s, want 200", response.Status)
	}
	return func() {
		t.Helper()
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if n := strings.Count(string(text), "data: {"); err != nil || n < tokens ||
			!strings.HasSuffix(string(text), "data: [DONE]\n\n") {
			t.Errorf("stream: got %d events and %v, want %d and the end", n, err, tokens)
		}
	}
}

// byModel is an EndpointPickerConfig by which a request goes to a server that has its model.
var byModel = map[string]any{
	"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig",
	"featureGates": []any{"dataLayer"},
	"plugins": []any{
		map[string]any{"type": "models-data-source"}, map[string]any{"type": "model-server-protocol-models"},
		map[string]any{"type": "queue-scorer"}, map[string]any{"type": "max-score-picker"},
	},
	"data": map[string]any{"sources": []any{map[string]any{
		"pluginRef":  "models-data-source",
		"extractors": []any{map[string]any{"pluginRef": "model-server-protocol-models"}},
	}}},
}

// ofModel is a chat request for a model.
func ofModel(model string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"hello"}],"max_tokens":2}`
}

// TestLiveChange: another pluginConfig takes over under load, on all workers, and no request is lost.
func TestLiveChange(t *testing.T) {
	g := newGateway(t, render(t, "overlays/file"), settings{})
	g.prefer(t, 0)
	running := g.startLoad(t)
	running.more(t, 100)
	endStream := g.startStream(t)
	plugin := g.find("WasmPlugin", "pintle")
	shipped := plugin.At("spec", "pluginConfig", "config")
	for range 2 {
		plugin.Set(byModel, "spec", "pluginConfig", "config")
		g.apply(t, "WasmPlugin", "pintle")
		began := time.Now()
		g.waitRefused(t, "nobody-has-it")
		t.Logf("the new configuration was in force on all workers %v after it was applied",
			time.Since(began).Round(time.Millisecond))
		for i := range g.servers {
			for range 8 {
				if got := g.chat(t, ofModel(fmt.Sprintf("model-%d", i))); got.Server() != g.servers[i].Name {
					t.Errorf("model-%d: got %d from %q, want %s", i, got.Status, got.Server(), g.servers[i].Name)
				}
			}
		}
		running.more(t, 100)
		plugin.Set(shipped, "spec", "pluginConfig", "config")
		g.apply(t, "WasmPlugin", "pintle")
		g.settle(t, "sim-0")
	}
	running.more(t, 100)
	running.end(t)
	endStream()
}

// apply writes one object again.
func (g *gateway) apply(t testing.TB, kind, name string) {
	t.Helper()
	if err := control.Apply(g.find(kind, name)); err != nil {
		t.Fatal(err)
	}
}

// waitRefused waits until every worker finds that no server has a model.
func (g *gateway) waitRefused(t testing.TB, model string) {
	t.Helper()
	const inRow = 12
	n := 0
	harness.WaitFor(t, pushLimit, "404 for "+model, func() (bool, string) {
		got := g.chat(t, ofModel(model))
		if n++; got.Status != http.StatusNotFound || got.Header.Get("X-Pintle-Reason") != "model_not_found" {
			n = 0
		}
		return n == inRow, fmt.Sprintf("%d %s", got.Status, got.Body)
	})
}

// TestPluginDeleted: without its WasmPlugin the gateway reaches no server that a client names, with either destination;
// with it everything is as before.
func TestPluginDeleted(t *testing.T) {
	for _, overlay := range []string{"file", "override-host"} {
		t.Run(overlay, func(t *testing.T) {
			g := newGateway(t, render(t, "overlays/"+overlay), settings{})
			g.prefer(t, 0)
			endStream := g.startStream(t)
			if err := control.Delete(g.find("WasmPlugin", "pintle")); err != nil {
				t.Fatal(err)
			}
			g.waitGone(t)
			g.wantUnsteered(t)
			g.apply(t, "WasmPlugin", "pintle")
			began := time.Now()
			g.settle(t, "sim-0")
			t.Logf("requests were steered again %v after the plug-in was", time.Since(began).Round(time.Millisecond))
			g.prefer(t, 2)
			endStream()
		})
	}
}

// waitGone waits until no listener has the plug-in.
func (g *gateway) waitGone(t testing.TB) {
	t.Helper()
	client := harness.Client(t, false)
	harness.WaitFor(t, pushLimit, "the plug-in to go", func() (bool, string) {
		got, err := g.try(client, "{")
		if err != nil {
			t.Fatal(err)
		}
		return got.Header.Get("X-Pintle-Reason") == "", got.Header.Get("X-Pintle-Reason")
	})
}

// wantUnsteered sends requests that name a server to a gateway without the plug-in.
func (g *gateway) wantUnsteered(t *testing.T) {
	t.Helper()
	trap := harness.NewTrap(t)
	servers := map[string]bool{}
	for range 12 {
		for _, address := range []string{trap.Address, g.servers[1].Address} {
			request := harness.Request(t, http.MethodPost, "http://"+g.requests+chatPath, chatBody, false)
			for _, name := range routingHeaders {
				request.Header.Set(name, address)
			}
			got := harness.Send(t, harness.Client(t, false), request)
			servers[got.Server()] = true
			if !g.overrideHost() && got.Status != http.StatusServiceUnavailable {
				t.Errorf("got %d from %q, want 503", got.Status, got.Server())
			}
		}
	}
	if g.overrideHost() && (len(servers) != len(g.servers) || servers[""]) {
		t.Errorf("answers came from %v, want every server in its turn", servers)
	}
}

// TestIstiodKilled: without istiod the gateway goes on and sees every change of load; with the next istiod it takes
// changes again.
func TestIstiodKilled(t *testing.T) {
	g := newGateway(t, render(t, "overlays/override-host"), settings{})
	g.prefer(t, 0)
	running := g.startLoad(t)
	running.more(t, 100)
	endStream := g.startStream(t)
	control.KillIstiod()
	g.prefer(t, 1)
	running.more(t, 200)
	g.prefer(t, 2)
	if err := control.StartIstiod(); err != nil {
		t.Fatal(err)
	}
	g.find("WasmPlugin", "pintle").Set(byModel, "spec", "pluginConfig", "config")
	g.apply(t, "WasmPlugin", "pintle")
	g.waitRefused(t, "nobody-has-it")
	running.more(t, 100)
	running.end(t)
	endStream()
}

// TestMistake: a pluginConfig with a mistake is refused by the gateway, which goes on by the one that it has.
func TestMistake(t *testing.T) {
	g := newGateway(t, render(t, "overlays/file"), settings{})
	g.prefer(t, 0)
	running := g.startLoad(t)
	running.more(t, 100)
	plugin := g.find("WasmPlugin", "pintle")
	plugin.Set("wait", "spec", "pluginConfig", "hold")
	g.apply(t, "WasmPlugin", "pintle")
	const line = `pintle: hold: "wait" is not one of buffer, pause`
	harness.WaitFor(t, pushLimit, "the mistake in the log",
		func() (bool, string) { return g.Logged(line) > 0, g.Log() })
	running.more(t, 200)
	g.prefer(t, 1)
	g.OverlookLog()
	plugin.Set("buffer", "spec", "pluginConfig", "hold")
	g.apply(t, "WasmPlugin", "pintle")
	g.prefer(t, 2)
	running.end(t)
}
