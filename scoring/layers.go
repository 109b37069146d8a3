package scoring

import (
	"slices"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// DataLayer is what a document says of how model servers are found and read: what the sidecar has to do. Nil parts
// leave it to the sidecar.
type DataLayer struct {
	// Metrics is where the servers' metrics are, Models where their lists of models are, GPU where DCGM exporters are.
	Metrics, Models, GPU *Page
	// Engines say what the metrics are called.
	Engines *EngineMetrics
	// GPUAttribute is the attribute that DCGM's metrics make, empty for none.
	GPUAttribute string
	// Endpoints is a file that lists the servers.
	Endpoints *EndpointsFile
}

// Needed reports whether the sidecar has to do anything that it does not do by itself.
func (d *DataLayer) Needed() bool {
	return d.Metrics != nil || d.Models != nil || d.GPU != nil || d.Engines != nil || d.Endpoints != nil
}

// Page is how a page of every server is asked for. Zero values leave it to the sidecar.
type Page struct {
	HTTPS, SkipVerify             bool
	Path                          string
	Port                          int
	CACert, ClientCert, ClientKey string
	Interval                      time.Duration
	NodeAddress                   bool
}

// EngineMetrics say what the metrics of each kind of server are called.
type EngineMetrics struct {
	// LabelKey is the pods' label that names their engine, Default the engine of those without.
	LabelKey, Default string
	Configs           []EngineConfig
}

// EngineConfig is one kind of server. Specs are of the form metric{label=value}; empty ones have no metric.
type EngineConfig struct {
	Name                                  string
	Waiting, Running, KVUsage             string
	LoRA, CacheInfo                       string
	CacheBlockSizeLabel, CacheBlocksLabel string
	CacheBlockSize, CacheBlocks           string
	Attributes                            []AttributeSpec
}

// MostAttributes bounds the attributes of an engine.
const MostAttributes = 16

// AttributeSpec is a gauge that becomes an attribute of endpoints.
type AttributeSpec struct{ Attribute, Spec string }

// EndpointsFile lists servers.
type EndpointsFile struct {
	Path string
	// Watch has it read again when it changes.
	Watch bool
}

// SidecarReads warns of what does nothing unless the sidecar knows of it.
const SidecarReads = "the sidecar has to read this document, too: pintle sidecar -plugins FILE"

// DataPart is a plug-in of the data layer that says what the sidecar has to do. It counts when dataLayer refers to it,
// and in llm-d's dialect when it has the name of one that the router adds to every dataLayer.
type DataPart interface{ AddTo(d *DataLayer) }

// Discovery is a plug-in that finds the servers.
type Discovery interface{ DiscoversEndpoints() }

// Parser is a plug-in that says which requests can be read.
type Parser interface {
	// Claims reports whether requests at a path are its to read. path has no query.
	Claims(path string) bool
}

// DataLayer is what the document has the sidecar do.
func (p *Plan) DataLayer() *DataLayer { return &p.data }

// Claims reports whether a request with a body may be read: where a document lists parsers, one of them claims its
// path.
func (p *Plan) Claims(path string) bool {
	for _, parser := range p.parsers {
		if parser.Claims(path) {
			return true
		}
	}
	return len(p.parsers) == 0
}

// wireDetector finds the saturation detector that the document refers to.
func (c *compiler) wireDetector() {
	if c.detector == nil || c.detectorUnnamed() {
		c.wireOwnDetector()
		return
	}
	if c.plan.saturation != (Utilization{}) && c.plan.saturation != DefaultUtilization {
		c.plan.warnings = append(c.plan.warnings,
			"saturationDetector: has no effect, as flowControl.saturationDetector counts")
	}
	detector, ok := c.refer(c.detector).(SaturationDetector)
	if ok {
		c.plan.saturation = detector.Thresholds()
		return
	}
	c.plan.saturation = DefaultUtilization
	c.notOfKind(c.detector, "a saturation detector")
}

// detectorUnnamed reports whether the document has a place for the detector's name and leaves it empty, which llm-d's
// router lets pass.
func (c *compiler) detectorUnnamed() bool {
	name := ""
	if c.defaults.Dialect == DialectLLMD {
		if c.detector.String("pluginRef", &name); name == "" {
			c.detector.Close()
			return true
		}
	}
	return false
}

// wireOwnDetector finds the saturation detector of a document that refers to none: in llm-d's dialect the one that is
// declared under the name of the default one.
func (c *compiler) wireOwnDetector() {
	if c.plan.saturation == (Utilization{}) {
		c.plan.saturation = DefaultUtilization
	}
	if c.defaults.Dialect != DialectLLMD || c.plan.saturation != DefaultUtilization {
		return
	}
	if d := c.use(defaultDetector); d != nil && is[SaturationDetector](d.plugin) {
		c.plan.saturation = d.plugin.(SaturationDetector).Thresholds()
	}
}

// refer returns the plug-in that o's pluginRef names, and creates one of that type if none is called so. o may have
// no other key.
func (c *compiler) refer(o *strictjson.Object) Plugin {
	name := ""
	o.LabelBy("pluginRef")
	o.String("pluginRef", &name)
	var d *declared
	if why := notHere(name); why != "" && c.find(name) == nil {
		o.Mistake("pluginRef", why)
	} else {
		c.injectType(o, name)
		d = c.reference(o)
	}
	o.Close()
	if d == nil {
		return nil
	}
	return d.plugin
}

// injectType creates a plug-in of the type that is called name, unless one is declared under that name.
func (c *compiler) injectType(o *strictjson.Object, name string) {
	if c.find(name) != nil {
		return
	}
	for i := range c.registry {
		if c.registry[i].Type == name {
			c.inject(o, name)
		}
	}
}

// notOfKind says that the plug-in which o refers to is none of a kind, unless that is unknown altogether.
func (c *compiler) notOfKind(o *strictjson.Object, kind string) {
	name := ""
	o.String("pluginRef", &name)
	if d := c.find(name); d != nil && d.plugin != nil {
		o.Mistake("pluginRef", strconv.Quote(name)+" is not "+kind)
	}
}

// wireLayers puts the data layer and the parsers to use.
func (c *compiler) wireLayers(doc *strictjson.Object, l layers) {
	for _, source := range l.sources {
		c.wireSource(source)
	}
	if l.discovery != nil {
		if plugin := c.refer(l.discovery); is[Discovery](plugin) {
			plugin.(DataPart).AddTo(&c.plan.data)
		} else {
			c.notOfKind(l.discovery, "a plug-in that finds endpoints")
		}
	}
	for _, entry := range l.parsers {
		if parser, ok := c.refer(entry).(Parser); ok {
			c.plan.parsers = append(c.plan.parsers, parser)
		} else {
			c.notOfKind(entry, "a parser")
		}
	}
	if c.plan.data.Needed() {
		c.warn(doc, "dataLayer: "+SidecarReads)
	}
	c.tellHalves(doc)
	c.wireAdded(l)
	if l.noMetrics && c.plan.data.Metrics == nil {
		c.warn(doc, "dataLayer.injectDefaults has no effect: the metrics of servers that have any are read")
	}
}

// The source and the extractor that llm-d's router adds to every dataLayer unless injectDefaults is false or the source
// is listed, and what they say unless they are declared.
const addedSource, addedExtractor = "metrics-data-source", "core-metrics-extractor"

var (
	addedPage    = Page{SkipVerify: true, Path: "/metrics"}
	addedEngines = EngineMetrics{LabelKey: "llm-d.ai/engine-type", Default: "vllm"}
)

// wireAdded puts to use what is declared under the names of what the router adds: it takes these then, listed or not,
// as its own chart has them. What says nothing but the usual is left to the sidecar.
func (c *compiler) wireAdded(l layers) {
	listed := slices.ContainsFunc(l.sources, func(o *strictjson.Object) bool {
		return o.Text("pluginRef") == addedSource
	})
	if c.defaults.Dialect != DialectLLMD || l.noMetrics || listed {
		return
	}
	var said DataLayer
	for _, name := range []string{addedSource, addedExtractor} {
		if d := c.use(name); d != nil && is[DataPart](d.plugin) {
			d.plugin.(DataPart).AddTo(&said)
		}
	}
	data := &c.plan.data
	if data.Metrics == nil && said.Metrics != nil && *said.Metrics != addedPage {
		data.Metrics = said.Metrics
		c.plan.warnings = append(c.plan.warnings, addedSource+": "+SidecarReads)
	}
	if data.Engines == nil && said.Engines != nil && !said.Engines.usual() {
		data.Engines = said.Engines
		c.plan.warnings = append(c.plan.warnings, addedExtractor+": "+SidecarReads)
	}
}

// usual reports whether they are those of an extractor without parameters.
func (e *EngineMetrics) usual() bool {
	return e.LabelKey == addedEngines.LabelKey && e.Default == addedEngines.Default && len(e.Configs) == 0
}

func (c *compiler) wireSource(o *strictjson.Object) {
	extractors := o.Objects("extractors")
	plugin := c.refer(o)
	if !is[DataSource](plugin) {
		c.notOfKind(o, "a data source")
	}
	c.addData(o, plugin)
	for _, entry := range extractors {
		found := c.refer(entry)
		extractor, ok := found.(DataExtractor)
		if !ok {
			c.notOfKind(entry, "an extractor")
			continue
		}
		c.plan.readsModels = c.plan.readsModels || extractor.ExtractsModels()
		c.addData(entry, found)
	}
}

// addData has the sidecar do what a plug-in that o refers to says, unless another one of its type was listed before.
func (c *compiler) addData(o *strictjson.Object, plugin Plugin) {
	part, ok := plugin.(DataPart)
	if !ok {
		return
	}
	d := c.find(o.Text("pluginRef"))
	for _, listed := range c.dataParts {
		if listed.kind == d.kind && listed.name != d.name {
			c.warn(o, "has no effect: of several of the type "+d.kind+" the first one counts, "+
				strconv.Quote(listed.name))
			return
		}
	}
	c.dataParts = append(c.dataParts, *d)
	part.AddTo(&c.plan.data)
}
