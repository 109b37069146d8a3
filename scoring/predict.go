package scoring

import (
	"strconv"

	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/state"
)

// Prediction is what a request is expected to meet at an endpoint, in seconds, and what that leaves of its objective.
type Prediction struct {
	Endpoint *Endpoint
	state.Times
	// Load is the tokens that the endpoint would have to compute for the request, Uncached those of them that are the
	// prompt's.
	Load, Uncached float64
	// TTFTRoom and TPOTRoom are how much sooner the request is served than its objective asks for, below 0 how much
	// later; 0 without an objective.
	TTFTRoom, TPOTRoom float64
}

// Meets reports whether the objective is met.
func (p *Prediction) Meets() bool { return p.TTFTRoom >= 0 && p.TPOTRoom >= 0 }

// Latencies are what a request asks for, in seconds; 0 for nothing.
type Latencies struct{ TTFT, TPOT float64 }

// LatencyRules say how predicted latencies count against objectives.
type LatencyRules struct {
	// Buffer multiplies the objective of the time per token.
	Buffer float64
	// Streaming has the time per token count.
	Streaming bool
	// RoleLabel is the label whose value prefill keeps a server's time per token from counting, empty for none.
	RoleLabel string

	ttft, tpot sloHeader
}

// sloHeader is a header under its name of today, x-llm-d-..., and the one of before, x-...
type sloHeader struct{ now, before HeaderKey }

// LatencyProducer is a plug-in that holds the rules by which others judge predicted latencies.
type LatencyProducer interface{ LatencyRules() *LatencyRules }

// The parameter that names a producer of predictions, and the one that is added where none is named and none of this
// name is declared.
const (
	latencyParameter       = "latencyPredictionInfoProducerName"
	defaultLatencyProducer = "predicted-latency-producer"
)

// NewLatencyRules has latencies predicted and reads the parameters of rules. streaming is the default of streamingMode.
func (b *Builder) NewLatencyRules(streaming bool) *LatencyRules {
	r := &LatencyRules{Buffer: 1, Streaming: streaming}
	b.Float("sloBufferFactor", &r.Buffer, 1e-9, 1e6)
	b.Bool("streamingMode", &r.Streaming)
	b.String("endpointRoleLabel", &r.RoleLabel)
	r.ttft = sloHeader{b.RequestHeader("x-llm-d-slo-ttft-ms"), b.RequestHeader("x-slo-ttft-ms")}
	r.tpot = sloHeader{b.RequestHeader("x-llm-d-slo-tpot-ms"), b.RequestHeader("x-slo-tpot-ms")}
	b.State().Speeds = true
	return r
}

// LatencyRules reads the parameter latencyPredictionInfoProducerName and returns the rules of the producer that it
// names, which is added where none is declared.
func (b *Builder) LatencyRules() *LatencyRules {
	name := ""
	b.String(latencyParameter, &name)
	name = b.orUsual(name, defaultLatencyProducer)
	plugin := b.Plugin(name)
	producer, ok := plugin.(LatencyProducer)
	switch {
	case ok:
		return producer.LatencyRules()
	case b.Doubtful(name):
	case plugin == nil:
		b.Mistake(latencyParameter, b.NotDeclared(name))
	default:
		b.Mistake(latencyParameter, strconv.Quote(name)+" is not a producer of predicted latencies")
	}
	return &LatencyRules{}
}

// Objective is what the request of c asks for by its headers: milliseconds, a decimal number above 0.
func (r *LatencyRules) Objective(c *Cycle) Latencies {
	return Latencies{c.milliseconds(r.ttft), c.milliseconds(r.tpot)}
}

func (c *Cycle) milliseconds(h sloHeader) float64 {
	text := c.Request.Header(h.now)
	if text == "" {
		text = c.Request.Header(h.before)
	}
	value, place, decimals := 0.0, 1.0, false
	for i := range len(text) {
		switch {
		case text[i] == '.' && !decimals:
			decimals = true
		case text[i] < '0' || text[i] > '9':
			return 0
		case decimals:
			place /= 10
			value += place * float64(text[i]-'0')
		default:
			value = value*10 + float64(text[i]-'0')
		}
	}
	return min(value, 1e9) / 1000
}

// Predict predicts what the request of c meets at each of the candidates, in their order, valid until the next call.
// known is false as long as the servers' answers have not told how fast they are: then every endpoint is taken to be
// as fast as any other.
func (r *LatencyRules) Predict(c *Cycle, candidates []*Endpoint) (predictions []Prediction, known bool) {
	asked := r.Objective(c)
	c.predictions = scratch.Resize(c.predictions, len(candidates))
	var predictor state.Predictor
	if flights := c.flights(); flights != nil {
		predictor, known = flights.Predictor(c.Request.Now)
	}
	prompt := float64(c.PromptTokens())
	c.loads = scratch.Resize(c.loads, len(candidates))
	c.RequestLoads(candidates, c.loads)
	output := c.outputLoad()
	for i, e := range candidates {
		p := &c.predictions[i]
		p.Endpoint, p.Load, p.Uncached, p.TTFTRoom, p.TPOTRoom = e, c.loads[i], c.loads[i]-output, 0, 0
		predictor.At(e.StateIndex, p.Load, prompt, &p.Times)
		if asked.TTFT > 0 {
			p.TTFTRoom = asked.TTFT - p.TTFT
		}
		if asked.TPOT > 0 && r.Streaming && !r.prefills(e) {
			p.TPOTRoom = asked.TPOT*r.Buffer - p.TPOT
		}
	}
	return c.predictions, known
}

func (r *LatencyRules) prefills(e *Endpoint) bool {
	if r.RoleLabel == "" {
		return false
	}
	role, _ := e.Label(r.RoleLabel)
	return role == "prefill"
}

// Predictions are those that were made last in the decision, for people; none where nobody asked for any.
func (c *Cycle) Predictions() []Prediction { return c.predictions }

// Throughput is how many tokens of prompts e computes in a second, as its answers tell; ok is false as long as they do
// not, or nobody asked to learn it by state.Options.Speeds.
func (c *Cycle) Throughput(e *Endpoint) (tokens float64, ok bool) {
	if f := c.flights(); f != nil {
		return f.Throughput(e.StateIndex)
	}
	return 0, false
}

// flights are the requests in flight, nil where they are not kept.
func (c *Cycle) flights() *state.InFlight {
	if c.Pool.State == nil {
		return nil
	}
	return c.Pool.State.InFlight
}
