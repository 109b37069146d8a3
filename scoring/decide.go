package scoring

// Decide routes the request of c. It returns the endpoints that shall serve it, best first, valid until the next
// decision, or why there are none.
func (p *Plan) Decide(c *Cycle) ([]*Endpoint, *Failure) {
	c.plan = p
	if c.Pool == nil {
		return nil, NoEndpoints
	}
	c.begin()
	if len(c.Pool.Endpoints) == 0 {
		return nil, NoEndpoints
	}
	asked := c.Request.Model
	c.readSubset()
	c.rewrite()
	if failure := c.selectModel(); failure != nil {
		return nil, failure
	}
	c.adoptPathModel()
	if !c.findServing(c.Request.Model) {
		return nil, modelNotFound(asked, c.Request.Model)
	}
	if !c.reaches() {
		return nil, OutsideSubset
	}
	if failure := c.admit(); failure != nil {
		return nil, failure
	}
	c.produce()
	for profile, ok := p.handler.Next(c); ok; profile, ok = p.handler.Next(c) {
		c.runProfile(profile)
	}
	primary := c.Primary()
	if primary.State != Picked {
		return nil, p.defaults.FilteredOut
	}
	if failure := c.confirm(); failure != nil {
		return nil, failure
	}
	for _, hook := range p.requestHooks {
		hook.OnRouted(c)
	}
	return primary.Picked, nil
}

// admit asks whether the request, of which nothing has been decided yet, may be served.
func (c *Cycle) admit() *Failure {
	for _, screener := range c.plan.screeners {
		if failure := screener.Screen(c); failure != nil {
			return failure
		}
	}
	if c.Priority() < 0 && c.saturated() {
		return Shed
	}
	for _, admitter := range c.plan.admitters {
		if failure := admitter.Admit(c); failure != nil {
			return failure
		}
	}
	return nil
}

// confirm asks whether the request, which has been routed, shall be served.
func (c *Cycle) confirm() *Failure {
	if c.Request.Unjudged {
		return nil
	}
	for _, confirmer := range c.plan.confirmers {
		if failure := confirmer.Confirm(c); failure != nil {
			return failure
		}
	}
	return nil
}

// spread picks uniformly random candidates for a request that scorers cannot judge, as many as the picker would: it
// fails over as others do. It prefers those that answered lately and do not fail, as a server that cannot be scraped is
// likely down.
func (c *Cycle) spread(p *profile, r *Result) {
	sound := 0
	for i, e := range c.candidates {
		if c.sound(e) {
			c.candidates[sound], c.candidates[i] = e, c.candidates[sound]
			sound++
		}
	}
	if sound == 0 {
		sound = len(c.candidates)
	}
	r.State = Picked
	for i := range min(p.picker.Most(), sound) {
		chosen := i + c.Random.IntN(sound-i)
		c.candidates[i], c.candidates[chosen] = c.candidates[chosen], c.candidates[i]
		r.Picked = append(r.Picked, c.candidates[i])
		if c.Tracer != nil {
			c.Tracer.Picked(p.name, c.candidates[i])
		}
	}
}

func (c *Cycle) sound(e *Endpoint) bool {
	answers := c.Fresh(e)
	if c.plan.stale.Policy == StaleZero {
		answers = c.sampledWithin(&e.Metrics, c.plan.stale.After)
	}
	return answers && !c.Fails(e)
}

// runProfile runs a profile, alone or mixed with others.
func (c *Cycle) runProfile(profile int) {
	if c.Mixes() {
		c.runMix(c.plan.profiles, &c.results[profile])
	} else {
		c.run(&c.plan.profiles[profile], &c.results[profile])
	}
	if !c.answers(profile) {
		c.candidates, c.earlier = c.earlier, c.candidates
		c.reserves, c.formerReserves = c.formerReserves, c.reserves
	}
}

// run takes one profile through filters, scorers and picker.
func (c *Cycle) run(p *profile, r *Result) {
	c.reset(p)
	c.reserving = c.reserving || p.picker.Most() > 1 && r == c.Primary()
	for i := range p.filters {
		c.filter(p, &p.filters[i])
	}
	if c.leavesChoice(p, r) {
		totals := c.sum(p)
		c.traceTotals(p, totals)
		c.pick(p, totals, r)
	}
	if r.State == Picked && r == c.Primary() {
		c.pickReserves(p, r)
	}
}

// leavesChoice takes out what is stale or fails, once the filters have run, and reports whether scorers are to judge
// the rest. They are not where nobody is left, which fails the profile, nor where they cannot, and chance decides.
func (c *Cycle) leavesChoice(p *profile, r *Result) bool {
	c.excludeStale(p)
	c.excludeFailing(p, r)
	if len(c.candidates) == 0 {
		r.State = Failed
		return false
	}
	if c.Request.Unjudged {
		c.spread(p, r)
		return false
	}
	return true
}

// sum returns the candidates' sums of weighted scores, valid until the next call.
func (c *Cycle) sum(p *profile) []float64 {
	totals := c.totals[:len(c.candidates)]
	clear(totals)
	for i := range p.scorers {
		c.score(p, &p.scorers[i], totals)
	}
	return totals
}

func (c *Cycle) traceTotals(p *profile, totals []float64) {
	if c.Tracer != nil {
		c.Tracer.Total(p.name, c.candidates, totals)
	}
}

func (c *Cycle) pick(p *profile, totals []float64, r *Result) {
	c.ranked = c.ranked[:0]
	for i, e := range c.candidates {
		c.ranked = append(c.ranked, Ranked{Endpoint: e, Total: totals[i]})
	}
	n := p.picker.Pick(c, c.ranked)
	r.State = Picked
	for _, chosen := range c.ranked[:n] {
		r.Picked = append(r.Picked, chosen.Endpoint)
		if c.Tracer != nil {
			c.Tracer.Picked(p.name, chosen.Endpoint)
		}
	}
}

// reset makes every endpoint a candidate that serves the model and is in the request's subset.
func (c *Cycle) reset(p *profile) {
	c.candidates, c.earlier = c.earlier[:0], c.candidates
	c.reserves, c.formerReserves = c.formerReserves[:0], c.reserves
	c.reserving = len(c.plan.confirmers) > 0
	for i := range c.Pool.Endpoints {
		e := &c.Pool.Endpoints[i]
		if why := c.removedBy(i); why == "" {
			c.candidates = append(c.candidates, e)
		} else if c.Tracer != nil {
			c.Tracer.FilteredOut(p.name, e, why)
		}
	}
}

func (c *Cycle) filter(p *profile, f *namedFilter) {
	if !f.prefers {
		c.filterReserves(f)
	}
	if f.group != nil {
		c.filterGroup(p, f)
		return
	}
	kept := c.candidates[:0]
	for _, e := range c.candidates {
		if f.Keep(c, e) {
			kept = append(kept, e)
		} else if c.Tracer != nil {
			c.Tracer.FilteredOut(p.name, e, f.name)
		}
	}
	c.candidates = kept
}

func (c *Cycle) filterGroup(p *profile, f *namedFilter) {
	if len(c.candidates) == 0 {
		return
	}
	n, lasting := 0, len(c.candidates)
	if f.prefers {
		n, lasting = c.prefer(f.group)
	} else {
		n = f.group.Select(c, c.candidates)
	}
	if c.Tracer != nil {
		for i, e := range c.candidates[n:] {
			why := f.name
			if n+i >= lasting {
				why = c.leftOutFor(e)
			}
			c.Tracer.FilteredOut(p.name, e, why)
		}
	}
	c.candidates = c.candidates[:n]
}

func (c *Cycle) score(p *profile, s *weightedScorer, totals []float64) {
	scores := c.scores[:len(c.candidates)]
	clear(scores)
	s.Score(c, c.candidates, scores)
	for i, score := range scores {
		scores[i] = clamp(score)
		totals[i] += scores[i] * s.weight
	}
	if c.Tracer != nil {
		c.Tracer.Scored(p.name, s.name, c.candidates, scores)
	}
}

// clamp is the one place where scores are brought into 0 to 1. NaN becomes 0.
func clamp(score float64) float64 {
	switch {
	case score >= 1:
		return 1
	case score > 0:
		return score
	}
	return 0
}

// Primary returns the number of the profile that serves the request of the last decision of c.
func (p *Plan) Primary(c *Cycle) int { return p.handler.Primary(c) }
