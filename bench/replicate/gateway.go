package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/journal"
)

// gateway is an Envoy with Pintle and its sidecar.
type gateway struct {
	envoy   *harness.Envoy
	sidecar *stack.Process
}

// asShipped is the shipped configuration.
var asShipped = json.RawMessage(shipped.JSON())

func plan(plugins ...map[string]any) map[string]any { return map[string]any{"plugins": plugins} }

func startGateway(name, folder, redis string, plan any, servers []*harness.Server) (*gateway, error) {
	envoy, err := harness.Start(harness.Cell{Hold: "pause", Destination: "original-dst"}, nil,
		&harness.Listener{Name: "ingest", Ingest: true, MaxBodyBytes: 8 << 20, Plugin: map[string]any{"config": plan}},
		&harness.Listener{Name: "requests", Plugin: map[string]any{"config": plan}})
	if err != nil {
		return nil, err
	}
	g := &gateway{envoy: envoy}
	text := fmt.Sprintf("envoy: {ingest: %q, token: %q}\nadmin: {address: \"127.0.0.1:0\"}\n",
		envoy.URL("ingest", harness.IngestPath), harness.Token)
	if redis != "" {
		text += fmt.Sprintf("replicate: {redis: \"redis://%s\", gateway: %s}\n", redis, name)
	}
	text += "discovery:\n  static:\n"
	for _, s := range servers {
		text += fmt.Sprintf("  - {name: %q, address: %q, engine: vllm}\n", s.Name, s.Address)
	}
	path := filepath.Join(folder, name+".yaml")
	binary, err := harness.Built("pintle")
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err == nil {
		g.sidecar, err = harness.StartChild("sidecar", folder, binary, nil, "sidecar", "-c", path)
	}
	if err != nil {
		g.stop()
		return nil, err
	}
	return g, nil
}

// modelServers is how many there are.
const modelServers = 4

// startServers starts model servers like one.
func startServers(like sim.Config) (all []*harness.Server, err error) {
	like.Blocks, like.OutputTokens = 1<<18, 2
	for i := range modelServers {
		like.Name = fmt.Sprintf("sim-%d", i)
		server, err := harness.NewServer(like)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, server)
	}
	return all, nil
}

func closeAll(servers []*harness.Server) {
	for _, s := range servers {
		s.Close()
	}
}

// startGateways starts gateways by a plan.
func startGateways(count int, folder, redis string, plan any, servers []*harness.Server) (all []*gateway, err error) {
	for i := range count {
		g, err := startGateway(fmt.Sprintf("gateway-%d", i), folder, redis, plan, servers)
		if err != nil {
			stopAll(all)
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

func stopAll(gateways []*gateway) {
	for _, g := range gateways {
		g.stop()
	}
}

func (g *gateway) stop() {
	g.sidecar.Stop()
	g.envoy.Stop()
}

// client asks gateways for completions of long prompts.
type client struct {
	http.Client
	filler string
}

func newClient(o options) *client {
	return &client{http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 10 * time.Second},
		strings.Repeat("0123456789abcdef", o.kilobytes<<10/16)}
}

// ask has a prompt completed that begins in a way of its own.
func (c *client) ask(g *gateway, beginning string) error {
	body := fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"prompt":"%s %s"}`, beginning, c.filler)
	response, err := c.Post(g.envoy.URL("requests", "/v1/completions"), "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("a request was answered with %s", response.Status)
	}
	return nil
}

// pace calls each so often a second until ctx ends, with the moment at which it was due. What is overdue comes at once.
func pace(ctx context.Context, rate int, each func(n int, due time.Time)) {
	began := time.Now()
	for n := 0; ; n++ {
		due := began.Add(time.Duration(n) * time.Second / time.Duration(rate))
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(due)):
		}
		if ctx.Err() != nil {
			return
		}
		each(n, due)
	}
}

// drive sends requests through all gateways in turn until ctx ends or one fails.
func drive(ctx context.Context, o options, gateways []*gateway) error {
	client := newClient(o)
	defer client.CloseIdleConnections()
	going, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var first sync.Once
	var failure error
	pace(going, o.rate, func(n int, _ time.Time) {
		running.Go(func() {
			if err := client.ask(gateways[n%len(gateways)], fmt.Sprint(n)); err != nil {
				first.Do(func() { failure = err; cancel() })
			}
		})
	})
	running.Wait()
	return failure
}

// lease names a decision.
type lease struct {
	instance uint64
	number   uint32
}

// watchPeriod is how often the gateway is asked whether it has more; that much a delay may be too long.
const watchPeriod = 2 * time.Millisecond

// watch reads the gateway's journal until ctx ends, and then those of the others: it returns how long after each of
// their decisions the gateway had it.
func (g *gateway) watch(ctx context.Context, others []*gateway) (delays []time.Duration) {
	had := map[lease]time.Time{}
	var f journal.Follower
	first := true
	for ctx.Err() == nil {
		g.read(&f, func(e *journal.Event) {
			if e.Kind == journal.Decision && e.Relayed && !first {
				had[lease{e.Instance, e.Lease}] = time.Now()
			}
		})
		first = false
		time.Sleep(watchPeriod)
	}
	for _, other := range others {
		var f journal.Follower
		other.read(&f, func(e *journal.Event) {
			if at, ok := had[lease{e.Instance, e.Lease}]; ok && e.Kind == journal.Decision && !e.Relayed {
				delays = append(delays, at.Sub(time.Unix(0, e.Time)))
			}
		})
	}
	return delays
}

// read reads what is new in the gateway's journal.
func (g *gateway) read(f *journal.Follower, each func(e *journal.Event)) {
	for more := true; more; {
		at := f.At()
		request, err := http.NewRequest(http.MethodGet, g.envoy.URL("ingest", "/pintle/v1/journal")+
			fmt.Sprintf("?at=%d.%d.%d.%d", at.Epoch, at.Page, at.Seq, at.Offset), nil)
		if err != nil {
			return
		}
		request.Header.Set("Authorization", "Bearer "+harness.Token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		a, ok := journal.ParseAnswer(text)
		if err != nil || !ok {
			return
		}
		f.Read(&a, func(e *journal.Event, _ journal.Position) { each(e) })
		more = a.More && f.At() != at
	}
}
