package selectors

import (
	"math"
	"strconv"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/multifactor"
	"github.com/pintle-dev/pintle/state"
)

// multiFactorSelector chooses the model for requests that name a virtual one, such as auto, by quality, latency, cost
// and load. The choice is written into the body, and then the endpoints that serve it are scheduled. It takes part by
// being declared and has no place in a profile. Each decision is a virtual model with a policy of its own, in the
// semantic router's words:
//
//	decisions:
//	- name: auto                      # what clients ask for
//	  modelRefs:
//	  - {model: large, quality_score: 0.9, pricing: {prompt_per_1m: 5}}
//	  - {model: small, quality_score: 0.6, pricing: {prompt_per_1m: 0.5}}
//	  algorithm:
//	    type: multi_factor
//	    multi_factor:                 # these are the defaults, but for slo
//	      weights: {quality: 0.25, latency: 0.25, cost: 0.25, load: 0.25}
//	      slo: {max_tpot_ms: 200, max_ttft_ms: 800, max_cost_per_1m: 5, max_inflight: 50}
//	      latency_percentile: 95      # 1 to 100
//	      on_no_candidates: cheapest  # or first, fail
//	      missing: {quality: worst, latency: neutral, cost: worst}
//	      latency_window: 1m0s
//	      semantics: documented       # or source
//
// A model that no endpoint serves, as far as models are known, is not considered, nor is one whose endpoints all fail
// while others do not, or are all outside the request's subset while others are not. What is above a ceiling of slo is
// removed; 0 is no ceiling, a value equal to it passes, and so does an unknown one. If none is left, on_no_candidates
// takes the one with the least prompt_per_1m, or the first that is listed, or refuses the request with 503
// slo_exceeded. A request whose models are all unserved is refused with 503 no_model.
//
// Formula: the sum of weight x rating. Over the models left, quality is rated (v - min) / (max - min), the others 1 -
// (v - min) / (max - min), and 0.5 where all are equal. Weights below 0 count as 0, and are divided by their sum; if
// that is 0 all are equal. The highest sum wins, the first of equal ones. Latency is the percentile of the time per
// output token (TPOT) if each of these models with samples has one, else of the time to first token (TTFT), so that
// only one of them is compared. Load is the number of requests in flight, of all of Envoy's workers. A request that is
// older than 10 minutes no longer counts, and while this plug-in is declared that holds for active-request-scorer, too.
//
// Range: 0 to 1. Unit: milliseconds; currency per million prompt tokens; requests.
//
// Missing data: worst is a rating of 0, neutral 0.5. A model that nobody has asked for within latency_window has no
// latency. All plug-ins share the longest window that a configuration names.
//
// Source: the semantic router's documentation of multi_factor. Its code differs, and semantics: source follows the
// code: a weight that is left out of weights is 0; a quality_score or prompt_per_1m of 0 is missing, so that a free
// model is the dearest; a missing latency is worst; a model's TPOT is compared with another's TTFT; and a
// latency_percentile out of range is 95. In either semantics TPOT is the time from the first token to the end, divided
// by the tokens after the first, and samples are those of latency_window. The semantic router's code divides the whole
// time of an answer by its tokens, so that max_tpot_ms may have to be less here, keeps the last 1,000 samples however
// old they are, and takes a moving mean of the first two. Its rules, which choose among decisions by what is asked, are
// not here: clients name the decision.
type multiFactorSelector struct {
	decisions []decision
	// candidates are those of one selection; refs says which models they are.
	candidates []multifactor.Candidate
	refs       []*modelRef
}

type multiFactorSelectorParameters struct {
	// Decisions are the virtual models; the name of each is auto unless it says otherwise. See above.
	Decisions []decision
}

// decision is a virtual model.
type decision struct {
	name    string
	policy  multifactor.Policy
	models  []modelRef
	noModel *scoring.Failure
	broken  *scoring.Failure
}

// modelRef is a model that a virtual one may stand for.
type modelRef struct {
	name          string
	hash          uint64
	place         int
	quality, cost float64
}

// reasonScore says that a model was chosen by its score.
const reasonScore = "score"

// NewMultiFactorSelector builds a multi-factor-selector.
func NewMultiFactorSelector(b *scoring.Builder) scoring.Plugin {
	p := multiFactorSelectorParameters{}
	most := 0
	for _, o := range b.Objects("decisions") {
		d := readDecision(b, o)
		for i := range p.Decisions {
			if p.Decisions[i].name == d.name {
				o.Mistake("name", strconv.Quote(d.name)+" names two decisions; give one of them another name")
			}
		}
		most = max(most, len(d.models))
		p.Decisions = append(p.Decisions, d)
	}
	if len(p.Decisions) == 0 {
		b.Missing("decisions", "give at least one, with a name and modelRefs")
	}
	options := b.State()
	options.InFlight = true
	options.RequestTimeout = max(options.RequestTimeout, multifactor.RequestTimeout)
	for i := range p.Decisions {
		policy := &p.Decisions[i].policy
		if policy.UsesLatency() {
			options.ModelLatency = true
			options.WindowAge = max(options.WindowAge, policy.Window())
		}
	}
	return &multiFactorSelector{
		decisions: p.Decisions, candidates: make([]multifactor.Candidate, 0, most), refs: make([]*modelRef, 0, most),
	}
}

func readDecision(b *scoring.Builder, o *strictjson.Object) decision {
	d := decision{name: "auto"}
	description := ""
	o.String("name", &d.name)
	o.String("description", &description)
	if d.name == "" {
		o.Missing("name", "it is what clients ask for")
	}
	algorithm, kind := o.Object("algorithm"), "multi_factor"
	algorithm.OneOf("type", &kind, "multi_factor")
	parameters := algorithm.Object("multi_factor")
	d.policy = multifactor.Read(parameters)
	parameters.Close()
	algorithm.Close()
	for _, ref := range o.Objects("modelRefs") {
		m := readModelRef(b, ref)
		for i := range d.models {
			if d.models[i].name == m.name && m.name != "" {
				ref.Mistake("model", strconv.Quote(m.name)+" is listed twice")
			}
		}
		d.models = append(d.models, m)
	}
	if len(d.models) == 0 {
		o.Missing("modelRefs", "name the models to choose from")
	}
	o.Close()
	name := strconv.Quote(d.name)
	d.noModel = &scoring.Failure{
		Status: 503, Reason: "no_model", Message: "no model server serves any of the models behind " + name,
	}
	d.broken = &scoring.Failure{
		Status: 503, Reason: "slo_exceeded",
		Message: "every model behind " + name + " is above a ceiling of its slo; try again later",
	}
	return d
}

// readModelRef reads a model and what is known of it. What the semantic router says of a model and does not weigh is
// accepted.
func readModelRef(b *scoring.Builder, o *strictjson.Object) modelRef {
	m := modelRef{}
	reasoning, currency, completion := false, "", 0.0
	o.String("model", &m.name)
	multifactor.ReadSignal(o, "quality_score", &m.quality)
	o.Bool("use_reasoning", &reasoning)
	pricing := o.Object("pricing")
	multifactor.ReadSignal(pricing, "prompt_per_1m", &m.cost)
	pricing.Float("completion_per_1m", &completion, 0, math.MaxFloat64)
	pricing.String("currency", &currency)
	pricing.Close()
	o.Close()
	if reasoning {
		o.Mistake("use_reasoning",
			"true is not supported: only the model's name is written into the request; remove it")
	}
	if m.name == "" {
		o.Missing("model", "name a model that servers serve")
		return m
	}
	m.hash = journal.HashName(m.name)
	ok := false
	if m.place, ok = b.State().WatchModel(m.hash); !ok {
		o.Mistake("model", strconv.Quote(m.name)+" is one model too many; decisions may name "+
			strconv.Itoa(state.MaxModels)+" models in all")
	}
	return m
}

// SelectModel implements scoring.ModelSelector.
func (s *multiFactorSelector) SelectModel(c *scoring.Cycle) (model string, failure *scoring.Failure) {
	for i := range s.decisions {
		if s.decisions[i].name == c.Request.Model {
			return s.choose(c, &s.decisions[i])
		}
	}
	return "", nil
}

func (s *multiFactorSelector) choose(c *scoring.Cycle, d *decision) (model string, failure *scoring.Failure) {
	s.gather(c, d)
	left := d.policy.Rate(s.candidates)
	chosen, reason := multifactor.Best(s.candidates), reasonScore
	switch {
	case len(s.candidates) == 0:
		failure = d.noModel
	case left > 0:
	case d.policy.OnNone() == multifactor.Fail:
		failure = d.broken
	case d.policy.OnNone() == multifactor.First:
		chosen, reason = 0, multifactor.First
	default:
		chosen, reason = multifactor.LeastCost(s.candidates), multifactor.Cheapest
	}
	if failure != nil {
		reason = failure.Reason
	} else {
		model = s.refs[chosen].name
	}
	if c.Tracer != nil && !c.Brief {
		c.Tracer.ModelSelected(s.explain(c, d, model, reason))
	}
	return model, failure
}

// gather makes candidates of the models that are served best.
func (s *multiFactorSelector) gather(c *scoring.Cycle, d *decision) {
	s.candidates, s.refs = s.candidates[:0], s.refs[:0]
	best := scoring.ServedElsewhere
	for i := range d.models {
		m := &d.models[i]
		service := c.Service(m.name)
		switch {
		case service < best:
			continue
		case service > best:
			s.candidates, s.refs, best = s.candidates[:0], s.refs[:0], service
		}
		signals := multifactor.Signals{Quality: m.quality, Cost: m.cost, InFlight: c.InFlightOfModel(m.place)}
		signals.TTFTMillis, signals.TPOTMillis = c.LatencyOfModel(m.hash, d.policy.Quantile())
		s.candidates = append(s.candidates, multifactor.Candidate{Signals: signals})
		s.refs = append(s.refs, m)
	}
}
