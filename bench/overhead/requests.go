package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/internal/wrk"
)

// bars are the least ratios of requests per second, by KB of body, that count as met.
var bars = map[string]map[int]float64{
	"pause":       {2: 0.75, 16: 0.80, 400: 0.88},
	"buffer":      {2: 0.70, 16: 0.80, 400: 0.88},
	"bare":        {2: 0.80, 16: 0.85, 400: 0.93},
	"bare-buffer": {2: 0.75, 16: 0.85, 400: 0.93},
	"on":          {16: 0.90},
	"followed":    {2: 0.98},
	"replicated":  {2: 0.97},
	"stored":      {2: 0.98},
	"salted":      {2: 0.97},
}

// results are the rounds of each variant, in the order of the variants.
type results [][]*measurement

// measureBy measures a variant for some time.
type measureBy func(v *variant, duration time.Duration) (*measurement, error)

// byWrk has wrk run a script.
func byWrk(ctx context.Context, scriptPath string, connections int) measureBy {
	return func(v *variant, duration time.Duration) (*measurement, error) {
		return measure(ctx, v, scriptPath, connections, duration)
	}
}

func wrkScript(o options, dir, name string, body []byte) (path string, err error) {
	if o.fresh {
		return wrk.FreshScript(dir, name, body, nil, "abc abc abc abc ")
	}
	return wrk.Script(dir, name, body, nil)
}

// rounds measures all variants in turns, each round in another order, so that none always follows the same one.
func rounds(o options, all []*variant, by measureBy, progress func(string)) (results, error) {
	found := make(results, len(all))
	// One short round that does not count: connections, caches and the module's first requests.
	for _, v := range all {
		if _, err := by(v, time.Second); err != nil {
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range o.rounds {
		progress(fmt.Sprintf("round %d of %d", round+1, o.rounds))
		for _, i := range random.Perm(len(all)) {
			m, err := by(all[i], o.duration)
			if err != nil {
				return nil, err
			}
			found[i] = append(found[i], m)
		}
	}
	return found, nil
}

// inPairs measures variants over connections that stay open, while another gateway tells, if there is one. Only the
// second one hears of it, but what it takes of this machine, as it is to be on another one, is taken from both. sidecar
// is what a request of the second one costs its sidecar more than one of the first, microseconds.
func inPairs(ctx context.Context, other *elsewhere, o options, all []*variant, body []byte,
	progress func(string)) (found results, sidecar float64, err error) {
	opened := map[*variant]*clients{}
	for _, v := range all {
		c, err := newClients(v, body)
		if err != nil {
			return nil, 0, err
		}
		defer c.close()
		opened[v] = c
	}
	if other != nil {
		if _, err := opened[all[1]].measure(ctx, all[1], time.Second); err != nil {
			return nil, 0, err
		}
		if err := other.learn(all[1]); err != nil {
			return nil, 0, err
		}
		for _, v := range all {
			if err := other.fill(v); err != nil {
				return nil, 0, err
			}
		}
		all[0].meanwhile = func(ctx context.Context) { other.tell(ctx, other.unheard) }
		all[1].meanwhile = func(ctx context.Context) { other.tell(ctx, other.heard) }
	}
	sent := opened[all[1]].sent()
	before, err := sidecarTimes(all)
	if err != nil {
		return nil, 0, err
	}
	found, err = rounds(o, all, func(v *variant, duration time.Duration) (*measurement, error) {
		return opened[v].measure(ctx, v, duration)
	}, progress)
	if err != nil {
		return nil, 0, err
	}
	if other != nil && other.failure != nil {
		return nil, 0, other.failure
	}
	after, err := sidecarTimes(all)
	if err != nil {
		return nil, 0, err
	}
	more := after[1] - before[1] - (after[0] - before[0])
	return found, more.Seconds() * 1e6 / float64(opened[all[1]].sent()-sent), nil
}

// sidecarTimes are the processor times of the variants' sidecars.
func sidecarTimes(all []*variant) (times []time.Duration, err error) {
	for _, v := range all {
		used, err := v.sidecar.CPU()
		if err != nil {
			return nil, err
		}
		times = append(times, used)
	}
	return times, nil
}

// compared are the variants that are asked for, and what the others are held against.
func compared(o options) (all []*variant, base string) {
	switch {
	case o.journal:
		return journalVariants(o.module), "that with the journal off"
	case o.follow:
		return followVariants(o.module), "that whose journal is not followed"
	case o.replicate:
		return replicateVariants(o.module), "that which is followed and shares nothing"
	case o.store:
		return storeVariants(o), "that without the store"
	case o.salts:
		return saltVariants(o), "that without salts"
	}
	all = variants(o.module, o.compare)
	if o.bare {
		all = bareVariants(all)
	}
	return all, "plain Envoy's"
}

// requestConnections is the load of wrk -t1 -c8.
const requestConnections = 8

// runRequests compares requests that are answered as soon as they are read.
func runRequests(ctx context.Context, o options, st *stack.Stack, out io.Writer, progress func(string)) error {
	all, base := compared(o)
	var other *elsewhere
	if o.replicate {
		var err error
		if other, err = newElsewhere(st.Dir, o.elsewhere); err != nil {
			return err
		}
		defer other.close()
		all[1].replicated = other.valkey.Address
	}
	if err := start(ctx, st, all, serverCount, o.serverFlags()); err != nil {
		return err
	}
	paired, client := o.paired(), "wrk -t1 -c%d"
	if paired {
		client = "%d connections"
	}
	fmt.Fprintf(out, client+", %d rounds of %v each in turns: medians, min-max of the rounds\n\n",
		requestConnections, o.rounds, o.duration)
	fmt.Fprintf(out, "%-7s %-11s %8s %13s %10s %10s   %-22s %-10s %7s %6s\n",
		"body", "Envoy", "req/s", "min-max", "p50", "p99", "ratio", "bar", "CPU", "ratio")
	for _, size := range o.sizes {
		body := load.Uniform{Model: "sim-model", Bytes: size << 10, MaxTokens: 16}.Requests()[0].Body
		path, err := wrkScript(o, st.Dir, fmt.Sprintf("body-%d", size), body)
		if err != nil {
			return err
		}
		report := func(s string) { progress(fmt.Sprintf("%d KB, %s", size, s)) }
		var found results
		var sidecar float64
		if paired {
			found, sidecar, err = inPairs(ctx, other, o, all, body, report)
		} else {
			found, err = rounds(o, all, byWrk(ctx, path, requestConnections), report)
		}
		if err != nil {
			return err
		}
		progress("")
		judge := verdict
		if paired { // what its rounds say of the bar stands below
			judge = unjudged(all[1], size)
		}
		writeRequests(out, size, all, found, judge)
		if paired {
			writePaired(out, found, pairedBar(all[1], size))
			fmt.Fprintf(out, "A request costs the sidecar %.1f us of processor time more.\n\n", sidecar)
		}
		if o.follow {
			if err := writeFollowed(ctx, o, all[1], path, out, progress); err != nil {
				return err
			}
		}
	}
	if o.store {
		if err := writeTurns(ctx, o, all, out, progress); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "ratio of requests/s: Pintle's over %s. CPU: seconds of Envoy's processor time for 1,000 "+
		"requests, and its ratio.\n", base)
	return nil
}

func writeRequests(out io.Writer, size int, all []*variant, found results, judge func(bar, got float64) string) {
	plainRate := series.Of(found[0], (*measurement).PerSecond)
	plainCPU := series.Of(found[0], (*measurement).cpuPerThousand)
	for i, v := range all {
		rate, cpu := series.Of(found[i], (*measurement).PerSecond), series.Of(found[i], (*measurement).cpuPerThousand)
		body, ratio, bar, cpuRatio := "", "", "", ""
		if i == 0 {
			body = fmt.Sprintf("%d KB", size)
		} else {
			r := rate.Over(plainRate)
			ratio = fmt.Sprintf("%.2f (%s)", r.Median(), r.Spread("%.2f"))
			bar = judge(bars[v.name][size], r.Median())
			cpuRatio = fmt.Sprintf("%.2f", cpu.Over(plainCPU).Median())
		}
		fmt.Fprintf(out, "%-7s %-11s %8.0f %13s %7.2f ms %7.2f ms   %-22s %-10s %7.3f %6s\n", body, v.name,
			rate.Median(), rate.Spread("%.0f"),
			series.Of(found[i], (*measurement).P50Millis).Median(),
			series.Of(found[i], (*measurement).P99Millis).Median(), ratio, bar, cpu.Median(), cpuRatio)
	}
	fmt.Fprintln(out)
}

// pairedBar is the least ratio of requests/s that counts as met.
func pairedBar(v *variant, size int) float64 {
	if bar := bars[v.name][size]; bar > 0 {
		return bar
	}
	return bars[v.name][2]
}

// unjudged shows a bar and nothing of what the rounds say of it.
func unjudged(v *variant, size int) (judge func(bar, got float64) string) {
	return func(_, _ float64) string { return fmt.Sprintf("%.2f", pairedBar(v, size)) }
}

// writePaired says how well the second variant's ratio over the first is known, to tell 2 % from nothing.
func writePaired(out io.Writer, found results, bar float64) {
	for _, of := range []struct {
		what   string
		figure func(*measurement) float64
		loss   bool
	}{
		{"requests/s", (*measurement).PerSecond, true},
		{"Envoy's processor time for a request", (*measurement).cpuPerThousand, false},
	} {
		r := series.Of(found[1], of.figure).Over(series.Of(found[0], of.figure))
		low, high := r.Between()
		fmt.Fprintf(out, "%s: median of %d paired ratios %.4f, between %.4f and %.4f (%s)", of.what, len(r), r.Median(),
			low, high, series.Bounds(len(r)))
		if of.loss {
			fmt.Fprintf(out, "; bar: %.2f, %s", bar, decided(r, bar))
		}
		fmt.Fprintln(out)
	}
}

// decided says whether so many rounds are enough to tell on which side of a bar the median is.
func decided(ratios series.Series, bar float64) string {
	low, high := ratios.Between()
	switch {
	case len(ratios) < series.Enough:
		return fmt.Sprintf("open: %d rounds tell nothing for sure, %d do", len(ratios), series.Enough)
	case low >= bar:
		return "met"
	case high < bar:
		return "not met"
	}
	return "open: more rounds, or a quieter machine"
}

// verdict compares a ratio with a bar.
func verdict(bar, got float64) string {
	switch {
	case bar == 0:
		return "none"
	case got >= bar:
		return fmt.Sprintf("%.2f met", bar)
	}
	return fmt.Sprintf("%.2f not met", bar)
}
