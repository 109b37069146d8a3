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
// Formula: (blocks - matched blocks) x tokens of a block + max(0, prompt tokens - blocks x tokens of a block), at the
// first endpoint that each profile picks; without a producer of matches, prompt tokens - cached tokens as the prefix
// scorer has them. The tokens count until the answer's first byte, the request until its end; at the endpoint of a
// prefill stage both count until the first byte. With addEstimatedOutputTokens the output counts, too: prompt tokens x
// outputRatio or, where that is not given, as many as the model's late answers had, at most the request's own limit and
// maxEstimatedOutputTokens; input and output then count until the end.
//
// It is added where a plug-in needs it and none is declared. Several must have the same parameters. A request whose end
// is not seen counts for 10 minutes, or until the worker that sent it is gone.
//
// Missing data: where nothing matches prefixes, nothing is cached.
//
// Source: llm-d, inflight-load-producer. There each replica counts by itself, and whether the cache is taken into
// account depends on the order in which a start happens to run the producers; here it always is.
type inflightLoadProducer struct {
	output bool
	learns bool
	ratio  float64
	most   int
	// matches is the producer whose matches count.
	matches scoring.MatchKey
}

type inflightLoadProducerParameters struct {
	// AddEstimatedOutputTokens makes the tokens of the answer count, too.
	AddEstimatedOutputTokens bool
	// OutputRatio is how many tokens of output are expected for one of the prompt. Unset: as many as the model's late
	// answers had, and 1.5 before that is known.
	OutputRatio float64
	// MaxEstimatedOutputTokens bounds the output that is expected. Unset: no bound.
	MaxEstimatedOutputTokens int
	// PrefixMatchInfoProducerName names the plug-in that matches prefixes. Empty: the first one of all but
	// burst-prefix-cache-producer, which says where prompts shall go, not where they are.
	PrefixMatchInfoProducerName string
	// SyncCrossReplicaState has no effect: all workers of an Envoy count together, and so do those of several whose
	// sidecars replicate.
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
	matches := scoring.FirstPrefixMatches
	if b.Has("prefixMatchInfoProducerName") {
		matches = b.PrefixMatches()
	}
	b.String("prefixMatchInfoProducerName", &p.PrefixMatchInfoProducerName)
	b.Bool("syncCrossReplicaState", &p.SyncCrossReplicaState)
	if b.Has("syncCrossReplicaState") && p.SyncCrossReplicaState {
		b.Warn("syncCrossReplicaState has no effect: the workers of one Envoy count together, those of several do " +
			"where their sidecars replicate")
	}
	options := b.State()
	options.InFlight, options.Begins, options.Lengths = true, true, true
	options.KeepTokens = options.KeepTokens || p.AddEstimatedOutputTokens
	options.RequestTimeout = max(options.RequestTimeout, requestTimeout)
	learns := p.AddEstimatedOutputTokens && !b.Has("outputRatio")
	options.Outputs = options.Outputs || learns
	return inflightLoadProducer{p.AddEstimatedOutputTokens, learns, p.OutputRatio, p.MaxEstimatedOutputTokens, matches}
}

// ExtractsModels implements scoring.DataExtractor: there it is told of servers that leave.
func (inflightLoadProducer) ExtractsModels() bool { return false }

// RequestLoads implements scoring.LoadProducer.
func (p inflightLoadProducer) RequestLoads(c *scoring.Cycle, endpoints []*scoring.Endpoint, promptTokens int,
	loads []float64) {
	output := p.OutputLoad(c, promptTokens)
	m := c.PrefixMatches(p.matches)
	if m.Blocks == 0 {
		for i, e := range endpoints {
			loads[i] = float64(max(0, promptTokens-c.CachedTokens(e))) + output
		}
		return
	}
	rest := float64(max(0, promptTokens-m.Blocks*m.BlockTokens)) + output
	for i, e := range endpoints {
		loads[i] = float64((m.Blocks-m.Matched(e))*m.BlockTokens) + rest
	}
}

// OutputLoad implements scoring.LoadProducer.
func (p inflightLoadProducer) OutputLoad(c *scoring.Cycle, promptTokens int) float64 {
	if !p.output {
		return 0
	}
	expected := math.Round(float64(promptTokens) * p.ratio)
	if learnt, ok := c.OutputTokens(""); ok && p.learns {
		expected = math.Round(learnt)
	}
	expected = min(expected, float64(p.most))
	if c.Request.Body != nil && c.Request.Body.MaxTokens > 0 {
		expected = min(expected, float64(c.Request.Body.MaxTokens))
	}
	return expected
}
