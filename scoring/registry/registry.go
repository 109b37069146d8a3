// Package registry lists every plug-in that a configuration may name.
package registry

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/admitters"
	"github.com/pintle-dev/pintle/scoring/data"
	"github.com/pintle-dev/pintle/scoring/deciders"
	"github.com/pintle-dev/pintle/scoring/filters"
	"github.com/pintle-dev/pintle/scoring/handlers"
	"github.com/pintle-dev/pintle/scoring/headers"
	"github.com/pintle-dev/pintle/scoring/parsers"
	"github.com/pintle-dev/pintle/scoring/pickers"
	"github.com/pintle-dev/pintle/scoring/producers"
	"github.com/pintle-dev/pintle/scoring/reporters"
	"github.com/pintle-dev/pintle/scoring/salts"
	"github.com/pintle-dev/pintle/scoring/scorers"
	"github.com/pintle-dev/pintle/scoring/selectors"
	"github.com/pintle-dev/pintle/scoring/stores"
)

// Plugins are all plug-ins, grouped by what they do, each group in alphabetical order.
var Plugins = []scoring.Registration{
	{Type: "data-parallel-profile-handler", New: handlers.NewDataParallelProfileHandler},
	{Type: "disagg-profile-handler", New: handlers.NewDisaggProfileHandler},
	{Type: "header-profile-handler", New: handlers.NewHeaderProfileHandler},
	{Type: "model-profile-handler", New: handlers.NewModelProfileHandler},
	{Type: "paired-profile-handler", New: handlers.NewPairedProfileHandler},
	{Type: "pd-profile-handler", New: handlers.NewPDProfileHandler},
	{Type: "routing-strategy-handler", New: handlers.NewRoutingStrategyHandler},
	{Type: "single-profile-handler", New: handlers.NewSingleProfileHandler},

	{Type: "latency-slo-admitter", New: admitters.NewLatencySloAdmitter},
	{Type: "probabilistic-admitter", New: admitters.NewProbabilisticAdmitter},

	{Type: "multi-factor-selector", New: selectors.NewMultiFactorSelector},

	{Type: "always-disagg-multimodal-decider", New: deciders.NewAlwaysDisaggMultimodalDecider},
	{Type: "always-disagg-pd-decider", New: deciders.NewAlwaysDisaggPDDecider},
	{Type: "prefix-based-pd-decider", New: deciders.NewPrefixBasedPDDecider},

	{Type: "by-label", New: filters.NewByLabel},
	{Type: "by-label-selector", New: filters.NewByLabelSelector},
	{Type: "decode-filter", New: filters.NewDecodeFilter},
	{Type: "disaggregatedset-rollout-screener", New: filters.NewDisaggregatedsetRolloutScreener},
	{Type: "encode-filter", New: filters.NewEncodeFilter},
	{Type: "endpoint-attribute-filter", New: filters.NewEndpointAttributeFilter},
	{Type: "header-based-testing-filter", New: filters.NewHeaderBasedTestingFilter},
	{Type: "label-selector-filter", New: filters.NewByLabelSelector},
	{Type: "lora-placement-filter", New: filters.NewLoRAPlacementFilter},
	{Type: "prefill-filter", New: filters.NewPrefillFilter},
	{Type: "prefix-cache-affinity-filter", New: filters.NewPrefixCacheAffinityFilter},
	{Type: "session-affinity-filter", New: filters.NewSessionAffinityFilter},
	{Type: "slo-headroom-tier-filter", New: filters.NewSloHeadroomTierFilter},
	{Type: "topology-affinity-filter", New: filters.NewTopologyAffinityFilter},
	{Type: "utilization-detector", New: filters.NewUtilizationDetector},
	{Type: "utilization-filter", New: filters.NewUtilizationFilter},

	{Type: "active-request-scorer", New: scorers.NewActiveRequestScorer},
	{Type: "aibrix-prefix-cache", New: scorers.NewAIBrixPrefixCache},
	{Type: "cached-blocks-scorer", New: scorers.NewCachedBlocksScorer},
	{Type: "constant-scorer", New: scorers.NewConstantScorer},
	{Type: "context-length-aware", New: scorers.NewContextLengthAware},
	{Type: "endpoint-attribute-scorer", New: scorers.NewEndpointAttributeScorer},
	{Type: "header-label-affinity-scorer", New: scorers.NewHeaderLabelAffinityScorer},
	{Type: "kv-cache-scorer", New: scorers.NewKVCacheUtilizationScorer},
	{Type: "kv-cache-utilization-scorer", New: scorers.NewKVCacheUtilizationScorer},
	{Type: "latency-scorer", New: scorers.NewLatencyScorer},
	{Type: "least-busy-time", New: scorers.NewLeastBusyTime},
	{Type: "least-kv-cache", New: scorers.NewLeastKVCache},
	{Type: "least-latency", New: scorers.NewLeastLatency},
	{Type: "least-request", New: scorers.NewLeastRequest},
	{Type: "load-aware-scorer", New: scorers.NewLoadAwareScorer},
	{Type: "lora-affinity-scorer", New: scorers.NewLoRAAffinityScorer},
	{Type: "mm-embeddings-cache-scorer", New: scorers.NewMMEmbeddingsCacheScorer},
	{Type: "multi-factor-scorer", New: scorers.NewMultiFactorScorer},
	{Type: "no-hit-lru-scorer", New: scorers.NewNoHitLRUScorer},
	{Type: "precise-prefix-cache-scorer", New: scorers.NewPrecisePrefixCacheScorer},
	{Type: "predicted-latency-scorer", New: scorers.NewPredictedLatencyScorer},
	{Type: "prefill-load-scorer", New: scorers.NewPrefillLoadScorer},
	{Type: "prefix-cache-scorer", New: scorers.NewPrefixCacheScorer},
	{Type: "prefix-share-scorer", New: scorers.NewPrefixShareScorer},
	{Type: "queue-scorer", New: scorers.NewQueueScorer},
	{Type: "running-requests-size-scorer", New: scorers.NewRunningRequestsSizeScorer},
	{Type: "session-affinity-scorer", New: scorers.NewSessionAffinityScorer},
	{Type: "token-load-scorer", New: scorers.NewTokenLoadScorer},
	{Type: "throughput", New: scorers.NewThroughput},
	{Type: "token-length-scorer", New: scorers.NewTokenLengthScorer},
	{Type: "topology-affinity-scorer", New: scorers.NewTopologyAffinityScorer},
	{Type: "vtc-basic", New: scorers.NewVTCBasic},

	{Type: "max-score-picker", New: pickers.NewMaxScorePicker},
	{Type: "power-of-two", New: pickers.NewPowerOfTwo},
	{Type: "random-picker", New: pickers.NewRandomPicker},
	{Type: "round-robin", New: pickers.NewRoundRobin},
	{Type: "weighted-random-picker", New: pickers.NewWeightedRandomPicker},

	{Type: "agent-identity", New: producers.NewAgentIdentity},
	{Type: "approx-prefix-cache-producer", New: producers.NewApproxPrefixCacheProducer},
	{Type: "burst-prefix-cache-producer", New: producers.NewBurstPrefixCacheProducer},
	{Type: "inflight-load-producer", New: producers.NewInflightLoadProducer},
	{Type: "mm-embeddings-cache-producer", New: producers.NewMMEmbeddingsCacheProducer},
	{Type: "p2p-source-producer", New: producers.NewP2pSourceProducer},
	{Type: "precise-prefix-cache-producer", New: producers.NewPrecisePrefixCacheProducer},
	{Type: "predicted-latency-producer", New: producers.NewPredictedLatencyProducer},
	{Type: "session-id-producer", New: producers.NewSessionIDProducer},
	{Type: "token-producer", New: producers.NewTokenProducer},
	{Type: "tokenizer", New: producers.NewTokenProducer},

	{Type: "request-attribute-reporter", New: reporters.NewRequestAttributeReporter},

	{Type: "destination-endpoint-served-verifier", New: headers.NewDestinationEndpointServedVerifier},
	{Type: "disagg-headers-handler", New: headers.NewDisaggHeadersHandler},
	{Type: "prefill-header-handler", New: headers.NewDisaggHeadersHandler},
	{Type: "response-header-handler", New: headers.NewResponseHeaderHandler},

	{Type: "core-metrics-extractor", New: data.NewCoreMetricsExtractor},
	{Type: "dcgm-data-source", New: data.NewDCGMDataSource},
	{Type: "dcgm-extractor", New: data.NewDCGMExtractor},
	{Type: "endpoint-notification-source", New: data.NewEndpointNotificationSource},
	{Type: "file-discovery", New: data.NewFileDiscovery},
	{Type: "metrics-data-source", New: data.NewMetricsDataSource},
	{Type: "model-server-protocol-models", New: data.NewModelServerProtocolModels},
	{Type: "models-data-extractor", New: data.NewModelServerProtocolModels},
	{Type: "models-data-source", New: data.NewModelsDataSource},
	{Type: "topology-extractor", New: data.NewTopologyExtractor},

	{Type: "anthropic-parser", New: parsers.NewAnthropicParser},
	{Type: "openai-parser", New: parsers.NewOpenAIParser},
	{Type: "passthrough-parser", New: parsers.NewPassthroughParser},
	{Type: "sglanghttp-parser", New: parsers.NewSglanghttpParser},
	{Type: "vllmhttp-parser", New: parsers.NewVllmhttpParser},

	{Type: "responses-store", New: stores.NewResponsesStore},

	{Type: "tenant-cache-salt", New: salts.NewTenantCacheSalt},
}
