package selectors

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/multifactor"
)

// removed says what keeps a model from being considered.
var removed = [scoring.Served + 1]string{scoring.Unserved: "not served", scoring.ServedElsewhere: "subset",
	scoring.ServedFailing: "failing"}

// explain tells of the selection just made.
func (s *multiFactorSelector) explain(c *scoring.Cycle, d *decision, model, reason string) *scoring.Selection {
	x := &scoring.Selection{Decision: d.name, Model: model, Reason: reason}
	next := 0
	for i := range d.models {
		option := scoring.ModelOption{Model: d.models[i].name}
		option.Removed = removed[c.Service(option.Model)]
		if next < len(s.refs) && s.refs[next] == &d.models[i] {
			candidate := &s.candidates[next]
			option.Removed, option.Score = candidate.Broken, candidate.Score
			option.Signals, option.Ratings = named(candidate)
			next++
		}
		x.Models = append(x.Models, option)
	}
	return x
}

// named are a candidate's signals, of which the unknown ones are left out, and its ratings, if it has any.
func named(c *multifactor.Candidate) (signals, ratings []scoring.NamedValue) {
	for _, v := range []scoring.NamedValue{
		{Name: "quality_score", Value: c.Quality},
		{Name: "tpot_ms", Value: c.TPOTMillis},
		{Name: "ttft_ms", Value: c.TTFTMillis},
		{Name: "prompt_per_1m", Value: c.Cost},
		{Name: "inflight", Value: float64(c.InFlight)},
	} {
		if !math.IsNaN(v.Value) {
			signals = append(signals, v)
		}
	}
	if c.Broken != "" {
		return signals, nil
	}
	for f, name := range multifactor.Names {
		ratings = append(ratings, scoring.NamedValue{Name: name, Value: c.Ratings[f]})
	}
	return signals, ratings
}
