package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestRestartedServer: a server whose process is another than before has nothing of the prompts that it answered,
// whether its page says when it started or shows less done than before. Until then a prompt goes where it was answered,
// however long the queue there.
func TestRestartedServer(t *testing.T) {
	const idle, busy, done = 0, 20, 1e9
	prompt := fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":%q}]}`,
		strings.Repeat("once upon a time ", 200))
	for _, test := range []struct {
		name          string
		cell          harness.Cell
		before, after map[string]float64
	}{
		{"start", harness.Cell{Hold: "pause", Destination: "original-dst"}, map[string]float64{"start": 1.7e9},
			map[string]float64{"start": 1.7e9 + 10}},
		{
			"less done", harness.Cell{Hold: "buffer", Destination: "override-host"},
			map[string]float64{"start": 0, "promptTokens": done},
			map[string]float64{"start": 0, "promptTokens": done / 2},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProcesses(t, test.cell)
			show := func(server int, waiting float64, process map[string]float64) {
				pins := map[string]float64{"waiting": waiting}
				for key, value := range process {
					pins[key] = value
				}
				p.servers[server].Pin(t, pins)
			}
			show(0, idle, test.before)
			show(1, busy, test.before)
			p.wantAt(t, 0)
			harness.WaitFor(t, 10*time.Second, "the prompt to be answered", func() (bool, string) {
				got := p.send(t, prompt)
				return got == p.servers[0].Name, got
			})
			show(0, busy, test.before)
			show(1, idle, test.before)
			p.wantAt(t, 1)
			for range 8 {
				if got := p.send(t, prompt); got != p.servers[0].Name {
					t.Fatalf("the prompt went to %q, want %q, which had answered it", got, p.servers[0].Name)
				}
			}
			// What is sent to it from now on it has again, so the prompt has to wait until the new process is known.
			show(0, idle, test.after)
			show(1, busy, test.before)
			p.wantAt(t, 0)
			show(0, busy, test.after)
			show(1, idle, test.before)
			p.wantAt(t, 1)
			if got := p.send(t, prompt); got != p.servers[1].Name {
				t.Errorf("the prompt went to %q after the restart, want %q by its empty queue", got, p.servers[1].Name)
			}
		})
	}
}

// processes are two servers behind an Envoy with a sidecar, by prefixes first and then by queues.
type processes struct {
	*harness.Envoy
	servers []*harness.Server
	others  int // prompts so far that no server had
}

func newProcesses(t *testing.T, cell harness.Cell) *processes {
	t.Helper()
	p := &processes{}
	var addresses []string
	for i := range 2 {
		server, err := harness.NewServer(sim.Config{Name: fmt.Sprintf("process-%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		p.servers, addresses = append(p.servers, server), append(addresses, server.Address)
	}
	plugin := map[string]any{"load": map[string]any{"correction": false}, "config": map[string]any{
		"plugins": []map[string]any{{"type": "prefix-cache-scorer"}, {"type": "queue-scorer"},
			{"type": "max-score-picker"}},
		"schedulingProfiles": []map[string]any{{"name": "default", "plugins": []map[string]any{
			{"pluginRef": "prefix-cache-scorer", "weight": 3}, {"pluginRef": "queue-scorer", "weight": 1},
			{"pluginRef": "max-score-picker"},
		}}},
	}}
	p.Envoy = startEnvoy(t, harness.Options{}, cell, addresses, plugin)
	harness.StartSidecar(t, p.URL("ingest", harness.IngestPath), p.servers...)
	return p
}

// send returns which server answered.
func (p *processes) send(t *testing.T, body string) string {
	t.Helper()
	answer := harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, p.URL("requests", chatPath), body, false))
	if answer.Status != http.StatusOK {
		t.Fatalf("got %d %s, want 200", answer.Status, answer.Body)
	}
	return answer.Header.Get("X-Sim-Server")
}

// wantAt waits until prompts that no server has go to one, by its queue.
func (p *processes) wantAt(t *testing.T, server int) {
	t.Helper()
	harness.WaitFor(t, 10*time.Second, "the queues to be known", func() (bool, string) {
		for range 8 {
			p.others++
			body := fmt.Sprintf(
				`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":"%d other"}]}`, p.others)
			if got := p.send(t, body); got != p.servers[server].Name {
				return false, got
			}
		}
		return true, ""
	})
}
