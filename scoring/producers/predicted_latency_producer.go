package producers

import "github.com/pintle-dev/pintle/scoring"

// predictedLatencyProducer says how predicted latencies count against the objectives of requests, for latency-scorer,
// slo-headroom-tier-filter, latency-slo-admitter and prefix-cache-affinity-filter. It is added where one of these needs
// it and none is declared.
//
// All workers of Envoy learn the same predictions from the answers in the journal: the time to first token from the
// tokens that the endpoint has yet to compute, the time of each further token from the answers under way and their
// prompts. An endpoint that should have begun all its answers and has not, because it hangs, has no room or computes
// what was thought to be cached, is taken to go on for half of the time by which it is late. Each endpoint has a factor
// of its own for both times, so servers of different speeds may be in one pool. The factor fades while others answer
// and the endpoint does not, so that one that was slow for a while is tried again. Streamed answers are learnt from. As
// long as hardly any came, so are answers that were not streamed, if their servers report their tokens and their
// requests found the endpoint idle. Nothing runs beside the proxy, and any number of endpoints is predicted.
//
// Objectives are the request headers x-llm-d-slo-ttft-ms and x-llm-d-slo-tpot-ms, or by their former names
// x-slo-ttft-ms and x-slo-tpot-ms, decimal numbers of milliseconds. An objective that a request does not have is met
// everywhere.
//
// Formula: room = objective - predicted; for the time per token objective x sloBufferFactor - predicted, and 0 without
// streamingMode. The objective is met where neither is below 0.
//
// Missing data: before a few answers have been seen, all endpoints are taken to be equally fast.
//
// Source: llm-d, predicted-latency-producer. There a training and a prediction server in Python are asked over HTTP;
// the variables TRAINING_SERVER_URL, PREDICTION_SERVER_URL and LATENCY_... have no meaning here. There an objective
// that is missing in streamingMode is 0 and never met, and the objective of a request that is under way tightens those
// of others at its endpoint.
type predictedLatencyProducer struct{ rules *scoring.LatencyRules }

type predictedLatencyProducerParameters struct {
	// SLOBufferFactor multiplies the objective of the time per token.
	SLOBufferFactor float64
	// StreamingMode makes the time per token count.
	StreamingMode bool
	// EndpointRoleLabel is the label of servers' roles: where its value is prefill, the time per token does not count.
	EndpointRoleLabel string
	// PredictInProduce has no effect: what nobody asks for is not predicted.
	PredictInProduce bool
	// PrefixMatchInfoProducerName has no effect: cached prefixes count as inflight-load-producer counts them.
	PrefixMatchInfoProducerName string
	// InFlightLoadProducerName names the inflight-load-producer. Empty: the only one.
	InFlightLoadProducerName string
	// UseEncoderCacheFeatures has no effect: what encoders have cached is not known.
	UseEncoderCacheFeatures bool
	// EncoderCacheMatchInfoProducerName has no effect.
	EncoderCacheMatchInfoProducerName string
	// ContextTTL has no effect: the journal tells what is in flight. Nanoseconds.
	ContextTTL float64
	// SamplingMean has no effect, as there.
	SamplingMean float64
	// MaxDecodeTokenSamplesForPrediction has no effect, as there.
	MaxDecodeTokenSamplesForPrediction int
}

// NewPredictedLatencyProducer builds a predicted-latency-producer.
func NewPredictedLatencyProducer(b *scoring.Builder) scoring.Plugin {
	p := predictedLatencyProducerParameters{PredictInProduce: true}
	rules := b.NewLatencyRules(false)
	b.Bool("predictInProduce", &p.PredictInProduce)
	b.String("prefixMatchInfoProducerName", &p.PrefixMatchInfoProducerName)
	b.String("inFlightLoadProducerName", &p.InFlightLoadProducerName)
	b.Bool("useEncoderCacheFeatures", &p.UseEncoderCacheFeatures)
	b.String("encoderCacheMatchInfoProducerName", &p.EncoderCacheMatchInfoProducerName)
	b.Float("samplingMean", &p.SamplingMean, 0, 1e9)
	b.Int("maxDecodeTokenSamplesForPrediction", &p.MaxDecodeTokenSamplesForPrediction, 0, 1e9)
	b.Float("contextTTL", &p.ContextTTL, 0, 1e18)
	for _, n := range []struct{ key, why string }{
		{"contextTTL", "the journal tells what is in flight"},
		{"predictInProduce", "what nobody asks for is not predicted"},
		{"prefixMatchInfoProducerName", "cached prefixes count as inflight-load-producer counts them"},
		{"useEncoderCacheFeatures", "what encoders have cached is not known"},
		{"encoderCacheMatchInfoProducerName", "what encoders have cached is not known"},
		{"samplingMean", "every answer is learnt from, once"},
		{"maxDecodeTokenSamplesForPrediction", "every answer is learnt from, once"},
	} {
		b.NoEffect(n.key, n.why)
	}
	if b.Defaults().PrefixProducers {
		b.UsualPrefixMatches()
	}
	b.NeedLoad("inFlightLoadProducerName", p.InFlightLoadProducerName)
	return predictedLatencyProducer{rules}
}

// LatencyRules implements scoring.LatencyProducer.
func (p predictedLatencyProducer) LatencyRules() *scoring.LatencyRules { return p.rules }
