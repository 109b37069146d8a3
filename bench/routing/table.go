package main

import (
	"fmt"
	"io"
)

// writeTable writes one line for each rate and side.
func writeTable(w io.Writer, all []series) {
	fmt.Fprintf(w, "%6s  %-26s%11s%11s%9s%8s%13s%11s%16s%10s\n", "rate", "", "TTFT p50", "TTFT p90", "x first",
		"queued", "prefix hits", "answers/s",
		"output tokens/s", "busy CPU")
	for i, first := range all[0].outcomes {
		for k, s := range all {
			o := s.outcomes[i]
			rate := ""
			if k == 0 {
				rate = fmt.Sprintf("%g/s", o.rate)
			}
			fmt.Fprintf(w, "%6s  %-26s%11s%11s%9.1f%8s%12.1f%%%11.1f%16.0f%9.0f%%\n", rate, s.name, seconds(o.ttftP50),
				seconds(o.ttftP90),
				ratio(o.ttftP90, first.ttftP90), seconds(o.queued), 100*o.hitRate, o.requestsPerSecond,
				o.tokensPerSecond, 100*o.busy)
		}
	}
}

// saturated is the mean time in the servers' queues, in seconds, from which on a side's servers cannot keep up.
const saturated = 1

// writeVerdict says how much sooner the first side's first tokens come where another side's servers are saturated: at
// the first such rate and at the best one for the first side.
func writeVerdict(w io.Writer, all []series) {
	fmt.Fprintln(w)
	for _, s := range all[1:] {
		start, best := -1, -1
		for i, o := range s.outcomes {
			if o.queued < saturated {
				continue
			}
			if start < 0 {
				start, best = i, i
			}
			if versus(all[0], s, i) > versus(all[0], s, best) {
				best = i
			}
		}
		if start < 0 {
			fmt.Fprintf(w, "%s: its servers were not saturated at any of these rates.\n", s.name)
			continue
		}
		fmt.Fprintf(w, "%s: requests queue from %g/s on. There its p90 TTFT is %.1f times the one of %s, at most "+
			"%.1f times, at %g/s.\n",
			s.name, s.outcomes[start].rate, versus(all[0], s, start), all[0].name, versus(all[0], s, best),
			s.outcomes[best].rate)
	}
}

// crowded is how busy the processors may be in a stage that is to be believed.
const crowded = 0.85

// writeDoubts says which stages measured the machine as much as the routing.
func writeDoubts(w io.Writer, all []series) {
	doubtful := 0
	for _, s := range all {
		for _, o := range s.outcomes {
			if o.busy > crowded {
				doubtful++
			}
		}
	}
	if doubtful > 0 {
		fmt.Fprintf(w, "Stages in which the processors were more than %.0f %% busy: %d. Their times are in part this "+
			"machine's. "+
			"Run it again when nothing else runs, or with a lower -speed.\n", 100*crowded, doubtful)
	}
}

func versus(first, other series, i int) float64 {
	return ratio(other.outcomes[i].ttftP90, first.outcomes[i].ttftP90)
}

func ratio(a, b float64) float64 { return a / max(b, 1e-9) }

// seconds is a time with three digits or so.
func seconds(s float64) string {
	switch {
	case s < 0.9995:
		return fmt.Sprintf("%.0f ms", 1000*s)
	case s < 9.995:
		return fmt.Sprintf("%.2f s", s)
	}
	return fmt.Sprintf("%.1f s", s)
}
