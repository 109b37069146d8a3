package foreign

import (
	"fmt"
	"slices"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/scoring"
)

// The dialects that a difference is about.
const (
	both     = scoring.DialectUnsaid
	heimdall = scoring.DialectHeimdall
	llmd     = scoring.DialectLLMD
)

// differences say what a plug-in does otherwise here than where a document of the dialect comes from.
var differences = []struct {
	kind string
	of   scoring.Dialect
	text string
}{
	{"active-request-scorer", heimdall, "the most requests are those of a candidate, not of any endpoint, and all of " +
		"Envoy's workers count together; maxBusyScore is 1 where it is not given, in llm-d's code of then 0"},
	{"active-request-scorer", llmd, "all of Envoy's workers count together; " + lost},
	{"agent-identity", llmd, "it names no flow of requests that are queued, as none are"},
	{"approx-prefix-cache-producer", llmd,
		prefixesLLMD + "; the blocks of all producers of one decision are 1,024 at most, and the limit of tokens " +
			"holds for all prompts of a request together"},
	{"burst-prefix-cache-producer", llmd, "no request waits for its window; each one goes where equal ones before it " +
		"went, and the first of each group where the scorers and the load of other groups say"},
	{"cached-blocks-scorer", both, "what servers have cached is what they answered, not what they report"},
	{"core-metrics-extractor", llmd, "several series of one metric are summed or averaged, there the first counts"},
	{"dcgm-data-source", llmd, "it is read once a second unless interval says otherwise, there every 50 ms, and a " +
		"value is not known any more when the exporter stops answering"},
	{"destination-endpoint-served-verifier", both, "the header is missing where the gateway does not tell who " +
		"served; there it says so"},
	{"disaggregatedset-rollout-screener", llmd, "endpoints are counted, there pods, and those that fail are not " +
		"while a revision without them has every role; which requests belong together is told by the id of their " +
		"decision, there remembered"},
	{"endpoint-attribute-filter", llmd, knownAttributes},
	{"endpoint-attribute-scorer", llmd, knownAttributes},
	{"file-discovery", llmd, "IPv6 addresses and ports that are numbers are right, there they end the process"},
	{"header-based-testing-filter", both, "an ip alone stands for the first endpoint there; there for any of that ip"},
	{"header-label-affinity-scorer", llmd, "the answer has the header with the label of the endpoint that served, as " +
		"there after 0.10; stampResponseHeader: false leaves it out"},
	{"inflight-load-producer", llmd, "cached tokens never count as load; there it is by chance of a start whether " +
		"they do; " + lost},
	{"latency-scorer", llmd, "a request without an objective goes where its answer is predicted to come soonest; " +
		"there it misses an objective of 0 everywhere"},
	{"latency-slo-admitter", llmd, "a request that is refused is answered with 429, not 500; a server with little of " +
		"its KV cache in use does not keep a request from being refused"},
	{"lora-affinity-scorer", heimdall, "a server that has reported no adapter yet counts as one with room for one"},
	{"metrics-data-source", llmd, "under another name than its type it takes the place of the default one; there " +
		"servers are read twice"},
	{"mm-embeddings-cache-producer", llmd, "what an endpoint was sent is forgotten after a minute unless it " +
		"answered; of several endpoints that a picker names the first alone learns"},
	{"no-hit-lru-scorer", heimdall, "used endpoints are ranked among the candidates, not among all"},
	{"no-hit-lru-scorer", llmd, "endpoints that were never used come in the order of the pool; there it is by chance"},
	{"p2p-source-producer", llmd, "a precise producer's blocks count in a peer wherever they are, there in its CPU " +
		"memory; one that fails is not named"},
	{"passthrough-parser", llmd, "a model and tokens are read where the path is known; there none are"},
	{"precise-prefix-cache-producer", llmd, eventsLLMD}, {"precise-prefix-cache-scorer", llmd, eventsLLMD},
	{"precise-prefix-cache-scorer", heimdall, "the smallest match is worth more than none, there nothing; the best " +
		"and the smallest are looked for among the candidates, there among all endpoints; " + exact},
	{"predicted-latency-producer", llmd, learnt + ", for any number of endpoints; an objective that a request does " +
		"not have is met, there with streamingMode it is 0; requests under way do not tighten each other's objectives"},
	{"predicted-latency-scorer", heimdall, learnt + "; an objective that a request does not have is met, there it " +
		"is 0; requests under way do not tighten each other's objectives"},
	{"prefix-based-pd-decider", heimdall, "tokens are estimated by what servers reported of other prompts, there as " +
		"a fourth of the messages' JSON; where no prefix is known the whole prompt counts as not cached, in llm-d's " +
		"code of then prefill did not run"},
	{"prefix-based-pd-decider", llmd, "it goes by the producer that scorers go by, where no default one is declared; " +
		"there always by the default one; " + prefixesLLMD},
	{"prefix-cache-affinity-filter", llmd, "peakPrefillThroughput is learnt of each server where it is not given; " +
		"there it is 15928"},
	{"prefix-cache-scorer", heimdall, samePrefixes},
	{"prefix-cache-scorer", llmd, prefixesLLMD},
	{"prefix-share-scorer", both, "what servers have cached is what they answered, not what they report"},
	{"probabilistic-admitter", llmd, "a request that is refused is answered with 429, not 500"},
	{"request-attribute-reporter", llmd, "the number is a field of the filter state wasm.pintle, not dynamic metadata"},
	{"session-affinity-filter", llmd, sharedSessions}, {"session-affinity-scorer", llmd, sharedSessions},
	{"slo-headroom-tier-filter", llmd, "of two objectives one that a request does not have is met; there with " +
		"streamingMode it is missed"},
	{"token-length-scorer", both, "the formula is Pintle's own: Heimdall's is not published"},
	{"token-load-scorer", llmd, "a prompt's tokens are those that are not cached, always; there it is by chance of a " +
		"start whether the cache counts"},
	{"token-producer", llmd, videos}, {"tokenizer", llmd, videos},
	{"topology-extractor", llmd, "a pod without the label of its host has no host; there its hostname stands for it"},
}

const (
	lost   = "a request of which no end is seen counts for 10 minutes"
	learnt = "latencies are learnt in the proxy from streamed answers, in place of a training and a prediction server"
	videos = "the request headers x-llm-d-video-* have no effect"
)

const (
	exact = "the sidecar tells what servers have; where it is late or cannot tell, what they answered counts; no " +
		"block forgets a holder for podCacheSize"
	eventsLLMD = "servers are asked for events wherever discoverPods is true, there only where dataLayer lists it " +
		"under an endpoint-notification-source; " + exact
)

const (
	knownAttributes = "WaitingQueueSize, RunningRequestsSize and KVCacheUsagePercent are known of every server; " +
		"there they count as missing"
	sharedSessions = "with session_id all of Envoy's workers know a session, and it goes as soon as it is too old; " +
		"there each replica knows its own"
	prefixesLLMD = samePrefixes + ", there 64 tokens at least; tools, and items of the Responses API, count as they " +
		"were written, there as JSON with sorted keys"
)

const samePrefixes = "a match ends at the first block that the endpoint lacks, the last blocks of a prompt go first, " +
	"and a prompt counts " +
	"when it was answered; blocks have the size of the servers' own"

// Differences are what a plug-in of the type does otherwise here than where a document of the dialect comes from.
func Differences(kind string, dialect scoring.Dialect) (texts []string) {
	for _, d := range differences {
		if d.kind == kind && (d.of == both || d.of == dialect) {
			texts = append(texts, d.text)
		}
	}
	return texts
}

// Differences are what the plug-ins of the document, of which plan was made, do otherwise here than where it comes
// from, each with its line.
func (f *Found) Differences(plan *scoring.Plan) (lines []string) {
	dialect := plan.Reading().Dialect
	root := f.Root()
	if config := yamldoc.At(root, "config"); config != nil {
		root = config
	}
	eachProfile(root, func(document *goyaml.Node, resource bool) {
		plugins := yamldoc.At(document, "plugins")
		if !sequence(plugins) {
			return
		}
		for _, item := range plugins.Content {
			kind := yamldoc.Scalar(yamldoc.At(item, "type"))
			name := kind
			if alias := yamldoc.Scalar(yamldoc.At(item, "name")); alias != "" {
				name = alias
			}
			if slices.Contains(plan.Idle(), name) {
				continue
			}
			if here, ok := scoring.ResourcePlugin(kind); ok && resource {
				kind = here
			}
			for _, difference := range Differences(kind, dialect) {
				lines = append(lines, fmt.Sprintf("line %d: %s: %s", item.Line, name, difference))
			}
		}
	})
	return lines
}

// eachProfile calls do with what has the list of plug-ins: a document, or what a SchedulingProfile, or each of a list,
// specifies.
func eachProfile(root *goyaml.Node, do func(document *goyaml.Node, resource bool)) {
	if items := yamldoc.At(root, "items"); sequence(items) {
		for _, item := range items.Content {
			eachProfile(item, do)
		}
		return
	}
	if spec := yamldoc.At(root, "spec"); spec != nil {
		do(spec, true)
		return
	}
	do(root, false)
}
