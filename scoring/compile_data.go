package scoring

import (
	"strconv"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// DataSource is a plug-in of the data layer that fetches something from model servers.
type DataSource interface{ FetchesData() }

// DataExtractor is a plug-in of the data layer that reads what a source fetched.
type DataExtractor interface {
	// ExtractsModels reports whether it makes the servers' models known.
	ExtractsModels() bool
}

// wireData reads the data section: which sources feed which extractors.
func (c *compiler) wireData(doc, data *strictjson.Object, enabled bool) {
	sources := data.Objects("sources")
	data.Close()
	switch {
	case data.Present() && c.defaults.Dialect == DialectLLMD:
		doc.Mistake("data", "is dataLayer in llm-d's dialect, without a feature gate; write it as that")
	case enabled && !data.Present():
		doc.Mistake("data", "is missing; the feature gate "+gateDataLayer+" needs it")
	case !enabled && data.Present():
		doc.Mistake("data", "needs the feature gate "+gateDataLayer+"; add it to featureGates")
	}
	for _, source := range sources {
		source.LabelBy("pluginRef")
		d := c.reference(source)
		if d != nil && d.plugin != nil {
			if _, ok := d.plugin.(DataSource); !ok {
				source.Mistake("pluginRef", strconv.Quote(d.name)+" is not a data source")
			}
			c.tellUnheard(source, d)
		}
		extractors := source.Objects("extractors")
		source.Close()
		for _, entry := range extractors {
			entry.LabelBy("pluginRef")
			d := c.reference(entry)
			entry.Close()
			if d == nil || d.plugin == nil {
				continue
			}
			extractor, ok := d.plugin.(DataExtractor)
			if !ok {
				entry.Mistake("pluginRef", strconv.Quote(d.name)+" is not an extractor")
				continue
			}
			c.plan.readsModels = c.plan.readsModels || extractor.ExtractsModels()
			c.tellUnheard(entry, d)
		}
	}
}

// tellUnheard tells the operator of a part of the data section by which the sidecar does not go: it takes such parts
// from a dataLayer alone, which documents of this kind do not have.
func (c *compiler) tellUnheard(o *strictjson.Object, d *declared) {
	part, ok := d.plugin.(DataPart)
	if !ok {
		return
	}
	var said DataLayer
	part.AddTo(&said)
	if said.Engines != nil && !said.Engines.usual() || said.GPU != nil || said.GPUAttribute != "" {
		c.warn(o, "has no effect in Heimdall's dialect: what the sidecar reads, and how, stands in its configuration")
	}
}

// tellHalves tells the operator of a dataLayer that has the one half of what makes an attribute of GPUs.
func (c *compiler) tellHalves(doc *strictjson.Object) {
	const source, extractor = "dcgm-data-source", "dcgm-extractor"
	d := &c.plan.data
	switch reads, extracts := d.GPU != nil, d.GPUAttribute != ""; {
	case reads && !extracts:
		c.warn(doc, "dataLayer: the "+source+" has no effect without a "+extractor)
	case extracts && !reads:
		c.warn(doc, "dataLayer: the "+extractor+" has no effect without a "+source)
	}
}
