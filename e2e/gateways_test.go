package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// fleet is several gateways before the same servers, each with its sidecar, that share what they know.
type fleet struct {
	t        *testing.T
	valkey   *harness.Valkey
	servers  []*harness.Server
	gateways []*fleetGateway
	// settings are further lines of the sidecars' configuration.
	settings string
	// clock, when set, is by how much the clocks of the gateways are off that are added.
	clock time.Duration
}

// fleetGateway is an Envoy and its sidecar.
type fleetGateway struct {
	*harness.Envoy
	name          string
	sidecar       *harness.Sidecar
	configuration string
	// admin is where the sidecar tells how things stand.
	admin string
}

// newFleet starts gateways whose requests are steered by plans, each on a listener of its name.
func newFleet(t *testing.T, gateways, servers int, simulated sim.Config, plans map[string]any) *fleet {
	t.Helper()
	f := newServers(t, servers, simulated)
	for i := range gateways {
		f.add(fmt.Sprintf("gateway-%d", i), f.valkey.Address, plans)
	}
	return f
}

// newServers is newFleet without a gateway.
func newServers(t *testing.T, servers int, simulated sim.Config) *fleet {
	t.Helper()
	valkey, err := harness.NewValkey(t.TempDir(), "--appendonly", "no")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { valkey.Kill() })
	f := &fleet{t: t, valkey: valkey}
	for i := range servers {
		simulated.Name = fmt.Sprintf("sim-%d", i)
		server, err := harness.NewServer(simulated)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		f.servers = append(f.servers, server)
	}
	return f
}

func (f *fleet) add(name, redis string, plans map[string]any) {
	f.t.Helper()
	all := []*harness.Listener{{Name: "ingest", Ingest: true, MaxBodyBytes: 8 << 20,
		Plugin: map[string]any{"config": harness.Document(1)}}}
	for listener, plan := range plans {
		all = append(all, &harness.Listener{Name: listener, Plugin: map[string]any{"config": plan, "debug": true}})
	}
	variables := f.shifted()
	envoy, err := harness.StartWith(harness.Options{Variables: variables},
		harness.Cell{Hold: "pause", Destination: "original-dst"}, nil, all...)
	if err != nil {
		f.t.Fatal(err)
	}
	ports, err := harness.FreePorts(1)
	if err != nil {
		f.t.Fatal(err)
	}
	g := &fleetGateway{Envoy: envoy, name: name, admin: fmt.Sprintf("127.0.0.1:%d", ports[0])}
	f.t.Cleanup(g.Stop)
	g.LogOnFailure(f.t)
	var text strings.Builder
	fmt.Fprintf(&text, "envoy: {ingest: %q, token: %q}\nadmin: {address: %q}\n"+
		"replicate: {redis: \"redis://%s\", gateway: %s}\n%sdiscovery:\n  static:\n",
		g.URL("ingest", harness.IngestPath), harness.Token, g.admin, redis, name, f.settings)
	for _, s := range f.servers {
		fmt.Fprintf(&text, "  - {name: %q, address: %q, engine: vllm}\n", s.Name, s.Address)
	}
	g.configuration = text.String()
	if f.clock == 0 {
		g.sidecar = harness.StartSidecarWith(f.t, g.configuration)
	} else if path, err := harness.Built("pintle-shifted"); err == nil {
		g.sidecar = harness.StartSidecarOf(f.t, path, variables, g.configuration)
	} else {
		f.t.Fatal(err)
	}
	f.gateways = append(f.gateways, g)
}

// told is what a journal says of requests.
type told struct {
	// own are decisions of this gateway, others those of others; leases are requests that have not ended.
	own, others, leases int
	ended               int // of others
	began               int
}

// read reads a gateway's journal from its oldest event.
func (g *fleetGateway) read(t *testing.T) (all told) {
	t.Helper()
	s := state.New(state.Options{InFlight: true, RequestTimeout: time.Hour})
	g.events(t, func(e *journal.Event) {
		s.Apply(e)
		switch {
		case e.Kind == journal.Decision && e.Relayed:
			all.others++
		case e.Kind == journal.Decision:
			all.own++
		case e.Kind == journal.Completion && e.Relayed:
			all.ended++
		case e.Kind == journal.Began:
			all.began++
		}
	})
	all.leases = s.InFlight.Leases()
	return all
}

// events calls each with all that the gateway's journal has.
func (g *fleetGateway) events(t *testing.T, each func(e *journal.Event)) {
	t.Helper()
	var f journal.Follower
	for more := true; more; {
		at := f.At()
		request, err := http.NewRequest(http.MethodGet, g.URL("ingest", "/pintle/v1/journal")+
			fmt.Sprintf("?at=%d.%d.%d.%d", at.Epoch, at.Page, at.Seq, at.Offset), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+harness.Token)
		got := harness.Send(t, http.DefaultClient, request)
		a, ok := journal.ParseAnswer([]byte(got.Body))
		if !ok {
			t.Fatalf("the journal of %s: %d %q", g.name, got.Status, got.Body)
		}
		f.Read(&a, func(e *journal.Event, _ journal.Position) { each(e) })
		more = a.More && f.At() != at
	}
}

// sampled waits until every gateway's sidecar has read every server, and its Envoy has heard of it: what a server tells
// of its cache decides how prompts are cut.
func (f *fleet) sampled() {
	f.t.Helper()
	for _, g := range f.gateways {
		harness.WaitFor(f.t, 30*time.Second, g.name+" to know all servers' load", func() (bool, string) {
			body := httpGet("http://" + g.admin + "/endpoints")
			return strings.Count(body, `"blockSize":`) == len(f.servers), body
		})
		// A push may have begun before; the one behind it has all that was read.
		accepted := func() int64 {
			return gjson.Get(httpGet("http://"+g.admin+"/status"), "envoys.0.sequence").Int()
		}
		enough := accepted() + 2
		harness.WaitFor(f.t, 30*time.Second, g.name+"'s Envoy to take what was read", func() (bool, string) {
			now := accepted()
			return now >= enough, fmt.Sprintf("push %d of %d", now, enough)
		})
	}
}

// settle waits until every gateway has heard of all decisions of the others, each once, and nothing is in flight.
func (f *fleet) settle() {
	f.t.Helper()
	harness.WaitFor(f.t, 30*time.Second, "all gateways to know the same", func() (bool, string) {
		var all []told
		sum := 0
		for _, g := range f.gateways {
			all = append(all, g.read(f.t))
			sum += all[len(all)-1].own
		}
		for _, one := range all {
			if one.own+one.others != sum || one.ended != one.others || one.leases != 0 {
				time.Sleep(20 * time.Millisecond)
				return false, fmt.Sprintf("%+v", all)
			}
		}
		return true, ""
	})
}

// ask sends a prompt through a gateway.
func (f *fleet) ask(gateway int, listener, prompt string) harness.Answer {
	f.t.Helper()
	body := fmt.Sprintf(`{"model":"sim-model","prompt":%q,"max_tokens":2}`, prompt)
	got := harness.Send(f.t, http.DefaultClient, harness.Request(f.t, http.MethodPost,
		f.gateways[gateway].URL(listener, "/v1/completions"), body, false))
	if got.Status != http.StatusOK {
		f.t.Errorf("%s: got %d %s", f.gateways[gateway].name, got.Status, got.Body)
	}
	return got
}

// scores are those that the decision of an answer went by, by server, where one scorer gives them.
func scores(t *testing.T, a harness.Answer) map[string]float64 {
	t.Helper()
	return scoresOf(t, a, "")
}

// scoresOf are those that one scorer gave, or where the name is empty any.
func scoresOf(t *testing.T, a harness.Answer, scorer string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, line := range explained(t, a).Scores {
		if scorer == "" || line[2] == scorer {
			all[line[1].(string)], _ = line[3].(float64)
		}
	}
	return all
}

// byScorer is a plan with one scorer.
func byScorer(scorer map[string]any) map[string]any {
	return map[string]any{"plugins": []map[string]any{scorer, {"type": "max-score-picker"}}}
}

// fleetPlans have a prompt go where it is cached, and where the fewest requests are in flight.
var fleetPlans = map[string]any{
	"prefix": byScorer(map[string]any{"type": "prefix-cache-scorer"}),
	"load":   byScorer(map[string]any{"type": "active-request-scorer"}),
}

// TestGatewaysDecideAsOne: what one gateway decided another decides by, and nobody repeats what others said. Without
// the stream's server each goes on, and hears later of what it missed.
func TestGatewaysDecideAsOne(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 3, sim.Config{TimePerOutputToken: 20 * time.Millisecond}, fleetPlans)
	f.sampled()
	for i := range 4 {
		prompt := fmt.Sprint("prompt ", i, strings.Repeat(" and so on", 50))
		first := f.ask(i%2, "prefix", prompt)
		f.settle()
		second := f.ask(1-i%2, "prefix", prompt)
		if got := scores(t, second)[first.Server()]; second.Server() != first.Server() || got == 0 {
			t.Errorf("prompt %d went to %s, and to %s by another gateway, where it scored %v", i, first.Server(),
				second.Server(), got)
		}
	}
	f.settle()
	for _, g := range f.gateways {
		if got := g.read(t); got.began != 0 {
			t.Errorf("%s tells of %d answers that they began, want none: no request asked for a stream", g.name,
				got.began)
		}
	}

	held, release := f.hold(0)
	other := f.gateways[1]
	harness.WaitFor(t, 30*time.Second, "the request to be seen in flight", func() (bool, string) {
		got := other.read(t)
		return got.leases == 1, fmt.Sprintf("%+v", got)
	})
	for range 3 {
		got := f.ask(1, "load", "hello")
		if got.Server() == held || scores(t, got)[held] != 0 {
			t.Errorf("went to %s by scores %v, want not to %s, which another gateway keeps busy", got.Server(),
				scores(t, got), held)
		}
	}
	release()
	f.settle()

	f.valkey.Kill()
	for i := range 8 {
		f.ask(i%2, "prefix", fmt.Sprint("without a server ", i, strings.Repeat(" and so on", 50)))
	}
	if err := f.valkey.Start(); err != nil {
		t.Fatal(err)
	}
	f.ask(0, "load", "hello")
	f.settle()
}

// hold begins a stream through a gateway and returns the server that it is at.
func (f *fleet) hold(gateway int) (server string, release func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	request := harness.Request(f.t, http.MethodPost, f.gateways[gateway].URL("load", "/v1/completions"),
		`{"model":"sim-model","prompt":"hello","stream":true,"max_tokens":5000}`, false)
	response, err := http.DefaultClient.Do(request.WithContext(ctx))
	if err != nil {
		f.t.Fatal(err)
	}
	return response.Header.Get("X-Sim-Server"), func() {
		cancel()
		_, _ = io.Copy(io.Discard, response.Body) // it was broken off
		_ = response.Body.Close()
	}
}
