package scoring

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// The feature gates that a document may name.
const (
	gateDataLayer   = "dataLayer"
	gatePrepareData = "prepareDataPlugins"
	gateFlowControl = "flowControl"
	// gateNonLeader says which replicas of a picker watch the pool; here every sidecar does.
	gateNonLeader = "haPopulateNonLeaderDatastore"
)

// gates are those that are on. flowAt is where the document says so of flowControl.
type gates struct {
	dataLayer, flowControl, prepareData bool
	flowAt                              string
}

// gatesOf are the feature gates that a dialect knows.
func gatesOf(d Dialect) []string {
	if d == DialectLLMD {
		return []string{gateFlowControl, gateNonLeader}
	}
	return []string{gateDataLayer, gatePrepareData, gateFlowControl}
}

// readGates reads the feature gates: names, each alone or with =true or =false behind it.
func (c *compiler) readGates(doc *strictjson.Object) gates {
	var texts []string
	doc.Strings("featureGates", &texts)
	known, on := gatesOf(c.defaults.Dialect), gates{}
	for i, text := range texts {
		name, value, given := strings.Cut(text, "=")
		if c.formerGate(name) {
			c.warn(doc, "featureGates: "+name+" has no effect: it is on in llm-d's router since 0.10")
			continue
		}
		if !slices.Contains(known, name) {
			doc.Mistake("featureGates", strconv.Quote(name)+" is not one of "+strings.Join(known, ", "))
			continue
		}
		enabled, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(value)))
		if given && err != nil {
			doc.Mistake("featureGates", strconv.Quote(text)+" is not of the form name, name=true or name=false")
			continue
		}
		enabled = enabled || !given
		switch name {
		case gateDataLayer:
			on.dataLayer = enabled
		case gateFlowControl:
			on.flowControl, on.flowAt = enabled, "featureGates["+strconv.Itoa(i)+"]"
		case gatePrepareData:
			on.prepareData = enabled
		}
	}
	return on
}

// formerGate reports whether a name is that of a gate which llm-d's dialect has no more, in a document that is older.
func (c *compiler) formerGate(name string) bool {
	return c.defaults.Dialect == DialectLLMD && !c.newGroup && (name == gateDataLayer || name == gatePrepareData)
}

// flowControlKeys are those of flowControl that say how requests are queued.
var flowControlKeys = []string{
	"maxBytes", "maxRequests", "defaultRequestTTL", "noEndpointRequestTTL", "priorityBands", "defaultPriorityBand",
	"defaultNegativePriorityBand", "usageLimitPolicyPluginRef", "bandSelectionPolicyPluginRef", "enableEviction",
}

// readFlowControl says what becomes of queues in front of the servers: without the gate they have no effect anywhere,
// with it they would be needed.
func (c *compiler) readFlowControl(doc *strictjson.Object, on gates) {
	const own = "saturationDetector"
	o := doc.Object("flowControl")
	if detector := o.Object(own); detector.Present() {
		if c.detector != nil {
			c.setAside(c.detector, "flowControl.saturationDetector counts")
		}
		c.detector = detector
	}
	for _, key := range o.Unasked() {
		if !slices.Contains(flowControlKeys, key) {
			o.Mistake("", "unknown key "+strconv.Quote(key)+
				strictjson.Hint(key, append([]string{own}, flowControlKeys...), "known are"))
		}
	}
	present := slices.ContainsFunc(flowControlKeys, o.Has) || o.Present() && !o.Has(own)
	switch {
	case on.flowControl && (present || c.defaults.Dialect == DialectLLMD):
		doc.Mistake(on.flowAt, strconv.Quote(gateFlowControl)+" is known, but not here yet: requests are not queued "+
			"in the proxy; remove the gate "+gateFlowControl+" from featureGates, or write "+gateFlowControl+"=false")
	case on.flowControl:
		c.warn(doc, "featureGates: flowControl has no effect: requests are not queued in the proxy")
	case present:
		c.warn(doc, "flowControl: has no effect, as its feature gate is off")
	}
}

func (c *compiler) warn(at *strictjson.Object, text string) {
	if path := at.Path(); path != "" {
		text = path + ": " + text
	}
	c.plan.warnings = append(c.plan.warnings, text)
}

// readSaturation reads the thresholds of shedding. Defaults: Gateway API Inference Extension.
func (c *compiler) readSaturation(o *strictjson.Object) {
	if o.Has("pluginRef") {
		c.detector = o
		return
	}
	c.plan.saturation = ReadUtilization(o)
	o.Close()
}

// ReadUtilization reads the three thresholds of a detector.
func ReadUtilization(o *strictjson.Object) Utilization {
	u := DefaultUtilization
	depth := int64(u.QueueDepth)
	o.Int64("queueDepthThreshold", &depth, 1, math.MaxInt64)
	u.QueueDepth = float64(depth)
	o.Float("kvCacheUtilThreshold", &u.KVUsage, 0.001, 1)
	o.Duration("metricsStalenessThreshold", &u.StaleAfter, time.Millisecond)
	return u
}

// reference returns the plug-in that o's pluginRef names, or nil after noting why there is none.
func (c *compiler) reference(o *strictjson.Object) *declared {
	name := ""
	o.String("pluginRef", &name)
	if name == "" {
		o.Missing("pluginRef", "name one of the plug-ins")
		return nil
	}
	d := c.use(name)
	if d == nil {
		o.Mistake("pluginRef", c.notDeclared(name))
	}
	return d
}

// notDeclared says that no plug-in has a name, and which there are.
func (c *compiler) notDeclared(name string) string { return notAmong(name, c.declaredNames) }

func notAmong(name string, declared []string) string {
	names := slices.DeleteFunc(slices.Clone(declared), func(name string) bool { return name == "" })
	text := strconv.Quote(name) + " is not the name of a declared plug-in"
	if len(names) == 0 {
		return text + "; none is declared"
	}
	return text + strictjson.Hint(name, names, "declared are")
}

// addHooks activates every plug-in that takes part by being declared.
func (c *compiler) addHooks() {
	for i := range c.plugins {
		part := partOf(c.plugins[i].plugin)
		if hook, ok := c.plugins[i].plugin.(PoolHook); ok {
			c.plan.poolHooks = append(c.plan.poolHooks, hook)
		}
		if screener, ok := c.plugins[i].plugin.(Screener); ok {
			c.plan.screeners = append(c.plan.screeners, screener)
		}
		if admitter, ok := c.plugins[i].plugin.(Admitter); ok && !is[ProfileHandler](c.plugins[i].plugin) {
			c.plan.admitters = append(c.plan.admitters, admitter)
		}
		if confirmer, ok := c.plugins[i].plugin.(Confirmer); ok {
			c.plan.confirmers = append(c.plan.confirmers, confirmer)
		}
		if selector, ok := c.plugins[i].plugin.(ModelSelector); ok {
			c.plan.selectors = append(c.plan.selectors, selector)
		}
		if part, ok := c.plugins[i].plugin.(ResponsesPart); ok {
			c.addResponses(&c.plugins[i], part)
		}
		if salter, ok := c.plugins[i].plugin.(Salter); ok {
			c.addSalter(&c.plugins[i], salter)
		}
		if reporter, ok := c.plugins[i].plugin.(Reporter); ok {
			c.plan.reporters = append(c.plan.reporters, reporter)
		}
		if hook, ok := part.(RequestHook); ok {
			c.plan.requestHooks = append(c.plan.requestHooks, hook)
		}
		if hook, ok := part.(ResponseHook); ok {
			c.plan.responseHooks = append(c.plan.responseHooks, hook)
		}
	}
	// It may mix profiles, for which all others have to have agreed.
	if handler, ok := c.plan.handler.(Admitter); ok {
		c.plan.admitters = append(c.plan.admitters, handler)
	}
}

// checkOrder notes scorers that stand before the prefix scorer that they go by.
func (c *compiler) checkOrder(doc *strictjson.Object) {
	if c.unknown {
		return // it may be the one that is missing
	}
	for i := range c.plan.profiles {
		provided := false
		for _, s := range c.plan.profiles[i].scorers {
			if _, ok := s.Scorer.(PrefixProvider); ok {
				provided = true
			}
			if _, ok := s.Scorer.(PrefixFollower); ok && !provided {
				doc.Mistake("schedulingProfiles", strconv.Quote(s.name)+
					" needs a prefix scorer before it in the profile "+strconv.Quote(c.plan.profiles[i].name))
			}
		}
	}
}

// orderReaders has scorers that go by cached tokens run behind the prefix scorers that know them. Of others the order
// stays.
func (c *compiler) orderReaders() {
	for i := range c.plan.profiles {
		scorers := c.plan.profiles[i].scorers
		last := -1
		for k, s := range scorers {
			if _, ok := s.Scorer.(PrefixProvider); ok {
				last = k
			}
		}
		slices.SortStableFunc(scorers[:last+1], func(a, b weightedScorer) int {
			return cmp.Compare(readerRank(a.Scorer), readerRank(b.Scorer))
		})
	}
}

func readerRank(s Scorer) int {
	if _, ok := s.(PrefixReader); ok {
		return 1
	}
	return 0
}

// checkPrefixes tells the operator of plug-ins that go by cached prefixes which nothing will ever report.
func (c *compiler) checkPrefixes(doc *strictjson.Object) {
	for i := range c.plan.profiles {
		for _, s := range c.plan.profiles[i].scorers {
			if _, ok := s.Scorer.(PrefixProvider); ok {
				return
			}
		}
	}
	for i := range c.plugins {
		if consumer, ok := c.plugins[i].plugin.(PrefixConsumer); ok && consumer.WantsCachedTokens() {
			c.warn(doc, strconv.Quote(c.plugins[i].name)+
				" goes by cached prefixes, but no profile has a prefix scorer: every prompt counts as not cached")
		}
	}
}
