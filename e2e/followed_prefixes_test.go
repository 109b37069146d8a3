package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	status "github.com/pintle-dev/pintle/internal/sidecar/traffic"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestSidecarKnowsPrefixes: a sidecar with follow.prefixes says of each prompt what the filter believed: which endpoint
// had how much of it.
func TestSidecarKnowsPrefixes(t *testing.T) {
	t.Parallel()
	const conversations, turns = 8, 5
	w := newPrefixWorld(t)
	held, seen := map[string]int{}, 0
	for turn := range turns {
		for c := range conversations {
			prompt := strings.Repeat(fmt.Sprint("conversation ", c, " "), 60*(turn+1))
			server, scores := w.ask(t, prompt)
			x := w.decision(t)
			if x.Endpoint != server || x.Held == nil || x.Held.Blocks == 0 {
				t.Fatalf("turn %d of %d at %s: the sidecar tells %+v", turn, c, server, x)
			}
			for _, s := range w.servers {
				had := x.Held.Of[s.Name]
				if want := scores[s.Name]; math.Abs(float64(had)/float64(x.Held.Blocks)-want) > 1e-3 {
					t.Errorf("turn %d of %d: the sidecar says that %s had %d of %d blocks, the filter %v of all",
						turn, c, s.Name, had, x.Held.Blocks, want)
				}
				if had > 0 {
					seen++
				}
			}
			held[server] += x.Held.Blocks - x.Held.Of[server]
		}
	}
	if seen < conversations*(turns-1) {
		t.Errorf("an endpoint had something of a prompt %d times, want %d or more", seen, conversations*(turns-1))
	}
	w.wantTold(t, held)
}

// prefixWorld is an Envoy with servers and a sidecar that knows their prefixes, which nothing else asks.
type prefixWorld struct {
	*harness.Envoy
	servers []*harness.Server
	admin   string
	last    uint64 // decision
}

func newPrefixWorld(t *testing.T) *prefixWorld {
	t.Helper()
	w := &prefixWorld{}
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	w.admin = fmt.Sprint("http://127.0.0.1:", ports[0])
	var hosts []string
	discovery := ""
	for i := range 3 {
		server, err := harness.NewServer(sim.Config{Name: fmt.Sprint("sim-", i), OutputTokens: 2, Blocks: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		w.servers, hosts = append(w.servers, server), append(hosts, server.Address)
		discovery += fmt.Sprintf("  - {name: %q, address: %q, engine: vllm}\n", server.Name, server.Address)
	}
	plugin := map[string]any{"debug": true, "config": map[string]any{"plugins": []map[string]any{
		{"type": "prefix-cache-scorer"}, {"type": "no-hit-lru-scorer"}}}}
	if w.Envoy, err = harness.Start(harness.Cell{Hold: "pause", Destination: "original-dst"}, hosts,
		&harness.Listener{Name: "requests", Plugin: plugin},
		&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	w.LogOnFailure(t)
	harness.StartSidecarWith(t, fmt.Sprintf("envoy: {ingest: %q, token: %q}\nadmin: {address: \"127.0.0.1:%d\"}\n"+
		"follow: {prefixes: true, sample: 1, interval: 20ms}\ndiscovery:\n  static:\n%s",
		w.URL("ingest", harness.IngestPath), harness.Token, ports[0], discovery))
	explained := 0 // in a row: each worker has to learn that it is followed
	harness.WaitFor(t, 30*time.Second, "all decisions to be explained", func() (bool, string) {
		if server, _ := w.ask(t, "short"); server != "" && w.decision(t).Explained {
			explained++
		} else {
			explained = 0
		}
		return explained == 20, fmt.Sprint(explained)
	})
	return w
}

// ask sends a prompt, and returns where it went and what part of it the filter believes each server to have.
func (w *prefixWorld) ask(t *testing.T, prompt string) (server string, scores map[string]float64) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":%q}]}`, prompt)
	got := harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, w.URL("requests", chatPath), body, false))
	if got.Status != http.StatusOK {
		return "", nil // the first snapshot has yet to come
	}
	scores = map[string]float64{}
	for _, s := range explained(t, got).Scores {
		if s[2] == "prefix-cache-scorer" {
			scores[fmt.Sprint(s[1])], _ = s[3].(float64)
		}
	}
	return got.Server(), scores
}

// decision is the next one, once it is told that its answer has come.
func (w *prefixWorld) decision(t *testing.T) (x status.Explained) {
	t.Helper()
	harness.WaitFor(t, 10*time.Second, "the decision to be told", func() (bool, string) {
		var all status.Changed
		w.get(t, "/decisions", &all)
		for _, d := range all.Decisions {
			if d.ID > w.last && d.Status != "" {
				w.last = d.ID
				w.get(t, fmt.Sprint("/decisions/", d.ID), &x)
				return true, ""
			}
		}
		return false, fmt.Sprint(len(all.Decisions), " decisions")
	})
	return x
}

func (w *prefixWorld) get(t *testing.T, path string, into any) {
	t.Helper()
	response, err := http.Get(w.admin + path)
	if err != nil {
		return // it starts
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %.200s: %v", path, text, err)
	}
}

// wantTold: the blocks that prompts have left at servers, and their room, are told of them.
func (w *prefixWorld) wantTold(t *testing.T, held map[string]int) {
	t.Helper()
	var told struct {
		Endpoints []struct {
			Name     string
			Prefixes *status.Prefixes
		}
	}
	w.get(t, "/status", &told)
	for _, e := range told.Endpoints {
		// 65,536 pages of 16 tokens are 16,384 blocks of 64.
		if e.Prefixes == nil || e.Prefixes.Blocks != held[e.Name] || e.Prefixes.Capacity != 16384 {
			t.Errorf("%s: told %+v, want %d blocks of 16384", e.Name, e.Prefixes, held[e.Name])
		}
	}
	if len(told.Endpoints) != len(w.servers) || len(held) < 2 {
		t.Errorf("%d endpoints are told of, prompts went to %d, want %d and some of them", len(told.Endpoints),
			len(held), len(w.servers))
	}
}
