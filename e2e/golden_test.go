package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/explain/golden"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/journal"
)

// goldenElsewhere are the golden cases that other tests show in Envoy, and why.
var goldenElsewhere = map[string]string{
	"aibrix_prefix_cache_environment":      "a VM has one environment: TestRoutingStrategy",
	"pd_profile_handler_port":              "no server is at its port: TestPrimaryPort",
	"precise_prefix_cache_producer":        "a sidecar has to tell: TestPrecise",
	"precise_prefix_cache_scorer":          "a sidecar has to tell: TestPrecise",
	"prefix_based_pd_decider_precise":      "a sidecar has to tell: TestPrecise",
	"prefix_based_pd_decider_precise_cold": "a sidecar has to tell: TestPrecise",
	"stale_after":                          "time passes: TestStaleMetrics",
	"stale_exclude":                        "time passes: TestStaleMetrics",
	"stale_neutral":                        "time passes: TestStaleMetrics",
	"subset":                               "a server has an address of IPv6: TestSubsets",
	"vtc_basic":                            "explain has its requests served: TestVTCBasicCountsWhatServersReport",
}

// TestGoldenInEnvoy: a real Envoy refuses and sends each request of the golden cases as they say, with the same scores,
// headers and model. So every plug-in acts there.
func TestGoldenInEnvoy(t *testing.T) {
	t.Parallel()
	g := newGoldens(t)
	for i := range g.cases {
		t.Run(g.cases[i].Name, func(t *testing.T) { g.cases[i].hold(t, g) })
	}
}

// goldens is an Envoy with a listener for each case, before servers that begin an answer and do not end it: explain
// counts all requests of a case as in flight.
type goldens struct {
	*harness.Envoy
	cases []goldenCase
	// addresses puts those of this test's servers in the place of those that the cases name.
	addresses *strings.Replacer
	arrived   chan *http.Request
}

type goldenCase struct {
	*golden.Case
	number   int
	listener *harness.Listener
	// again is how often it was played before.
	again int
}

// goldenNames are the cases that go by what endpoints are called: others get names of their own, as endpoints of the
// same name have the same past.
var goldenNames = []string{"agent_identity", "session_affinity_filter", "session_affinity_hash",
	"session_affinity_scorer", "session_affinity_scorer_ranks", "session_id_producer"}

func (c goldenCase) prefix() string {
	if slices.Contains(goldenNames, c.Name) {
		return ""
	}
	return fmt.Sprintf("%03d%c-", c.number, 'a'+c.again)
}

func newGoldens(t *testing.T) *goldens {
	t.Helper()
	g := &goldens{arrived: make(chan *http.Request, 64)}
	hosts := g.serve(t)
	all, err := golden.All(harness.Root() + "/internal/explain/testdata")
	if err != nil {
		t.Fatal(err)
	}
	var listeners []*harness.Listener
	for _, c := range all {
		if c.Kind != "want" || goldenElsewhere[c.Name] != "" {
			continue
		}
		c.Config, c.Endpoints = g.addresses.Replace(c.Config), g.addresses.Replace(c.Endpoints)
		c.Result = g.addresses.Replace(c.Result)
		l := &harness.Listener{Name: c.Name, Plugin: goldenPlugin(t, c)}
		g.cases = append(g.cases, goldenCase{c, len(g.cases), l, 0})
		listeners = append(listeners, l)
	}
	listeners = append(listeners, &harness.Listener{Name: "ingest", Ingest: true, MaxBodyBytes: 8 << 20})
	g.Envoy, err = harness.StartWith(harness.Options{Workers: 1},
		harness.Cell{Hold: "pause", Destination: "original-dst"}, hosts, listeners...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	g.LogOnFailure(t)
	return g
}

// instance tells of a case's past.
func (c goldenCase) instance() uint64 { return uint64(c.number)<<8 + uint64(c.again) + 1 }

// serve starts a server at each address that a case may name: 10.0.0.1:8000 and so on.
func (g *goldens) serve(t *testing.T) (hosts []string) {
	t.Helper()
	ports, err := harness.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	pairs := []string{"10.0.0.", "127.77.0."}
	for i, port := range ports {
		pairs = append(pairs, fmt.Sprint("800", i), fmt.Sprint(port))
		for host := range 9 {
			l, err := net.Listen("tcp4", fmt.Sprintf("127.77.0.%d:%d", host+1, port))
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: g}
			t.Cleanup(func() { _ = server.Close() })
			go func() { _ = server.Serve(l) }()
			hosts = append(hosts, l.Addr().String())
		}
	}
	g.addresses = strings.NewReplacer(pairs...)
	return hosts
}

// ServeHTTP implements http.Handler.
func (g *goldens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.arrived <- r
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// forget ends what is in flight, and passes over requests that should not have arrived.
func (c goldenCase) forget(t *testing.T, g *goldens) {
	t.Helper()
	g.relay(t, journal.AppendEvent(nil, &journal.Event{Kind: journal.Gone, Instance: c.instance()}))
	for len(g.arrived) > 0 {
		<-g.arrived
	}
}

// goldenPlugin is the configuration of a case. How a request is held and where snapshots come from are the test's.
func goldenPlugin(t *testing.T, c *golden.Case) map[string]any {
	t.Helper()
	document, err := yamldoc.Read([]byte(c.Config))
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	var plugin map[string]any
	if len(document.JSON) > 0 {
		if err := json.Unmarshal(document.JSON, &plugin); err != nil {
			t.Fatalf("%s: %v: %s", c.Name, err, document.JSON)
		}
	}
	for _, key := range []string{"plugins", "kind", "schedulingProfiles", "items", "spec", "saturationDetector"} {
		if _, bare := plugin[key]; bare {
			plugin = map[string]any{"config": plugin}
		}
	}
	if plugin == nil {
		plugin = map[string]any{}
	}
	for _, key := range []string{"hold", "destination", "ingest", "startup", "sidecar"} {
		delete(plugin, key)
	}
	if plugin["stale"] == nil && !strings.Contains(c.Endpoints, "age:") {
		plugin["stale"] = map[string]any{"after": "1h"}
	}
	plugin["debug"] = true
	return plugin
}

const (
	// mostPlays bounds how often a case is played that goes by the time.
	mostPlays = 20
	// soon is within which time Envoy has to decide such a case's requests: meanwhile servers compute what they have,
	// and samples of their load grow old.
	soon = 50 * time.Millisecond
)

// hold has Envoy decide a case's requests as they say. One that goes by what servers have computed meanwhile is played
// again, with endpoints that have no past yet, where a busy machine took too long.
func (c goldenCase) hold(t *testing.T, g *goldens) {
	for ; ; c.again++ {
		began := time.Now()
		wrong := c.play(t, g)
		if wrong == "" {
			return
		}
		if !c.inTime() || time.Since(began) < soon || c.again+1 == mostPlays {
			t.Fatal(wrong)
		}
		t.Logf("played again, as it took %v: %s", time.Since(began), wrong)
	}
}

// goldenFresh are the cases that go by samples which are less than 200 ms old.
var goldenFresh = []string{"shed_not_saturated", "utilization_detector"}

// inTime reports whether the case goes by how much time has passed.
func (c goldenCase) inTime() bool { return c.computes() || slices.Contains(goldenFresh, c.Name) }

// computes reports whether the case goes by what servers have computed meanwhile.
func (c goldenCase) computes() bool { return strings.Contains(c.Endpoints, "prefillTokensPerSecond") }

// play has Envoy decide a case's requests, and returns what is wrong.
func (c goldenCase) play(t *testing.T, g *goldens) string {
	t.Helper()
	c.publish(t, g)
	ctx, leave := context.WithCancel(t.Context())
	defer c.forget(t, g)
	defer leave()
	for i, line := range golden.Lines(c.Result) {
		want := &explain.Explanation{}
		if err := json.Unmarshal([]byte(line), want); err != nil {
			t.Fatal(err)
		}
		if c.Requests[i].Headers[":method"] == http.MethodConnect {
			continue // see TestForgedConnect
		}
		if wrong := c.ask(ctx, t, g, c.Requests[i], want); wrong != "" {
			return fmt.Sprintf("request %d: %s", i+1, wrong)
		}
		if want.Error == nil && want.Primary != "" && c.byChance(want) {
			return "" // from here on the two know of different pasts
		}
	}
	return ""
}
