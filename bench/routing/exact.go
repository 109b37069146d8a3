package main

import (
	"fmt"
	"io"

	figures "github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
)

// waited is the side that the others' hits are compared with: its requests wait for what servers say.
const waited = "exact, inline"

// writeHits says which part of the prompts each side's servers found cached, round by round: all sides get the same
// requests in a round, one after another. So many rates are a round.
func writeHits(w io.Writer, all []series, rates int) {
	fmt.Fprintf(w, "%6s  %-22s%12s%15s  %-42s%9s%9s%9s\n", "rate", "", "prefix hits", "least-most",
		fmt.Sprintf("points more than waiting: median (%s)", figures.Bounds(len(all[0].outcomes)/rates)),
		"TTFT p90", "queued", "busy CPU")
	base := all[0]
	for _, s := range all {
		if s.name == waited {
			base = s
		}
	}
	for rate := range rates {
		for k, s := range all {
			hits, others := s.rounds(rate, rates, hitsOf), base.rounds(rate, rates, hitsOf)
			name, more := "", ""
			if k == 0 {
				name = fmt.Sprintf("%g/s", s.outcomes[rate].rate)
			}
			if s.name != base.name {
				d := make(figures.Series, len(hits))
				for i := range hits {
					d[i] = hits[i] - others[i]
				}
				low, high := d.Between()
				more = fmt.Sprintf("%+.1f (%+.1f to %+.1f), mean %+.1f", d.Median(), low, high, mean(d))
			}
			median := func(figure func(outcome) float64) float64 { return s.rounds(rate, rates, figure).Median() }
			fmt.Fprintf(w, "%6s  %-22s%10.1f %%%15s  %-42s%9s%9s%8.0f%%\n", name, s.name, mean(hits),
				hits.Spread("%.1f"), more, seconds(median(func(o outcome) float64 { return o.ttftP90 })),
				seconds(median(func(o outcome) float64 { return o.queued })),
				100*median(func(o outcome) float64 { return o.busy }))
		}
	}
	fmt.Fprintf(w, "\n%d rounds of each rate\n", len(base.outcomes)/rates)
}

func hitsOf(o outcome) float64 { return 100 * o.hitRate }

// rounds picks a figure of one of the rates from each round.
func (s *series) rounds(rate, rates int, figure func(outcome) float64) figures.Series {
	var picked figures.Series
	for i := rate; i < len(s.outcomes); i += rates {
		picked = append(picked, figure(s.outcomes[i]))
	}
	return picked
}

func mean(s figures.Series) float64 {
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	return sum / max(float64(len(s)), 1)
}

// writeAsked says what came of asking the sidecars, or of telling them, in all requests.
func writeAsked(w io.Writer, all []*side) error {
	for _, s := range all {
		if !s.exact {
			continue
		}
		counters, err := stack.Counters(s.adminPort, "pintle.prefix")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %v\n", s.name, counters)
	}
	return nil
}
