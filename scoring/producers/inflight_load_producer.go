package producers

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// inflightLoadProducer counts, for each endpoint, the requests in flight and the tokens of their prompts that it has
// yet to compute: those that it is not thought to have in its cache. All workers of Envoy count together, by the
// journal.
//
// Formula: max(0, prompt tokens - cached tokens), at the first endpoint that each profile picks. The tokens count until
// the answer's first byte, the request until its end; at the endpoint of a prefill stage both until the first byte.
// With addEstimatedOutputTokens the output counts, too: prompt tokens x outputRatio, at most the request's own limit
// and maxEstimatedOutputTokens; input and output then count until the end.
//
// It is added by itself where a plug-in needs it. Several must have the same parameters. A request of which no end is
// seen counts for 10 minutes, or until the worker that sent it is gone.
//
// Missing data: where nothing matches prefixes, nothing is cached.
//
// Source: llm-d, inflight-load-producer. There each replica counts by itself, and whether the cache is taken into
// account depends on the order in which a start happens to run the producers; here it always is.
type inflightLoadProducer struct {
	output bool
	ratio  float64
	most   int
}

type inflightLoadProducerParameters struct {
	// AddEstimatedOutputTokens has the tokens of the answer count, too.
	AddEstimatedOutputTokens bool
	// OutputRatio is how many tokens of output are expected for one of the prompt.
	OutputRatio float64
	// MaxEstimatedOutputTokens bounds the output that is expected. Unset: not.
	MaxEstimatedOutputTokens int
	// PrefixMatchInfoProducerName names the plug-in that matches prefixes. Empty: the largest match of all counts.
	PrefixMatchInfoProducerName string
	// SyncCrossReplicaState has no effect, as there without a syncer.
	SyncCrossReplicaState bool
}

// requestTimeout is the age at which a request without an end is taken to be gone.
const requestTimeout = 10 * time.Minute

// NewInflightLoadProducer builds an inflight-load-producer.
func NewInflightLoadProducer(b *scoring.Builder) scoring.Plugin {
	p := inflightLoadProducerParameters{OutputRatio: 1.5, MaxEstimatedOutputTokens: math.MaxInt32,
		SyncCrossReplicaState: true}
	b.Bool("addEstimatedOutputTokens", &p.AddEstimatedOutputTokens)
	b.Float("outputRatio", &p.OutputRatio, 0, 1e6)
	b.Int("maxEstimatedOutputTokens", &p.MaxEstimatedOutputTokens, 0, math.MaxInt32)
	b.String("prefixMatchInfoProducerName", &p.PrefixMatchInfoProducerName)
	b.Bool("syncCrossReplicaState", &p.SyncCrossReplicaState)
	if b.Has("syncCrossReplicaState") && p.SyncCrossReplicaState {
		b.Warn("syncCrossReplicaState has no effect: the workers of one Envoy count together, those of several do not")
	}
	options := b.State()
	options.InFlight, options.Begins, options.Lengths = true, true, true
	options.KeepTokens = options.KeepTokens || p.AddEstimatedOutputTokens
	options.RequestTimeout = max(options.RequestTimeout, requestTimeout)
	return inflightLoadProducer{p.AddEstimatedOutputTokens, p.OutputRatio, p.MaxEstimatedOutputTokens}
}

// RequestLoad implements scoring.LoadProducer.
func (p inflightLoadProducer) RequestLoad(c *scoring.Cycle, e *scoring.Endpoint, promptTokens int) int {
	load := max(0, promptTokens-c.CachedTokens(e))
	if p.output {
		load += p.outputTokens(c, promptTokens)
	}
	return load
}

func (p inflightLoadProducer) outputTokens(c *scoring.Cycle, promptTokens int) int {
	tokens := int(min(math.Round(float64(promptTokens)*p.ratio), float64(p.most)))
	if c.Request.Body != nil && c.Request.Body.MaxTokens > 0 {
		tokens = min(tokens, c.Request.Body.MaxTokens)
	}
	return tokens
}
