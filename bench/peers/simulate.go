package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/state"
)

// requestsAlone weighs what the shipped configuration does, but for the tokens to compute, and compares equal blocks.
const requestsAlone = `{"plugins": [{"type": "queue-scorer"}, {"type": "kv-cache-utilization-scorer"},
	{"type": "running-requests-size-scorer", "parameters": {"scale": 16}},
	{"type": "prefix-cache-scorer"}, {"type": "max-score-picker"}],
	"schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": 2},
	{"pluginRef": "kv-cache-utilization-scorer", "weight": 2},
	{"pluginRef": "running-requests-size-scorer", "weight": 4},
	{"pluginRef": "prefix-cache-scorer", "weight": 3}, {"pluginRef": "max-score-picker"}]}]}`

// simulated are the configurations that are compared. Others are compared with the first, which is decided by Pintle's
// plug-ins of the same names.
func simulated() ([]configuration, error) {
	llmd, err := yaml.YAMLToJSON([]byte(llmdDefault.head()))
	return []configuration{
		{"llm-d's default", string(llmd)},
		{"requests alone", requestsAlone},
		{"shipped", shipped.JSON()},
		{"predicted latency", predicted},
	}, err
}

type configuration struct{ name, config string }

// occasions are what they serve.
var occasions = []struct {
	workload, fleet string
	rate            float64
}{
	{"conversation", "equal", 2.5}, {"conversation", "equal", 5}, {"conversation-spread", "equal", 5},
	{"conversation", "half", 3},
	{"synthetic", "equal", 2.5}, {"synthetic", "equal", 5}, {"synthetic", "half", 3},
	{"azure-conv", "equal", 30}, {"azure-code", "equal", 20},
	{"turns", "equal", 2}, {"turns", "slow", 2}, {"turns", "half", 2}, {"agents", "equal", 2.2},
	{"agents", "equal", 4},
	{"shared", "equal", 10}, {"shared", "equal", 20}, {"shared", "half", 10}, {"mixed", "equal", 20},
	{"burst", "equal", 20},
}

// measured is what several seeds gave.
type measured struct{ p50, p90, p99, hits series.Series }

// simulate has the configurations choose in virtual time, and prints a row for each occasion: seconds to the first
// token and what was found cached, medians over the seeds, and by how much p90 and p99 differ from the first one's.
func simulate(ctx context.Context, o options, out io.Writer) error {
	configurations, err := simulated()
	if err != nil {
		return err
	}
	fmt.Fprint(out, "| workload |")
	for _, c := range configurations {
		fmt.Fprintf(out, " %s |", c.name)
	}
	fmt.Fprintln(out)
	for _, at := range occasions {
		if o.workload != nil && o.workload.name != at.workload {
			continue
		}
		results := make([]measured, len(configurations))
		for seed := range o.simulate {
			err := simulateOne(ctx, o, configurations, at.workload, at.fleet, at.rate, uint64(seed), results)
			if errors.Is(err, errNoTrace) {
				results = nil
				break
			}
			if err != nil {
				return fmt.Errorf("%s: %w", at.workload, err)
			}
		}
		if results != nil {
			writeSimulated(out, fmt.Sprintf("%s %g/s, %s", at.workload, at.rate, at.fleet), results)
		}
	}
	return nil
}

func simulateOne(ctx context.Context, o options, configurations []configuration, name, fleetName string, rate float64,
	seed uint64, results []measured) error {
	w := workloads[slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })]
	f := fleets[slices.IndexFunc(fleets, func(f fleet) bool { return f.name == fleetName })]
	o.seed, o.speed, o.rates = seed, 1, []float64{rate}
	traffic, _, err := w.parts(&o)
	if err != nil {
		return err
	}
	requests, warm := replayed(traffic, seed)
	speeds := make([]float64, ladderServers)
	for i := range speeds {
		if speeds[i] = 1; i >= ladderServers-f.odd {
			speeds[i] = 1 / f.slower
		}
	}
	for i, c := range configurations {
		config, err := pluginconfig.Parse([]byte(`{"config": ` + c.config + `}`))
		if err != nil {
			return err
		}
		samples, err := replay.Run(ctx, config.Plan, requests, replay.Options{Servers: replay.DefaultServers(),
			Seed: seed, Warm: warm, Speeds: speeds})
		if err != nil {
			return err
		}
		sum, r := replay.Summarise("", samples, ladderServers, replay.Limits{}), &results[i]
		r.p50, r.p90 = append(r.p50, sum.TTFT.P50), append(r.p90, sum.TTFT.P90)
		r.p99, r.hits = append(r.p99, sum.TTFT.P99), append(r.hits, sum.Hits)
	}
	return nil
}

// replayed makes requests of traces of the traffic, and says from when on they count.
func replayed(traffic []part, seed uint64) (all []replay.Request, warm float64) {
	var hasher state.Hasher
	random, at := rand.New(rand.NewPCG(seed, 5)), 0.0
	for _, p := range traffic {
		for i := range p.load.Requests {
			if p.load.Due != nil {
				at = p.load.Due[i].Seconds()
			} else {
				at += random.ExpFloat64() / p.rate
			}
			all = append(all, replayedRequest(&hasher, at, p.load.Requests[i].Body))
		}
		if warm = max(warm, p.counted.Seconds()); p.warmsUp {
			warm = math.Nextafter(at, math.Inf(1))
		}
	}
	return all, warm
}

// replayedRequest is a chat as a trace has it, by blocks of the servers.
func replayedRequest(hasher *state.Hasher, at float64, body []byte) replay.Request {
	const blockTokens = 16
	var scan openai.Request
	if err := scan.Scan(openai.APIChat, body); err != nil {
		panic(err) // chats that are made here can be read
	}
	blocks := hasher.Blocks(nil, "", &scan, body, blockTokens, math.MaxInt32)
	bytes := max(scan.Bytes, len(blocks)*blockTokens*state.BytesPerToken) // the former are without tools
	return replay.Request{At: at, Model: model, Input: bytes / state.BytesPerToken, Output: scan.MaxTokens,
		Stream: true, Prompt: replay.Prompt{Bytes: bytes, UnitBytes: blockTokens * state.BytesPerToken, Blocks: blocks}}
}

func writeSimulated(out io.Writer, name string, results []measured) {
	fmt.Fprintf(out, "| %s |", name)
	for i := range results {
		r := &results[i]
		fmt.Fprintf(out, " %.2f, %.2f, %.2f; %.0f %%", r.p50.Median(), r.p90.Median(), r.p99.Median(),
			100*r.hits.Median())
		if i > 0 {
			p90, p99 := r.p90.Over(results[0].p90), r.p99.Over(results[0].p99)
			fmt.Fprintf(out, "; %.2f (%s), %.2f (%s)", p90.Median(), p90.Spread("%.2f"), p99.Median(),
				p99.Spread("%.2f"))
		}
		fmt.Fprint(out, " |")
	}
	fmt.Fprintln(out)
}
