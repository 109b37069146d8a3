package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/shipped"
)

// profile is a configuration to compare.
type profile struct{ name, config string }

// weighted is a configuration of the four scorers with these weights, running's parameters among them.
func weighted(queue, kv, running, prefix float64, parameters string) string {
	return fmt.Sprintf(`{"config": {"plugins": [{"type": "queue-scorer"}, {"type": "kv-cache-utilization-scorer"},
		{"type": "running-requests-size-scorer"%s}, {"type": "prefix-cache-scorer"}, {"type": "max-score-picker"}],
		"schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": %v},
		{"pluginRef": "kv-cache-utilization-scorer", "weight": %v}, {"pluginRef": "running-requests-size-scorer", "weight": %v},
		{"pluginRef": "prefix-cache-scorer", "weight": %v}, {"pluginRef": "max-score-picker"}]}]}}`, parameters, queue,
		kv, running, prefix)
}

func scale(n int) string { return fmt.Sprintf(`, "parameters": {"scale": %d}`, n) }

var profiles = []profile{
	{"shipped", `{"config": ` + shipped.JSON() + `}`},
	{"random",
		`{"plugins": [{"type": "random-picker"}], "schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "random-picker"}]}]}`},
	{"least requests", `{"plugins": [{"type": "active-request-scorer"}]}`},
	{"empty configuration", ``},
	{"no tokens to compute", weighted(2, 2, 4, 3, scale(16))},
	{"running 1", weighted(2, 2, 1, 3, "")},
	{"running 4 of 32", weighted(2, 2, 4, 3, scale(32))},
	{"running 5 of 16", weighted(2, 2, 5, 3, scale(16))},
	{"running 6 of 16", weighted(2, 2, 6, 3, scale(16))},
	{"queue 1, running 4 of 16", weighted(1, 2, 4, 3, scale(16))},
	{"queue 3, running 4 of 16", weighted(3, 2, 4, 3, scale(16))},
	{"kv 1, running 4 of 16", weighted(2, 1, 4, 3, scale(16))},
	{"prefix 2, running 3 of 16", weighted(2, 2, 3, 2, scale(16))},
}

// withAdapters are compared where there are LoRA adapters.
var withAdapters = []profile{
	profiles[0], profiles[2],
	{"lora-affinity 4", choosing("lora-affinity-scorer", 4, nil)},
	{"lora-affinity 12", choosing("lora-affinity-scorer", 12, nil)},
	{"placed", choosing("lora-placement-filter", 0, nil)},
	{"placed, loadFactor 1.5", choosing("lora-placement-filter", 0, map[string]any{"loadFactor": 1.5})},
	{"placed, loadFactor 3", choosing("lora-placement-filter", 0, map[string]any{"loadFactor": 3})},
	{"placed, minRequests 2", choosing("lora-placement-filter", 0, map[string]any{"minRequests": 2})},
}

// choosing is what is shipped with a further plug-in in the profile.
func choosing(kind string, weight float64, parameters map[string]any) string {
	plugin := map[string]any{"type": kind}
	if parameters != nil {
		plugin["parameters"] = parameters
	}
	return `{"config": ` + shipped.Choosing(plugin, weight) + `}`
}

// profiles are those that are compared.
func (l *workload) profiles() []profile {
	if l.adapters > 0 {
		return withAdapters
	}
	return profiles
}

func main() {
	seconds := flag.Float64("seconds", 120,
		"simulated seconds of each workload, of which the first quarter does not count")
	count := flag.Int("servers", 8, "servers")
	load := flag.Float64("load", 1, "multiplies all rates")
	seed := flag.Uint64("seed", 1, "makes other requests of the same kinds")
	only := flag.String("workload", "", "run one workload")
	flag.Parse()
	if known := func(l workload) bool { return l.name == *only }; flag.NArg() > 0 || *count < 1 ||
		*only != "" && !slices.ContainsFunc(workloads, known) {
		fmt.Fprintf(os.Stderr, "want no arguments, -servers of 1 or more, and a -workload of these: %q\n",
			workloadNames())
		os.Exit(2)
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for i := range workloads {
		l := &workloads[i]
		if *only != "" && l.name != *only {
			continue
		}
		rate := l.rate * *load * float64(*count) / 8
		requests := requestsOf(l, rate, *seconds, *seed)
		fmt.Fprintf(out, "%s, %.0f/s\tTTFT mean ms\tp50\tp90\tp99\twhole mean s\thits %%\tmost\n", l.name, rate)
		for _, p := range l.profiles() {
			config, err := pluginconfig.Parse([]byte(p.config))
			if err != nil {
				fmt.Fprintln(os.Stderr, p.name, err)
				os.Exit(1)
			}
			r, err := run(config.Plan, l.servers(*count), requests, *seconds/4)
			if err != nil {
				fmt.Fprintln(os.Stderr, p.name, err)
				os.Exit(1)
			}
			fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%.1f\t%.2f\n", p.name, 1e3*r.TTFT.Mean, 1e3*r.TTFT.P50,
				1e3*r.TTFT.P90,
				1e3*r.TTFT.P99, r.Whole.Mean, 100*r.Hits, r.Imbalance)
		}
		_ = out.Flush()
	}
}
