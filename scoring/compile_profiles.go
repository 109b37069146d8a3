package scoring

import (
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// fill puts the plug-ins that a profile refers to in their places.
func (c *compiler) fill(entry *strictjson.Object, p *profile) {
	references := entry.Objects("plugins")
	entry.Close()
	for _, reference := range references {
		weight := 1.0
		reference.LabelBy("pluginRef")
		c.supply(reference)
		d := c.reference(reference)
		c.readWeight(reference, d, &weight)
		reference.Close()
		if d == nil {
			continue
		}
		switch problem := p.add(d, weight); {
		case problem == "" || d.plugin == nil:
		case c.defaults.Dialect == DialectLLMD && !takes(d.plugin):
			c.warn(reference, "has no effect: "+problem)
		default:
			reference.Mistake("pluginRef", problem)
		}
	}
}

// supplied are the types that llm-d's router adds to a document, under their names, before it looks at profiles.
var supplied = []string{defaultPicker, defaultDetector, addedSource, addedExtractor,
	"openai-parser", "anthropic-parser", "vllmhttp-parser", "passthrough-parser"}

// supply creates what a profile may refer to though the document does not declare it.
func (c *compiler) supply(reference *strictjson.Object) {
	name := reference.Text("pluginRef")
	if c.defaults.Dialect == DialectLLMD && slices.Contains(supplied, name) {
		c.injectType(reference, name)
	}
}

// readWeight reads the weight of a plug-in in a profile. In llm-d's dialect it may be below 0.
func (c *compiler) readWeight(reference *strictjson.Object, d *declared, weight *float64) {
	if c.defaults.Dialect != DialectLLMD {
		reference.Float("weight", weight, 0, mostWeight)
		return
	}
	reference.Float("weight", weight, -mostWeightLLMD, mostWeightLLMD)
	if *weight < 0 && d != nil && is[Scorer](d.plugin) {
		c.plan.warnings = append(c.plan.warnings, reference.Path()+".weight: "+reference.Raw("weight")+
			" is below 0: the better an endpoint scores, the less it counts")
	}
}

// find returns the plug-in called name, which is built if its turn has not come yet, or nil.
func (c *compiler) find(name string) *declared {
	for i := range c.plugins {
		if c.plugins[i].name == name {
			return &c.plugins[i]
		}
	}
	for i := range c.entries {
		if e := &c.entries[i]; (e.name == name || e.meant == name) && !e.begun {
			c.declare(e)
			return c.find(name)
		}
	}
	for i := range c.plugins {
		if c.plugins[i].meant == name && name != "" {
			return &c.plugins[i]
		}
	}
	return nil
}

// add gives a plug-in every place in the profile that it can take. It returns what is wrong, or nothing.
func (p *profile) add(d *declared, weight float64) (problem string) {
	placed := false
	f, plain := d.plugin.(Filter)
	group, all := d.plugin.(GroupFilter)
	if plain || all {
		preference, ok := d.plugin.(Preference)
		p.filters = append(p.filters, namedFilter{f, group, d.name, ok && preference.Prefers()})
		placed = true
	}
	if s, ok := d.plugin.(Scorer); ok {
		p.addScorer(s, d.name, weight)
		placed = true
	}
	if picker, ok := d.plugin.(Picker); ok {
		if p.picker != nil {
			return strconv.Quote(d.name) + " is a second picker; a profile has only one"
		}
		p.picker = picker
		placed = true
	}
	if !placed {
		return strconv.Quote(d.name) + " is neither filter, scorer nor picker and has no place in a profile"
	}
	return ""
}

// addScorer adds a scorer. One that is named twice counts by both weights, and stands once in what is explained.
func (p *profile) addScorer(s Scorer, name string, weight float64) {
	for i := range p.scorers {
		if p.scorers[i].name == name {
			p.scorers[i].weight += weight
			return
		}
	}
	p.scorers = append(p.scorers, weightedScorer{s, name, weight})
}

// takes reports whether a plug-in has a place in profiles.
func takes(p Plugin) bool {
	return is[Filter](p) || is[GroupFilter](p) || is[Scorer](p) || is[Picker](p)
}

// fillWithAll gives the only profile every filter and scorer that is declared, in that order, and the first picker.
// What was added for something else stays out.
func (c *compiler) fillWithAll(p *profile) {
	for i := range c.plugins {
		d := &c.plugins[i]
		if slices.Contains(c.declaredNames, d.name) && p.add(d, 1) == "" {
			d.used = true
		}
	}
}

func (c *compiler) fillWithDefaults(doc *strictjson.Object, p *profile) {
	for _, s := range defaultScorers {
		c.inject(doc, s.kind)
		p.add(c.find(s.kind), s.weight)
	}
}

// inject declares a plug-in that the configuration does not.
func (c *compiler) inject(doc *strictjson.Object, kind string) Plugin {
	return c.build(doc, strictjson.Empty(doc), kind, kind)
}

// addPickers gives each of the profiles without a picker the first one of the plug-ins, or the default.
func (c *compiler) addPickers(at *strictjson.Object, plugins []declared, profiles []profile) {
	first := slices.IndexFunc(plugins, func(d declared) bool { return is[Picker](d.plugin) })
	var picker Picker
	for i := range profiles {
		switch {
		case profiles[i].picker != nil:
			continue
		case picker != nil:
		case first >= 0:
			picker, plugins[first].used = plugins[first].plugin.(Picker), true
		default:
			picker, _ = c.inject(at, defaultPicker).(Picker)
		}
		profiles[i].picker = picker
	}
}

// watchStages has the failures of requests with several stages count for all of them.
func (c *compiler) watchStages() {
	if _, staged := c.plan.handler.(Disaggregator); staged && c.plan.failing.Exclude {
		c.plan.state.InFlight, c.plan.state.Stages = true, true
	}
}

func (c *compiler) chooseHandler(doc *strictjson.Object) {
	for i := range c.plugins {
		handler, ok := c.plugins[i].plugin.(ProfileHandler)
		switch {
		case !ok:
		case c.plan.handler != nil:
			doc.Mistake("plugins", strconv.Quote(c.plugins[i].name)+" is a second profile handler; only one is allowed")
		default:
			c.plan.handler = handler
			c.watchStages()
		}
	}
	if c.plan.handler != nil {
		return
	}
	if len(c.plan.profiles) == 0 {
		return
	}
	if len(c.plan.profiles) > 1 {
		if c.unknown {
			return
		}
		doc.Mistake("plugins", "no profile handler is declared, and with several scheduling profiles one is needed")
		return
	}
	c.plan.handler, _ = c.inject(doc, defaultHandler).(ProfileHandler)
}
