package scoring

import (
	"strconv"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// What an EndpointPickerConfig document says of itself.
const (
	apiVersion = "inference.networking.x-k8s.io/v1alpha1"
	kind       = "EndpointPickerConfig"
)

// The plug-ins that are added where a configuration names none.
const (
	defaultHandler = "single-profile-handler"
	defaultPicker  = "max-score-picker"
	defaultProfile = "default"
)

// defaultScorers are the scorers of an empty configuration and their weights.
var defaultScorers = []struct {
	kind   string
	weight float64
}{
	{"queue-scorer", 2},
	{"kv-cache-utilization-scorer", 2},
	{"prefix-cache-scorer", 3},
}

// mostWeight bounds weights, so that sums of scores stay far from losing digits.
const mostWeight = 1e6

type compiler struct {
	plan         *Plan
	environment  func(name string) (value string, ok bool)
	registry     []Registration
	plugins      []declared
	profileNames []string
	// declaredNames and declaredTypes are those in the plug-in list, also of plug-ins not built yet.
	declaredNames, declaredTypes []string
	// unknown is set when a plug-in's type is unknown, to spare the operator the mistakes that follow from it.
	unknown bool
}

// declared is one entry of the plugins list, built. Of an unknown type the plug-in is nil.
type declared struct {
	name, kind string
	plugin     Plugin
}

// Compile builds a plan from an EndpointPickerConfig document. Mistakes are noted in the document that doc belongs to;
// the plan is of use only if there are none.
func Compile(doc *strictjson.Object, registry []Registration, settings Settings) *Plan {
	c := &compiler{
		plan:     &Plan{stale: settings.Stale, correctLoad: settings.CorrectLoad, failing: settings.Failing},
		registry: registry, environment: settings.Environment,
	}
	c.plan.state.InFlight = settings.CorrectLoad
	c.plan.state.Failures, c.plan.state.FailureHalfLife = settings.Failing.Exclude, settings.Failing.HalfLife
	root := &Builder{Object: doc, compiler: c}
	c.plan.objective, c.plan.rewrite = root.RequestHeader(headerObjective), root.RequestHeader(headerRewrite)
	if isResource(doc) {
		c.readSaturation(strictjson.Empty(doc))
		c.compileResources(doc)
		c.finish(doc)
		return c.plan
	}
	c.header(doc)
	c.readSaturation(doc.Object("saturationDetector"))
	gates := c.readGates(doc)
	data := doc.Object("data")
	plugins := doc.Objects("plugins")
	profiles := doc.Objects("schedulingProfiles")
	if doc.Has("flowControl") {
		doc.Object("flowControl")
		doc.Mistake("flowControl", "is not supported: requests are not queued in the proxy; remove it")
	}
	doc.Close()
	c.nameProfiles(profiles)
	entries := c.readEntries(plugins)
	for i := range entries {
		c.declare(&entries[i])
	}
	c.wireData(doc, data, gates.dataLayer)
	switch {
	case len(profiles) > 0:
		for i, entry := range profiles {
			c.fill(entry, &c.plan.profiles[i])
		}
	case len(plugins) > 0:
		c.fillWithAll(&c.plan.profiles[0])
	default:
		c.fillWithDefaults(doc, &c.plan.profiles[0])
	}
	c.finish(doc)
	return c.plan
}

// finish completes a plan whose profiles are filled.
func (c *compiler) finish(doc *strictjson.Object) {
	c.addPickers(doc)
	c.chooseHandler(doc)
	c.addHooks()
	c.checkOrder(doc)
	c.checkPrefixes(doc)
}

func (c *compiler) header(doc *strictjson.Object) {
	version, what := "", ""
	doc.OneOf("apiVersion", &version, apiVersion)
	doc.OneOf("kind", &what, kind)
}

// nameProfiles gives every profile its number, so that handlers can refer to profiles before these are filled.
func (c *compiler) nameProfiles(profiles []*strictjson.Object) {
	if len(profiles) == 0 {
		c.profileNames = []string{defaultProfile}
	}
	for _, entry := range profiles {
		name := ""
		entry.LabelBy("name")
		entry.String("name", &name)
		if name == "" {
			entry.Missing("name", "every scheduling profile needs one")
		}
		for _, other := range c.profileNames {
			if other == name && name != "" {
				entry.Mistake("name", strconv.Quote(name)+" names two scheduling profiles")
			}
		}
		c.profileNames = append(c.profileNames, name)
	}
	c.plan.profiles = make([]profile, len(c.profileNames))
	for i, name := range c.profileNames {
		c.plan.profiles[i].name = name
	}
}

// entry is one entry of the plugins list before it is built.
type entry struct {
	*strictjson.Object
	name, kind string
	parameters *strictjson.Object
}

// readEntries reads the whole list before anything is built, so that every name is known.
func (c *compiler) readEntries(list []*strictjson.Object) []entry {
	entries := make([]entry, len(list))
	for i, o := range list {
		e := entry{Object: o}
		o.LabelBy("name", "type")
		o.String("type", &e.kind)
		o.String("name", &e.name)
		e.parameters = o.Object("parameters")
		o.Close()
		if e.name == "" {
			e.name = e.kind
		}
		entries[i] = e
		c.declaredNames = append(c.declaredNames, e.name)
		c.declaredTypes = append(c.declaredTypes, e.kind)
	}
	return entries
}

// declare builds the plug-in of one entry.
func (c *compiler) declare(e *entry) {
	if e.kind == "" {
		e.Missing("type", "every plug-in needs one")
		c.plugins = append(c.plugins, declared{name: e.name})
		c.unknown = true
		return
	}
	if e.name != "" && c.find(e.name) != nil {
		e.Mistake("name", strconv.Quote(e.name)+" names two plug-ins; give one of them another name")
	}
	c.build(e.Object, e.parameters, e.kind, e.name)
}

func (c *compiler) build(at, parameters *strictjson.Object, kind, name string) Plugin {
	for i := range c.registry {
		if c.registry[i].Type != kind {
			continue
		}
		b := &Builder{Object: parameters, Type: kind, Name: name, compiler: c}
		plugin := c.registry[i].New(b)
		parameters.Close()
		c.plugins = append(c.plugins, declared{name: name, kind: kind, plugin: plugin})
		return plugin
	}
	known := make([]string, len(c.registry))
	for i := range c.registry {
		known[i] = c.registry[i].Type
	}
	at.Mistake("type", strconv.Quote(kind)+" is not a known plug-in"+strictjson.Hint(kind, known, "known are"))
	c.plugins = append(c.plugins, declared{name: name, kind: kind})
	c.unknown = true
	return nil
}

// fill puts the plug-ins that a profile refers to in their places.
func (c *compiler) fill(entry *strictjson.Object, p *profile) {
	references := entry.Objects("plugins")
	entry.Close()
	for _, reference := range references {
		weight := 1.0
		reference.LabelBy("pluginRef")
		d := c.reference(reference)
		reference.Float("weight", &weight, 0, mostWeight)
		reference.Close()
		if d == nil {
			continue
		}
		if problem := p.add(d, weight); problem != "" && d.plugin != nil {
			reference.Mistake("pluginRef", problem)
		}
	}
}

func (c *compiler) find(name string) *declared {
	for i := range c.plugins {
		if c.plugins[i].name == name {
			return &c.plugins[i]
		}
	}
	return nil
}

// add gives a plug-in every place in the profile that it can take. It returns what is wrong, or nothing.
func (p *profile) add(d *declared, weight float64) (problem string) {
	placed := false
	if f, ok := d.plugin.(Filter); ok {
		p.filters = append(p.filters, namedFilter{f, d.name})
		placed = true
	}
	if s, ok := d.plugin.(Scorer); ok {
		p.scorers = append(p.scorers, weightedScorer{s, d.name, weight})
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

// fillWithAll gives the only profile every filter, scorer and picker that is declared, in that order.
func (c *compiler) fillWithAll(p *profile) {
	for i := range c.plugins {
		d := &c.plugins[i]
		if _, ok := d.plugin.(Picker); ok && p.picker != nil {
			continue
		}
		p.add(d, 1)
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

// addPickers gives each profile without a picker the first one that is declared, or the default.
func (c *compiler) addPickers(doc *strictjson.Object) {
	var picker Picker
	for i := range c.plugins {
		if found, ok := c.plugins[i].plugin.(Picker); ok {
			picker = found
			break
		}
	}
	for i := range c.plan.profiles {
		if c.plan.profiles[i].picker != nil {
			continue
		}
		if picker == nil {
			picker, _ = c.inject(doc, defaultPicker).(Picker)
		}
		c.plan.profiles[i].picker = picker
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
