package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// shadow decides each request again by a second plan, and nothing goes by what it decides. It has a workplace, a
// state and random numbers of its own, so that the plan that acts decides as it would without. Its state is fed by
// the same events: it knows what happened, not what would have.
type shadow struct {
	plan  *scoring.Plan
	pool  scoring.Pool
	cycle *scoring.Cycle
	stats *shadowStats
	// chains are scratch memory of apply.
	chains []journal.Chain
}

type shadowStats struct {
	decisions, agreed, refused, admitted hostcalls.Counter
	predicted, predictedActing           hostcalls.Counter
	load, loadActing                     hostcalls.Counter
	decisionMicros                       hostcalls.Histogram
}

// newShadowStats defines the statistics of all shadows of a VM.
func newShadowStats() *shadowStats {
	return &shadowStats{
		decisions:       hostcalls.NewCounter("pintle.shadow.decisions"),
		agreed:          hostcalls.NewCounter("pintle.shadow.agreed"),
		refused:         hostcalls.NewCounter("pintle.shadow.refused"),
		admitted:        hostcalls.NewCounter("pintle.shadow.admitted"),
		predicted:       hostcalls.NewCounter("pintle.shadow.cached_tokens"),
		predictedActing: hostcalls.NewCounter("pintle.shadow.cached_tokens_acting"),
		load:            hostcalls.NewCounter("pintle.shadow.load"),
		loadActing:      hostcalls.NewCounter("pintle.shadow.load_acting"),
		decisionMicros:  hostcalls.NewHistogram("pintle.shadow.decision_us"),
	}
}

func newShadow(plan *scoring.Plan, stats *shadowStats) *shadow {
	x := &shadow{plan: plan, cycle: scoring.NewCycle(hostcalls.Seed()), stats: stats}
	options := plan.StateOptions()
	options.Seed = hostcalls.Seed()
	x.pool.State = state.New(options)
	x.cycle.Pool = &x.pool
	return x
}

// take takes the acting plan's endpoints, whose metrics both share.
func (x *shadow) take(from *scoring.Pool, newTopology bool) {
	x.pool.Adapters, x.pool.Attributes = from.Adapters, from.Attributes
	if newTopology {
		x.pool.Endpoints, x.pool.Objectives, x.pool.Rewrites = from.Endpoints, from.Objectives, from.Rewrites
		// Both states see the same pools in the same order, and so give an endpoint the same index.
		x.pool.Enter()
	}
	x.plan.Prepare(&x.pool)
}

// apply applies an event, of a decision with the chains that the shadow asked for.
func (x *shadow) apply(e *journal.Event) {
	if e.Kind != journal.Decision || len(e.Shadow) == 0 {
		x.pool.State.Apply(e)
		return
	}
	acting := e.Chains
	x.chains = x.chains[:0]
	for i := range e.Shadow {
		chain := e.Shadow[i]
		for k := range acting {
			if len(chain.Blocks) == 0 && acting[k].ID == chain.ID {
				chain = acting[k]
			}
		}
		x.chains = append(x.chains, chain)
	}
	e.Chains = x.chains
	x.pool.State.Apply(e)
	e.Chains = acting
}

// shadowDecision decides the request that was just decided by the plan that acts, and counts how the two differ.
func (s *stream) shadowDecision(picked []*scoring.Endpoint, failure *scoring.Failure) {
	x := s.plugin.shadow
	if x == nil || s.cycle.Request.Unjudged {
		return
	}
	started := hostcalls.Now()
	r := &x.cycle.Request
	*r = s.cycle.Request
	r.Headers, r.KeysFrom = s.remembered()[len(s.config.Plan.RequestHeaders())+1:], len(s.config.Plan.BodyKeys())
	if r.Model = ""; r.Body != nil {
		r.Model = s.request.Model
	}
	own, ownFailure := x.plan.Decide(x.cycle)
	s.shadowed = journal.Shadowed{Decided: true}
	if ownFailure == nil {
		s.shadowed.Primary = x.pool.ID(own[0])
	}
	x.stats.decisions.Add(1)
	x.stats.decisionMicros.Record(uint64(max(hostcalls.Now()-started, 0)) / 1000)
	switch {
	case failure != nil && ownFailure != nil:
		x.stats.agreed.Add(1)
	case failure != nil:
		x.stats.admitted.Add(1)
	case ownFailure != nil:
		x.stats.refused.Add(1)
	default:
		s.compareShadow(picked[0], own[0])
	}
}

// compareShadow counts what is believed of the endpoint that was chosen and of the one that the shadow would have
// chosen.
func (s *stream) compareShadow(acting, own *scoring.Endpoint) {
	x := s.plugin.shadow
	if acting == own {
		x.stats.agreed.Add(1)
	} else {
		s.report.text(reportShadow, own.Name)
	}
	predicted := func(e *scoring.Endpoint) uint32 {
		return uint32(max(s.cycle.CachedTokens(e), x.cycle.CachedTokens(e)))
	}
	load := func(e *scoring.Endpoint) uint32 {
		return uint32(max(s.cycle.Waiting(e)+s.cycle.Running(e), 0))
	}
	to := &s.shadowed
	to.Cached, to.ActingCached = predicted(own), predicted(acting)
	to.Load, to.ActingLoad = load(own), load(acting)
	add(x.stats.predicted, uint64(to.Cached))
	add(x.stats.predictedActing, uint64(to.ActingCached))
	add(x.stats.load, uint64(to.Load))
	add(x.stats.loadActing, uint64(to.ActingLoad))
}
