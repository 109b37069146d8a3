package scoring

import "math"

// share is a profile's part in a mix.
type share struct {
	profile int
	weight  float64
}

// Mix has a profile take part in the decision with a weight above 0. With two or more the handler's first profile
// stands for all: an endpoint must pass the filters of each; each profile's totals are brought to 0..1 by their least
// and greatest over the candidates, 1 when they are equal, and added up with weight / sum of weights; the first
// profile's picker picks. Only an Admitter's Admit may call it.
func (c *Cycle) Mix(profile int, weight float64) {
	c.mix = append(c.mix, share{profile, weight})
}

// Mixes reports whether the request is decided by several profiles at once, so that others may stand for what a scorer
// would else weigh by itself.
func (c *Cycle) Mixes() bool { return len(c.mix) > 1 }

// runMix decides by several profiles at once. The result is the first one's.
func (c *Cycle) runMix(profiles []profile, r *Result) {
	first := &profiles[c.mix[0].profile]
	c.reset(first)
	sum := 0.0
	for _, s := range c.mix {
		p := &profiles[s.profile]
		for i := range p.filters {
			c.filter(p, &p.filters[i])
		}
		sum += s.weight
	}
	if !c.leavesChoice(first, r) {
		return
	}
	mixed := c.mixed[:len(c.candidates)]
	clear(mixed)
	for _, s := range c.mix {
		p := &profiles[s.profile]
		totals := c.sum(p)
		normalise(totals)
		for i, total := range totals {
			mixed[i] += total * s.weight / sum
		}
		c.traceTotals(p, totals)
	}
	for i, total := range mixed {
		mixed[i] = math.Round(total*roundTo) / roundTo
	}
	if c.Brief {
		c.traceTotals(first, mixed)
	} else {
		c.traceMixture(profiles, mixed, sum)
	}
	c.pick(first, mixed, r)
}

// Mixture is how several profiles decided together, as a Tracer is told of it.
type Mixture struct {
	// Shares are the profiles' parts of the whole, which is 1, the one that picked first.
	Shares []NamedValue
	// Totals are what the candidates were picked by.
	Totals []Ranked
}

func (c *Cycle) traceMixture(profiles []profile, totals []float64, sum float64) {
	if c.Tracer == nil {
		return
	}
	m := &Mixture{}
	for _, s := range c.mix {
		m.Shares = append(m.Shares, NamedValue{profiles[s.profile].name, s.weight / sum})
	}
	for i, e := range c.candidates {
		m.Totals = append(m.Totals, Ranked{e, totals[i]})
	}
	c.Tracer.Mixed(m)
}

// roundTo makes sums of a mix equal that differ only by the errors of their divisions, so that chance breaks the tie.
const roundTo = 1e9

// normalise maps the least value to 0 and the greatest to 1. Equal ones become 1, what is not finite 0.
// Source: AIBrix, soft scoring of several strategies.
func normalise(values []float64) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	for i, v := range values {
		switch {
		case !finite(v):
			values[i] = 0
		case least == most:
			values[i] = 1
		default:
			values[i] = (v - least) / (most - least)
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Scores reports whether a profile has scorers, so that it can take part in a mix.
func (c *Cycle) Scores(profile int) bool { return len(c.plan.profiles[profile].scorers) > 0 }
