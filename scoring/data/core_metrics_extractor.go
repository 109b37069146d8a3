package data

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/selector"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// coreMetricsExtractor says what the servers' metrics are called. The sidecar uses these names if it reads this
// document, too: pintle sidecar -plugins FILE. Engines that engineConfigs does not name are read as the sidecar reads
// them without the plug-in, as are the metrics that engineConfigs leaves out for an engine that it names. customMetrics
// become attributes of the producer core-metrics-extractor, which endpoint-attribute-scorer and -filter use. Under the
// name of its type it counts without being listed in dataLayer, too, unless injectDefaults is false there.
//
// A name is a metric or one with labels: metric{label=value}. Of several series requests are summed and the usage of
// the KV cache is averaged.
//
// Source: llm-d, core-metrics-extractor. There only the first of several series counts, so that a page of several
// engines counts as one, and what engineConfigs leaves out for an engine is not read.
type coreMetricsExtractor struct{ engines scoring.EngineMetrics }

type coreMetricsExtractorParameters struct {
	// EngineLabelKey is the pods' label that names their engine.
	EngineLabelKey string
	// DefaultEngine is the engine of pods without that label.
	DefaultEngine string
	// EngineConfigs are kinds of servers, each with name, queuedRequestsSpec, runningRequestsSpec, kvUsageSpec,
	// loraSpec, cacheInfoSpec, cacheBlockSizeLabelName, cacheNumBlocksLabelName, cacheBlockSizeSpec,
	// cacheNumBlocksSpec, and customMetrics: attributeKey and metricSpec.
	EngineConfigs []scoring.EngineConfig
}

// NewCoreMetricsExtractor builds a core-metrics-extractor.
func NewCoreMetricsExtractor(b *scoring.Builder) scoring.Plugin {
	p := coreMetricsExtractorParameters{EngineLabelKey: "llm-d.ai/engine-type", DefaultEngine: "vllm"}
	b.String("engineLabelKey", &p.EngineLabelKey)
	b.String("defaultEngine", &p.DefaultEngine)
	for _, o := range b.Objects("engineConfigs") {
		config := readEngine(o)
		for i := range p.EngineConfigs {
			if p.EngineConfigs[i].Name == config.Name {
				o.Mistake("name", strconv.Quote(config.Name)+" names two engines")
			}
		}
		p.EngineConfigs = append(p.EngineConfigs, config)
	}
	return coreMetricsExtractor{scoring.EngineMetrics{LabelKey: p.EngineLabelKey, Default: p.DefaultEngine,
		Configs: p.EngineConfigs}}
}

func readEngine(o *strictjson.Object) scoring.EngineConfig {
	c := scoring.EngineConfig{}
	o.String("name", &c.Name)
	for _, spec := range []struct {
		key  string
		text *string
	}{
		{"queuedRequestsSpec", &c.Waiting}, {"runningRequestsSpec", &c.Running}, {"kvUsageSpec", &c.KVUsage},
		{"loraSpec", &c.LoRA},
		{"cacheInfoSpec", &c.CacheInfo}, {"cacheBlockSizeSpec", &c.CacheBlockSize},
		{"cacheNumBlocksSpec", &c.CacheBlocks},
	} {
		o.String(spec.key, spec.text)
		checkSpec(o, spec.key, *spec.text)
	}
	o.String("cacheBlockSizeLabelName", &c.CacheBlockSizeLabel)
	o.String("cacheNumBlocksLabelName", &c.CacheBlocksLabel)
	for _, custom := range o.Objects("customMetrics") {
		a := scoring.AttributeSpec{}
		custom.String("attributeKey", &a.Attribute)
		custom.String("metricSpec", &a.Spec)
		custom.Close()
		if a.Attribute == "" || strings.Contains(a.Attribute, "/") {
			custom.Mistake("attributeKey", strconv.Quote(a.Attribute)+
				" is no name of an attribute; one without a slash is right")
		}
		if a.Spec == "" {
			custom.Missing("metricSpec", "name the metric")
		}
		checkSpec(custom, "metricSpec", a.Spec)
		name := a.Attribute
		a.Attribute += "/" + scoring.CoreProducer
		if slices.ContainsFunc(c.Attributes, func(o scoring.AttributeSpec) bool { return o.Attribute == a.Attribute }) {
			custom.Mistake("attributeKey", strconv.Quote(name)+" names two attributes of the engine")
		}
		c.Attributes = append(c.Attributes, a)
	}
	o.Close()
	if len(c.Attributes) > scoring.MostAttributes {
		o.Mistake("customMetrics", strconv.Itoa(len(c.Attributes))+" are too many; at most "+
			strconv.Itoa(scoring.MostAttributes)+" are right")
	}
	if c.Name == "" {
		o.Missing("name", "name the engine, as the pods' label does")
	}
	return c
}

// checkSpec notes a name of a metric that is none.
func checkSpec(o *strictjson.Object, key, spec string) {
	if spec == "" {
		return
	}
	if _, _, problem := selector.Parse(spec); problem != "" {
		o.Mistake(key, strconv.Quote(spec)+" "+problem+"; metric or metric{label=value} is right")
	}
}

// ExtractsModels implements scoring.DataExtractor.
func (coreMetricsExtractor) ExtractsModels() bool { return false }

// AddTo implements scoring.DataPart.
func (x coreMetricsExtractor) AddTo(d *scoring.DataLayer) { d.Engines = &x.engines }
