package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// round is one attack with what the others noticed before it, during it and after it.
type round struct {
	before, during, after figures
	tried                 string
	leaks                 []string
}

// bars are what others may notice of an attack.
type bars struct {
	// p99 bounds the ratio of their times to first token, 0 does not: on a busy machine it says nothing. memory bounds
	// that of Envoy's memory after the attack.
	p99, memory float64
	// hits is how much smaller the part of prompt tokens found in caches may be, share how much larger that of one
	// server.
	hits, share float64
}

var (
	full     = bars{p99: 1.5, memory: 1.3, hits: 0.05, share: 0.25}
	generous = bars{memory: 1.5, hits: 0.2, share: 0.4}
)

// judge says what others noticed too much of.
func (b bars) judge(a attack, r round) (faults []string) {
	for _, phase := range []struct {
		name string
		figures
	}{{"during it", r.during}, {"after it", r.after}} {
		if ratio := float64(phase.p99) / float64(max(r.before.p99, time.Millisecond)); b.p99 > 0 && ratio > b.p99 {
			faults = append(faults, fmt.Sprintf("p99 TTFT %s is %.1f times as long", phase.name, ratio))
		}
		if lost := r.before.hits - phase.hits; lost > b.hits {
			faults = append(faults, fmt.Sprintf("hits %s are %.0f points fewer", phase.name, 100*lost))
		}
		if more := phase.share - r.before.share; more > b.share {
			faults = append(faults,
				fmt.Sprintf("one server has %.0f %% of the requests %s", 100*phase.share, phase.name))
		}
		if phase.refused > int(a.mayLose*float64(phase.sent)) {
			faults = append(faults,
				fmt.Sprintf("%d of %d requests fail %s (%s)", phase.refused, phase.sent, phase.name, phase.errors))
		}
	}
	if ratio := float64(r.after.memory) / float64(max(r.before.memory, 1)); ratio > b.memory {
		faults = append(faults, fmt.Sprintf("Envoy has %.1f times its memory after it", ratio))
	}
	if r.during.cores > 2*r.before.cores+0.2 {
		faults = append(faults,
			fmt.Sprintf("the sidecar takes %.2f cores instead of %.2f", r.during.cores, r.before.cores))
	}
	return append(faults, r.leaks...)
}

// median is a round of the medians of several.
func median(all []round) round {
	r := all[len(all)-1]
	for _, phase := range []func(*round) *figures{
		func(r *round) *figures { return &r.before }, func(r *round) *figures { return &r.during },
		func(r *round) *figures { return &r.after },
	} {
		f := phase(&r)
		f.p99 = middle(all, func(r *round) time.Duration { return phase(r).p99 })
		f.hits = middle(all, func(r *round) float64 { return phase(r).hits })
		f.share = middle(all, func(r *round) float64 { return phase(r).share })
		f.memory = middle(all, func(r *round) int64 { return phase(r).memory })
		f.cores = middle(all, func(r *round) float64 { return phase(r).cores })
		f.refused = middle(all, func(r *round) int { return phase(r).refused })
	}
	return r
}

func middle[T cmp.Ordered](all []round, value func(*round) T) T {
	values := make([]T, len(all))
	for i := range all {
		values[i] = value(&all[i])
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// report writes what became of an attack.
func report(w io.Writer, a attack, r round, faults []string) {
	verdict := "held"
	if len(faults) > 0 {
		verdict = "FAILED"
	}
	fmt.Fprintf(w, "%-14s %s: %s\n", a.name, verdict, r.tried)
	fmt.Fprintf(w, "  %-8s %9s %7s %9s %10s %10s %8s\n", "", "p99 TTFT", "hits", "refused", "top share", "Envoy MiB",
		"sidecar")
	for _, phase := range []struct {
		name string
		figures
	}{{"before", r.before}, {"during", r.during}, {"after", r.after}} {
		fmt.Fprintf(w, "  %-8s %9v %6.0f%% %5d/%-4d %9.0f%% %10d %8.2f\n", phase.name,
			phase.p99.Round(time.Millisecond), 100*phase.hits,
			phase.refused, phase.sent, 100*phase.share, phase.memory>>20, phase.cores)
	}
	for _, fault := range faults {
		fmt.Fprintf(w, "  ! %s\n", fault)
	}
	fmt.Fprintln(w)
}
