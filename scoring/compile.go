package scoring

import (
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// kind is what an EndpointPickerConfig document says that it is.
const kind = "EndpointPickerConfig"

// The plug-ins that are added where a configuration names none.
const (
	defaultHandler = "single-profile-handler"
	defaultPicker  = "max-score-picker"
	defaultProfile = "default"
	// defaultDetector is added in llm-d's dialect alone.
	defaultDetector = "utilization-detector"
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

// mostWeightLLMD bounds them in llm-d's dialect, which knows no bound, so that sums fit into a float of 32 bits.
const mostWeightLLMD = 1e30

type compiler struct {
	plan         *Plan
	defaults     *Defaults
	environment  func(name string) (value string, ok bool)
	registry     []Registration
	entries      []entry
	plugins      []declared
	profileNames []string
	// declaredNames and declaredTypes are those in the plug-in list, also of plug-ins not built yet.
	declaredNames, declaredTypes []string
	// unknown is set when a plug-in's type is unknown, to spare the operator the mistakes that follow from it.
	unknown bool
	// detector refers to the saturation detector; nil for the default.
	detector *strictjson.Object
	// newGroup is set when the document's apiVersion is one of llm-d's own.
	newGroup bool
	// dataParts are the plug-ins that dataLayer lists and the sidecar goes by.
	dataParts []declared
	// needsLoad is set when a plug-in goes by the tokens in flight.
	needsLoad bool
	// prepareData is set when the feature gate of that name is on.
	prepareData bool
}

// declared is one entry of the plugins list, built. Of an unknown type the plug-in is nil.
type declared struct {
	name, kind string
	plugin     Plugin
	// meant is the name that others may know it by when its type is mistyped and gives it its name.
	meant string
	// used is set once something refers to it.
	used bool
}

// Compile builds a plan from an EndpointPickerConfig document. Mistakes are noted in the document that doc belongs to;
// the plan is of use only if there are none.
func Compile(doc *strictjson.Object, registry []Registration, settings Settings) *Plan {
	c := &compiler{
		plan: &Plan{media: DefaultMedia, stale: settings.Stale, correctLoad: settings.CorrectLoad,
			failing: settings.Failing},
		registry: registry, environment: settings.Environment,
	}
	c.plan.state.InFlight = settings.CorrectLoad
	c.plan.state.Failures, c.plan.state.FailureHalfLife = settings.Failing.Exclude, settings.Failing.HalfLife
	if isResource(doc) {
		c.setDialect(Reading{Dialect: DialectHeimdall, Because: "it is a resource of Heimdall's"})
		c.settle(doc)
		c.readSaturation(strictjson.Empty(doc))
		c.compileResources(doc)
		c.finish(doc)
		return c.plan
	}
	version := c.header(doc)
	c.newGroup = version == apiVersionLLMD || version == apiVersionLLMDV1
	entries := c.readEntries(doc.Objects("plugins"))
	c.readDialect(doc, version, entries, settings.Dialect)
	c.settle(doc)
	c.readSaturation(doc.Object("saturationDetector"))
	gates := c.readGates(doc)
	c.prepareData = gates.prepareData
	data := doc.Object("data")
	profiles := doc.Objects("schedulingProfiles")
	c.readFlowControl(doc, gates)
	layers := c.readLayers(doc)
	doc.Close()
	c.nameProfiles(profiles)
	c.entries = entries
	for i := range entries {
		c.declare(&entries[i])
	}
	c.wireData(doc, data, gates.dataLayer)
	c.wireDetector()
	c.wireLayers(doc, layers)
	c.fillProfiles(doc, profiles)
	c.finish(doc)
	return c.plan
}

// fillProfiles puts the plug-ins in the document's profiles, or in one where it has none: all of them, or the defaults.
func (c *compiler) fillProfiles(doc *strictjson.Object, profiles []*strictjson.Object) {
	switch {
	case len(profiles) > 0:
		for i, entry := range profiles {
			c.fill(entry, &c.plan.profiles[i])
		}
	case len(c.entries) > 0:
		c.fillWithAll(&c.plan.profiles[0])
	default:
		c.fillWithDefaults(doc, &c.plan.profiles[0])
	}
}

// finish completes a plan whose profiles are filled.
func (c *compiler) finish(doc *strictjson.Object) {
	c.chooseLoad(doc)
	c.link()
	c.addPickers(doc, c.plugins, c.plan.profiles)
	c.chooseHandler(doc)
	c.addHooks()
	c.addPrecise()
	c.orderReaders()
	c.checkOrder(doc)
	c.checkPrefixes(doc)
	c.findFirstMatches()
	c.tellIdle()
}

func (c *compiler) header(doc *strictjson.Object) (version string) {
	what := ""
	doc.OneOf("apiVersion", &version, apiVersionOld, apiVersionLLMD, apiVersionLLMDV1)
	doc.OneOf("kind", &what, kind)
	return version
}

// settle has the plan go by the dialect where nothing else was said.
func (c *compiler) settle(doc *strictjson.Object) {
	p, root := c.plan, &Builder{Object: doc, compiler: c}
	if p.stale.Policy == StaleByDialect {
		p.stale.Policy = c.defaults.MissingMetrics
	}
	p.objective, p.rewrite = root.namedHeader(headerObjective), root.namedHeader(headerRewrite)
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
	name, kind, meant string
	parameters        *strictjson.Object
	// begun is set when its turn has come, which is before that of another that names it.
	begun bool
}

// readEntry reads an entry whose parameters stand under a key.
func readEntry(o *strictjson.Object, parameters string) entry {
	e := entry{Object: o}
	o.LabelBy("name", "type")
	o.String("type", &e.kind)
	o.String("name", &e.name)
	e.parameters = o.Object(parameters)
	o.Close()
	return e
}

// readEntries reads the whole list before anything is built, so that every name is known.
func (c *compiler) readEntries(list []*strictjson.Object) []entry {
	entries := make([]entry, len(list))
	for i, o := range list {
		e := readEntry(o, "parameters")
		if e.name == "" {
			e.name, e.meant = e.kind, c.meant(e.kind)
		}
		entries[i] = e
		c.declaredNames = append(c.declaredNames, e.name)
		c.declaredTypes = append(c.declaredTypes, e.kind)
	}
	return entries
}

// declare builds the plug-in of one entry, unless that has been done. Constructors that name other plug-ins have these
// built first, so the order of the list is free.
func (c *compiler) declare(e *entry) {
	if e.begun {
		return
	}
	e.begun = true
	if e.kind == "" {
		e.Missing("type", "every plug-in needs one")
		c.plugins = append(c.plugins, declared{name: e.name})
		c.unknown = true
		return
	}
	if c.twice(e) {
		e.Mistake("name", strconv.Quote(e.name)+" names two plug-ins; give one of them another name")
	}
	c.build(e.Object, e.parameters, e.kind, e.name)
}

// twice reports whether an entry before e has its name.
func (c *compiler) twice(e *entry) bool {
	for i := range c.entries {
		if &c.entries[i] == e {
			return false
		}
		if c.entries[i].name == e.name && e.name != "" {
			return true
		}
	}
	return e.name != "" && c.find(e.name) != nil
}

func (c *compiler) build(at, parameters *strictjson.Object, kind, name string) Plugin {
	for i := range c.registry {
		if c.registry[i].Type != kind {
			continue
		}
		b := &Builder{Object: parameters, Type: kind, Name: name, compiler: c}
		plugin := c.registry[i].New(b)
		b.ignoreParameters()
		parameters.Close()
		c.plugins = append(c.plugins, declared{name: name, kind: kind, plugin: plugin})
		return plugin
	}
	c.unknown = true
	c.plugins = append(c.plugins, declared{name: name, kind: kind, meant: c.meant(name)})
	if why := notHere(kind); why != "" {
		at.Mistake("type", why)
		return nil
	}
	at.Mistake("type", strconv.Quote(kind)+" is not a known plug-in"+strictjson.Hint(kind, c.types(), "known are"))
	return nil
}

func (c *compiler) types() []string {
	known := make([]string, len(c.registry))
	for i := range c.registry {
		known[i] = c.registry[i].Type
	}
	return known
}

// meant returns the type that a mistyped one stands for, by which others name a plug-in without a name; empty for a
// type that is right.
func (c *compiler) meant(kind string) string {
	known := c.types()
	if slices.Contains(known, kind) || notYet[kind] != "" || former[kind] != "" {
		return ""
	}
	return strictjson.Nearest(kind, known)
}
