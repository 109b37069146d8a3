package multifactor

import "math"

// middle is the rating where all candidates are equal, or where one is not to be judged.
const middle = 0.5

// Signals are what is known of a candidate. NaN is unknown.
type Signals struct {
	// Quality is on any scale, higher is better.
	Quality float64
	// TPOTMillis and TTFTMillis are percentiles of latency.
	TPOTMillis, TTFTMillis float64
	// Cost is the price of a million prompt tokens.
	Cost float64
	// InFlight is the number of requests.
	InFlight int
}

// Candidate is one of those to choose from.
type Candidate struct {
	Signals
	// Broken is the ceiling that the candidate breaks, as the configuration calls it; empty for none. One that breaks a
	// ceiling has no ratings.
	Broken string
	// Values are what the factors go by; NaN is unknown.
	Values [Factors]float64
	// Ratings are within 0 to 1, higher is better.
	Ratings [Factors]float64
	// Score is the weighted sum of the ratings, within 0 to 1.
	Score float64
}

// Rate rates candidates against one another, those left out that break a ceiling. It returns how many are left.
func (p *Policy) Rate(all []Candidate) (left int) {
	perToken := true
	for i := range all {
		c := &all[i]
		c.Broken, c.Score = p.Broken(&c.Signals), 0
		c.Ratings, c.Values = [Factors]float64{}, [Factors]float64{c.Quality, math.NaN(), c.Cost, float64(c.InFlight)}
		if c.Broken == "" {
			left++
			perToken = perToken && (known(c.TPOTMillis) || !known(c.TTFTMillis))
		}
	}
	for i := range all {
		p.settle(&all[i], perToken)
	}
	for f := range Factors {
		p.rate(all, f)
	}
	return left
}

// Broken is the first ceiling that the signals exceed, empty for none. What is unknown exceeds nothing.
func (p *Policy) Broken(s *Signals) string {
	switch {
	case p.slo.tpotMillis > 0 && s.TPOTMillis > p.slo.tpotMillis:
		return "max_tpot_ms"
	case p.slo.ttftMillis > 0 && s.TTFTMillis > p.slo.ttftMillis:
		return "max_ttft_ms"
	case p.slo.cost > 0 && s.Cost > p.slo.cost:
		return "max_cost_per_1m"
	case p.slo.inFlight > 0 && s.InFlight > p.slo.inFlight:
		return "max_inflight"
	}
	return ""
}

// settle decides which latency a candidate is rated by. perToken says that every candidate with a latency has a TPOT.
func (p *Policy) settle(c *Candidate, perToken bool) {
	switch {
	case p.bySource() && known(c.TPOTMillis), !p.bySource() && perToken:
		c.Values[Latency] = c.TPOTMillis
	default:
		c.Values[Latency] = c.TTFTMillis
	}
	if !p.bySource() {
		return
	}
	for _, f := range [...]int{Quality, Cost} {
		if c.Values[f] == 0 {
			c.Values[f] = math.NaN()
		}
	}
}

// rate rates all candidates by one factor.
func (p *Policy) rate(all []Candidate, f int) {
	least, most := math.Inf(1), math.Inf(-1)
	for i := range all {
		if v := all[i].Values[f]; all[i].Broken == "" && known(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	for i := range all {
		c := &all[i]
		if c.Broken != "" {
			continue
		}
		switch v := c.Values[f]; {
		case !known(v):
			c.Ratings[f] = p.missing[f]
		case least == most:
			c.Ratings[f] = middle
		case f == Quality:
			c.Ratings[f] = (v - least) / (most - least)
		default:
			c.Ratings[f] = 1 - (v-least)/(most-least)
		}
		c.Score += p.weights[f] * c.Ratings[f]
	}
}

// Best is the index of the highest score among rated candidates that break no ceiling, the first of equal ones; -1 when
// there is none.
func Best(all []Candidate) int {
	best := -1
	for i := range all {
		if all[i].Broken == "" && (best < 0 || all[i].Score > all[best].Score) {
			best = i
		}
	}
	return best
}

// LeastCost is the index of the cheapest of rated candidates, the first of equal ones; 0 when no cost is known.
func LeastCost(all []Candidate) int {
	least := 0
	for i := range all {
		if Cheaper(&all[i], &all[least]) {
			least = i
		}
	}
	return least
}

// Cheaper reports whether a costs less than b, both of them rated. An unknown cost is more than any.
func Cheaper(a, b *Candidate) bool {
	return a.Values[Cost] < b.Values[Cost] || known(a.Values[Cost]) && !known(b.Values[Cost])
}

func known(v float64) bool { return !math.IsNaN(v) }
