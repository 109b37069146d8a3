package scoring

// NothingRefers is what the operator is told of a plug-in that is idle, behind its name and a colon.
const NothingRefers = "has no effect: nothing in the document refers to it"

// tellIdle tells the operator of plug-ins that are declared, act only where something refers to them, and are referred
// to by nothing: a scorer that a profile was to have, and has not, would be missed by nobody.
func (c *compiler) tellIdle() {
	if c.unknown {
		return // what refers to them may be what is unknown
	}
	for _, name := range c.declaredNames {
		d := c.find(name)
		if d != nil && !d.used && waits(d.plugin) && !actsAlone(d.plugin) {
			c.plan.idle = append(c.plan.idle, d.name)
			c.plan.warnings = append(c.plan.warnings, d.name+": "+NothingRefers)
		}
	}
}

// use is find for whatever puts the plug-in to use.
func (c *compiler) use(name string) *declared {
	d := c.find(name)
	if d != nil {
		d.used = true
	}
	return d
}

// waits reports whether a plug-in has a part that acts where something refers to it.
func waits(p Plugin) bool {
	return takes(p) || is[DataPart](p) || is[PrefillDecider](p) || is[EncodeDecider](p)
}

// actsAlone reports whether it has one that acts by being declared. What a scorer takes down for itself is none.
func actsAlone(p Plugin) bool {
	part := partOf(p)
	notes := is[PoolHook](part) || is[RequestHook](part)
	return is[ProfileHandler](p) || is[Screener](p) || is[Admitter](p) || is[Confirmer](p) || is[ModelSelector](p) ||
		is[ResponsesPart](p) || is[Reporter](p) || is[StageAnnouncer](p) || is[PrecisePart](p) || is[TokensPart](p) ||
		is[PrefixProducer](part) || is[ResponseHook](part) || notes && !is[Scorer](part)
}
