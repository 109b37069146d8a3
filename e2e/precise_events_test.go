package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/precise"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

// caches is an Envoy before simulated servers that publish KV events, and a place for the sidecar that follows them.
type caches struct {
	*harness.Envoy
	t       *testing.T
	servers []*harness.Server
	// prefix is where the sidecar is asked.
	prefix string
}

// newCaches starts all but the sidecar. The filter decides by document.
func newCaches(t *testing.T, document map[string]any, names ...string) *caches {
	t.Helper()
	var servers []sim.Config
	for _, name := range names {
		servers = append(servers, sim.Config{Name: name})
	}
	return newCachesOf(t, document, servers...)
}

// newCachesOf is newCaches for servers that differ by more than their names.
func newCachesOf(t *testing.T, document map[string]any, servers ...sim.Config) *caches {
	t.Helper()
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	c := &caches{t: t, prefix: fmt.Sprint("127.0.0.1:", ports[0])}
	var hosts []string
	for _, config := range servers {
		config.Models = []string{"m"}
		server, err := harness.NewServer(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		publish, err := harness.FreePorts(2) // which nobody else gets while it is gone
		if err != nil {
			t.Fatal(err)
		}
		err = server.PublishEvents(sim.EventOptions{Address: stack.Address(publish[0]),
			Replay: stack.Address(publish[1]), Endpoint: server.Address})
		if err != nil {
			t.Fatal(err)
		}
		c.servers, hosts = append(c.servers, server), append(hosts, server.Address)
	}
	asking := map[string]any{"config": document, "debug": true,
		"sidecar": map[string]any{"prefixTimeout": "20s", "timeout": "20s"}} // on a busy machine nothing is quick
	c.Envoy, err = harness.StartWith(harness.Options{Edit: withCluster("pintle-sidecar", c.prefix)}, recoveryCells[0],
		hosts, &harness.Listener{Name: "requests", Plugin: asking},
		&harness.Listener{Name: "ingest", Plugin: asking, Ingest: true, MaxBodyBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	c.LogOnFailure(t)
	return c
}

// exactly has requests go by exact prefix caches alone. Who reads it hears the servers of a namespace, and knows the
// others by Valkey; without one it hears all.
func exactly(valkey *harness.Valkey, namespace string) map[string]any {
	index, events := map[string]any{}, map[string]any{}
	if valkey != nil {
		index["valkeyConfig"] = map[string]any{"address": valkey.Address}
		events["podDiscoveryConfig"] = map[string]any{"podNamespace": namespace}
	}
	return map[string]any{"plugins": []map[string]any{{"type": "precise-prefix-cache-scorer",
		"parameters": map[string]any{
			"tokenProcessorConfig": map[string]any{"blockSize": 16},
			"indexerConfig": map[string]any{"tokenizersPoolConfig": map[string]any{"modelName": "m"},
				"kvBlockIndexConfig": index},
			"kvEventsConfig": events,
		}}}}
}

// follow starts a sidecar that listens to the servers' events, as document says, and feeds an Envoy.
func (c *caches) follow(document map[string]any, ingest, prefix string) *harness.Sidecar {
	c.t.Helper()
	text, err := json.Marshal(map[string]any{"config": document})
	path := filepath.Join(c.t.TempDir(), "document.yaml")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	var configuration strings.Builder
	fmt.Fprintf(&configuration, "envoy: {ingest: %q, token: %q}\nadmin: {address: \"127.0.0.1:0\"}\n"+
		"prefix: {address: %q}\ndiscovery:\n  static:\n", ingest, harness.Token, prefix)
	for _, s := range c.servers {
		fmt.Fprintf(&configuration, "  - {name: %q, address: %q, engine: vllm}\n", s.Name, s.Address)
	}
	return harness.StartSidecarWith(c.t, configuration.String(), "-plugins", path)
}

// chatOf is a request with a text.
func chatOf(text string) string {
	return fmt.Sprintf(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":%q}]}`, text)
}

// tell sends a request to a server itself, or to its control surface.
func (c *caches) tell(s *harness.Server, path, body string) (answer string) {
	c.t.Helper()
	response, err := http.Post("http://"+s.Address+path, "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		c.t.Fatalf("%s to %s: got %s, %v, %s", path, s.Name, response.Status, err, text)
	}
	return string(text)
}

// holders asks the sidecar as the filter does. It is by name how many blocks of a request servers have; ok is whether
// the sidecar can tell.
func (c *caches) holders(body string) (blocks map[string]int, ok bool) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "http://"+c.prefix+precise.Path,
		strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+harness.Token)
	request.Header.Set("X-Pintle-Api", "chat")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, false
	}
	defer response.Body.Close()
	var m scoring.PreciseMatches
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !m.Read(text) {
		return nil, false
	}
	blocks = map[string]int{}
	for _, s := range c.servers {
		if n := m.Holder(journal.HashName(s.Name)).Blocks; n > 0 {
			blocks[s.Name] = n
		}
	}
	return blocks, true
}

// truth is what the servers' caches hold of a request.
func (c *caches) truth(body string) map[string]int {
	c.t.Helper()
	all := map[string]int{}
	for _, s := range c.servers {
		var found struct{ Blocks int }
		if err := json.Unmarshal([]byte(c.tell(s, "/sim/lookup", body)), &found); err != nil {
			c.t.Fatal(err)
		}
		if found.Blocks > 0 {
			all[s.Name] = found.Blocks
		}
	}
	return all
}

// wantTruth waits until the sidecar says of requests what is in the servers' caches, and returns how long that took.
func (c *caches) wantTruth(bodies ...string) time.Duration {
	c.t.Helper()
	began := time.Now()
	harness.WaitFor(c.t, 30*time.Second, "the index to be true", func() (bool, string) {
		for _, body := range bodies {
			said, ok := c.holders(body)
			if truth := c.truth(body); !ok || !maps.Equal(said, truth) {
				return false, fmt.Sprintf("%v, want %v", said, truth)
			}
		}
		return true, ""
	})
	return time.Since(began)
}

// send sends a request through Envoy.
func (c *caches) send(body string) harness.Answer {
	c.t.Helper()
	return harness.Send(c.t, harness.Client(c.t, false),
		harness.Request(c.t, http.MethodPost, c.URL("requests", chatPath), body, false))
}

// TestPreciseCaches: what the filter decides by exact prefix caches, with real sidecars and simulated servers that
// publish events. With a real Valkey the sidecar that is asked hears two servers; the third is heard by another one.
func TestPreciseCaches(t *testing.T) {
	harness.Long(t)
	for _, tc := range []struct {
		name   string
		valkey bool
	}{{"in Valkey", true}, {"in memory", false}} {
		t.Run(tc.name, func(t *testing.T) {
			k := &kills{}
			if tc.valkey {
				k.valkey = harness.StartValkey(t, "--appendonly", "no")
			}
			k.caches = newCaches(t, exactly(k.valkey, "here"), "here/a", "here/b", "there/c")
			if k.startHere(); tc.valkey {
				k.other = harness.NewGateway(t).URL
				k.startThere()
			}
			harness.WaitFor(t, 30*time.Second, "the sidecar to be asked", func() (bool, string) {
				got := k.send(chatOf(strings.Repeat("is it there? ", 20)))
				return strings.Contains(got.Header.Get("X-Pintle-Explain"), `"prefix":{"state":"known"`), fmt.Sprint(got)
			})
			t.Run("events", func(t *testing.T) { followsEvents(t, k.caches) })
			t.Run("kills", func(t *testing.T) { survivesKills(t, k) })
		})
	}
}

// followsEvents: a request goes where the servers' own events say that its blocks are, though no such request has gone
// there through Envoy; after the cache was cleared it no longer does.
func followsEvents(t *testing.T, c *caches) {
	wantFrom := func(body string, s *harness.Server) {
		t.Helper()
		got := c.send(body)
		explained := got.Header.Get("X-Pintle-Explain")
		if got.Server() != s.Name || !strings.Contains(explained, `"matched":[["`+s.Name+`",`) {
			t.Errorf("got %d from %s, want %s: %s", got.Status, got.Server(), s.Name, explained)
		}
	}
	for i, s := range c.servers {
		body := chatOf(fmt.Sprint("conversation ", i, strings.Repeat(" and so on", 40)))
		c.tell(s, chatPath, body)
		c.wantTruth(body)
		wantFrom(body, s)
		c.tell(s, "/sim/events", `{"fault":"clear"}`)
		c.wantTruth(body)
		next := c.servers[(i+1)%len(c.servers)]
		c.tell(next, chatPath, body)
		c.wantTruth(body)
		wantFrom(body, next)
	}
}
