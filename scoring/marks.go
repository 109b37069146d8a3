package scoring

import (
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// apiVersions are the versions that a document may state.
const (
	apiVersionOld    = "inference.networking.x-k8s.io/v1alpha1"
	apiVersionLLMD   = "llm-d.ai/v1alpha1"
	apiVersionLLMDV1 = "llm-d.ai/v1"
)

// marks are what tells in a document which dialect it is written in. A weak mark yields to those of the other dialect.
type marks struct{ heimdall, llmD, weak string }

// MovedParameters are the parameters of prefix-cache-scorer that stand at a producer since llm-d's router 0.10.
var MovedParameters = []string{
	"autoTune", "blockSizeTokens", "blockSize", "hashBlockSize", "maxPrefixBlocksToMatch", "lruCapacityPerServer",
}

// readDialect settles whose dialect the document is in. said is what the operator says, DialectUnsaid for nothing.
func (c *compiler) readDialect(doc *strictjson.Object, version string, entries []entry, said Dialect) {
	r := Reading{Dialect: said, Because: "the key dialect says so"}
	found := findMarks(doc, entries)
	switch {
	case version == apiVersionLLMD || version == apiVersionLLMDV1:
		if said == DialectHeimdall {
			doc.Mistake("apiVersion", strconv.Quote(version)+" always means llm-d's dialect; leave out dialect: "+
				NameHeimdall)
		}
		r = Reading{Dialect: DialectLLMD, Because: "the apiVersion is " + version}
	case said != DialectUnsaid:
	case found.heimdall != "" && found.llmD != "":
		r.Dialect = DialectLLMD
		doc.Mistake("", "has marks of two dialects: "+found.llmD+" (llm-d) and "+found.heimdall+
			" (Heimdall); set dialect: llm-d or dialect: heimdall beside config")
	case found.llmD != "":
		r = Reading{Dialect: DialectLLMD, Because: "the document has " + found.llmD}
	case found.heimdall != "":
		r = Reading{Dialect: DialectHeimdall, Because: "the document has " + found.heimdall,
			Shared: found.heimdall != ownLabel}
	case found.weak != "":
		r = Reading{Dialect: DialectLLMD, Because: "the document has " + found.weak}
	default:
		r = Reading{Dialect: DialectHeimdall, Because: "nothing in the document tells", Unsure: true}
	}
	c.setDialect(r)
}

// setDialect has the compiler and the plan go by a dialect.
func (c *compiler) setDialect(r Reading) {
	c.plan.reading, c.defaults, c.plan.defaults = r, DefaultsOf(r.Dialect), DefaultsOf(r.Dialect)
}

// findMarks looks for the first mark of each kind.
func findMarks(doc *strictjson.Object, entries []entry) marks {
	m := marks{}
	for _, key := range []string{"dataLayer", "requestHandler", "flowControl"} {
		if doc.Has(key) && m.weak == "" {
			m.weak = "the key " + key
		}
	}
	for i := range entries {
		e := &entries[i]
		if slices.Contains(llmdTypes, e.kind) && m.llmD == "" {
			m.llmD = "a " + e.kind
		}
		if e.parameters.Has("prefixMatchInfoProducerName") && m.llmD == "" {
			m.llmD = "the parameter prefixMatchInfoProducerName"
		}
		if e.kind != "prefix-cache-scorer" {
			continue
		}
		for _, key := range MovedParameters {
			if e.parameters.Has(key) && m.heimdall == "" {
				m.heimdall = key + " at prefix-cache-scorer"
			}
		}
	}
	if m.heimdall == "" {
		m.heimdall = heimdallKeys(doc, entries)
	}
	return m
}

// ownLabel is the mark that no document of another project has.
const ownLabel = "a label of mif.moreh.io"

// heimdallKeys looks for keys that only the older dialect has.
func heimdallKeys(doc *strictjson.Object, entries []entry) string {
	if doc.Has("data") {
		return "the key data"
	}
	for _, key := range []string{"queueDepthThreshold", "kvCacheUtilThreshold", "metricsStalenessThreshold"} {
		if doc.Member("saturationDetector").Has(key) {
			return "saturationDetector." + key
		}
	}
	for i := range entries {
		if entries[i].parameters.Mentions("mif.moreh.io/") {
			return ownLabel
		}
	}
	return ""
}

// llmdTypes are the types of plug-ins that only llm-d's router has.
var llmdTypes = []string{
	"agent-identity", "approx-prefix-cache-producer", "burst-prefix-cache-producer", "concurrency-detector",
	"core-metrics-extractor",
	"dcgm-data-source", "dcgm-extractor", "disaggregatedset-rollout-screener",
	"endpoint-attribute-filter", "endpoint-attribute-scorer", "endpoint-notification-source", "file-discovery",
	"header-label-affinity-scorer", "header-profile-handler", "inflight-load-producer", "label-selector-filter",
	"latency-scorer",
	"latency-slo-admitter", "mm-embeddings-cache-producer", "mm-embeddings-cache-scorer", "models-data-extractor",
	"multicluster-approx-prefix-cache-producer", "multicluster-file-discovery",
	"multicluster-kv-cache-utilization-scorer",
	"multicluster-metrics-data-source", "multicluster-metrics-extractor", "multicluster-prefix-cache-scorer",
	"multicluster-queue-scorer", "multicluster-session-affinity-filter", "p2p-source-producer",
	"precise-prefix-cache-producer",
	"predicted-latency-producer", "prefix-cache-affinity-filter", "priority-holdback-policy", "probabilistic-admitter",
	"program-aware-fairness", "request-attribute-reporter", "session-affinity-filter", "session-id-producer",
	"sglanghttp-parser", "slo-headroom-tier-filter", "soft-reflective-ceiling-policy", "token-load-scorer",
	"token-producer",
	"topology-affinity-filter", "topology-affinity-scorer", "topology-extractor", "utilization-detector",
	"utilization-filter",
	"vertexai-parser", "vllmhttp-parser",
}
