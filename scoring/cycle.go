package scoring

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/state"
)

// Cycle is one worker's workplace for decisions: the request at hand, the pool, the results so far, and scratch memory
// that is reused, so that a decision allocates nothing after warm-up. Not safe for concurrent use.
type Cycle struct {
	Request Request
	Pool    *Pool
	Random  *rand.Rand
	// Tracer, when set, is told every step of a decision that is explained or followed.
	Tracer Tracer
	// Brief leaves out of what the Tracer is told what would have to be allocated: how models were chosen, and how
	// profiles were mixed, of which it then gets the sum as a Total of the first one.
	Brief bool

	plan           *Plan
	results        []Result
	requestHeaders []RequestHeader
	primaryPort    int
	serving, named []bool // by Endpoint.Index
	excluded       []bool // by Endpoint.Index, empty without screeners
	cachedTokens   []int32
	hasher         state.Hasher
	chains         []promptChain
	matches        []PrefixMatches // by MatchKey
	predictions    []Prediction
	loads          []float64 // scratch, as is
	one            [1]*Endpoint
	salt           []byte // of the request, where the plan gives it one
	media          []int32
	mediaKnown     bool
	ids            int
	idsKnown       bool
	unescaped      []byte // scratch
	warm           bool
	predicted      bool
	user           uint64
	userName       string
	sessions       []journal.Session
	strategy       string
	input, output  uint32
	mix            []share
	candidates     []*Endpoint
	earlier        []*Endpoint // of the profile that ran before, while one runs
	// reserves are candidates that a Preference passed over, while reserving is set; formerReserves are those of the
	// profile of earlier.
	reserves, formerReserves []*Endpoint
	reserving                bool
	scores                   []float64
	totals, mixed            []float64
	ranked                   []Ranked
	// holders are, by StateIndex, the places in Request.Precise.Holders and one more, 0 for none, once held is set.
	holders     []int32
	held        bool
	suspects    []*Endpoint
	silentSince []int64 // by place in suspects
}

// Tracer is told the steps of a decision as they happen. What it gets is valid during the call.
type Tracer interface {
	FilteredOut(profile string, e *Endpoint, filter string)
	// Scored is told all candidates' scores, each at the candidate's place.
	Scored(profile, scorer string, candidates []*Endpoint, scores []float64)
	// Total is told the sums of weighted scores or, in a mix, these sums brought to 0..1.
	Total(profile string, candidates []*Endpoint, totals []float64)
	// Mixed comes before what is picked, if several profiles decide together.
	Mixed(m *Mixture)
	Picked(profile string, e *Endpoint)
	// ModelSelected comes first, if the request's model is a virtual one.
	ModelSelected(s *Selection)
}

// NewCycle returns a workplace whose random choices follow from seed.
func NewCycle(seed uint64) *Cycle {
	return &Cycle{Random: rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15))}
}

// State says what became of a profile in this cycle.
type State uint8

// The states of a profile.
const (
	NotRun State = iota
	// Skipped is a profile that a decider found unnecessary.
	Skipped
	// Failed is a profile whose filters left no endpoint.
	Failed
	// Picked is a profile that chose at least one endpoint.
	Picked
)

// Result is what a profile came to.
type Result struct {
	State State
	// Picked are the chosen endpoints, best first. Valid until the next decision.
	Picked []*Endpoint
}

// Result returns what became of a profile.
func (c *Cycle) Result(profile int) *Result { return &c.results[profile] }

// Fresh reports whether the metrics of e may be believed: e has been sampled, and not longer ago than the plan's
// Staleness allows. With StaleZero every endpoint's are: those of one that was never sampled are zeros.
func (c *Cycle) Fresh(e *Endpoint) bool {
	if c.plan.stale.Policy == StaleZero {
		return true
	}
	if e.Metrics.SampledAt == 0 {
		return false
	}
	return c.plan.stale.Policy == StaleLast || c.sampledWithin(&e.Metrics, c.plan.stale.After)
}

// sampledWithin reports whether m was sampled less than so long ago. A sample from the future is from before the clock
// was set back, and as old as nobody knows.
func (c *Cycle) sampledWithin(m *Metrics, age time.Duration) bool {
	passed := c.Request.Now - m.SampledAt
	return m.SampledAt != 0 && passed <= int64(age) && passed >= -int64(age)
}

// RequestHeader is a header that a plug-in adds to the request: the addresses of endpoints, joined by commas.
type RequestHeader struct {
	Name      string
	Endpoints []*Endpoint
}

// SetRequestHeader has the request carry the endpoints' addresses in a header that the plug-in owns, see
// Builder.OwnRequestHeader. endpoints must stay as they are until the decision is published; a Result's Picked does.
func (c *Cycle) SetRequestHeader(name string, endpoints []*Endpoint) {
	c.requestHeaders = append(c.requestHeaders, RequestHeader{name, endpoints})
}

// RequestHeaders are the headers that plug-ins add to the request. Valid until the next decision.
func (c *Cycle) RequestHeaders() []RequestHeader { return c.requestHeaders }

// SetPrimaryPort has the request go to another port of the chosen endpoints' hosts.
func (c *Cycle) SetPrimaryPort(port int) { c.primaryPort = port }

// PrimaryPort is the port that replaces that of the chosen endpoints; 0 for none.
func (c *Cycle) PrimaryPort() int { return c.primaryPort }

// SetCachedTokens says how many tokens of the prompt, from its start, e is thought to have in its cache. Of several
// plug-ins' numbers the largest counts.
func (c *Cycle) SetCachedTokens(e *Endpoint, tokens int) {
	c.predicted = true
	c.cachedTokens[e.Index] = max(c.cachedTokens[e.Index], int32(min(tokens, math.MaxInt32)))
}

// CachedTokens is how many tokens of the prompt e is thought to have in its cache: 0 unless a plug-in of this decision
// has said so.
func (c *Cycle) CachedTokens(e *Endpoint) int { return int(c.cachedTokens[e.Index]) }

// SetUser says who sent the request, as the journal shall know it by its journal.HashName. The name must stay as it is
// until the decision is journaled; what the Request has does.
func (c *Cycle) SetUser(name string) { c.user, c.userName = journal.HashName(name), name }

// User is who sent the request, empty unless a plug-in of this decision has said so.
func (c *Cycle) User() string { return c.userName }

// SetStrategy says by which strategy the request is routed, for logs. name must stay as it is as long as the request's
// headers.
func (c *Cycle) SetStrategy(name string) { c.strategy = name }

// Strategy is what SetStrategy said in the last decision.
func (c *Cycle) Strategy() string { return c.strategy }

// SetEstimate says how many tokens the request is thought to take, as the journal shall know it.
func (c *Cycle) SetEstimate(input, output uint32) { c.input, c.output = input, output }

// Prefill returns the endpoint of the prefill stage, nil when there is none.
func (c *Cycle) Prefill() *Endpoint {
	handler, ok := c.plan.handler.(Disaggregator)
	if !ok {
		return nil
	}
	profile, ok := handler.PrefillProfile()
	if !ok || c.results[profile].State != Picked {
		return nil
	}
	return c.results[profile].Picked[0]
}

// Encode returns the first endpoint of the encode stage, nil when there is none.
func (c *Cycle) Encode() *Endpoint {
	primary := c.plan.handler.Primary(c)
	for i := range c.results {
		if c.encoded(i, primary) {
			return c.results[i].Picked[0]
		}
	}
	return nil
}

// encoded reports whether a profile chose the endpoints of the encode stage, where primary chose who serves.
func (c *Cycle) encoded(profile, primary int) bool {
	return profile != primary && c.results[profile].State == Picked && !c.IsPrefill(profile)
}

// IsPrefill reports whether a profile is that of the prefill stage.
func (c *Cycle) IsPrefill(profile int) bool {
	handler, ok := c.plan.handler.(Disaggregator)
	if !ok {
		return false
	}
	prefill, ok := handler.PrefillProfile()
	return ok && prefill == profile
}

// Peer is the endpoint that was already chosen for decode or, where that comes first, for prefill; nil for none.
func (c *Cycle) Peer() *Endpoint {
	if r := c.Primary(); r.State == Picked {
		return r.Picked[0]
	}
	return c.Prefill()
}

// Primary returns what became of the profile that serves the request.
func (c *Cycle) Primary() *Result { return &c.results[c.plan.handler.Primary(c)] }

// Candidates are the endpoints that were left of all in the profile that ran last, of several the last one whose
// endpoints answer: not that of an encode stage, nor one that found nobody. Valid until the next profile runs.
func (c *Cycle) Candidates() []*Endpoint { return c.candidates }

// Able are the Candidates and, in a plan with a Confirmer, behind them those that Preferences passed over: what the
// request could be served by. Valid until the next profile runs.
func (c *Cycle) Able() []*Endpoint { return append(c.candidates, c.reserves...) }

// Serves reports whether e may serve the model that the request asks for, is in the request's subset, and was not
// excluded.
func (c *Cycle) Serves(e *Endpoint) bool { return c.removedBy(e.Index) == "" }

// Exclude keeps e from all profiles of this decision. Only a Screener's Screen may call it.
func (c *Cycle) Exclude(e *Endpoint) { c.excluded[e.Index] = true }

// begin makes the workplace ready for a decision by its plan.
func (c *Cycle) begin() {
	p := c.plan
	c.findSuspects()
	if len(c.results) != len(p.profiles) {
		c.results = make([]Result, len(p.profiles))
	}
	for i := range c.results {
		c.results[i].State = NotRun
		c.results[i].Picked = c.results[i].Picked[:0]
	}
	c.requestHeaders = c.requestHeaders[:0]
	c.primaryPort = 0
	n := len(c.Pool.Endpoints)
	c.cachedTokens = scratch.Resize(c.cachedTokens, n)
	clear(c.cachedTokens)
	c.excluded = c.excluded[:0]
	if len(p.screeners) > 0 {
		c.excluded = scratch.Resize(c.excluded, n)
		clear(c.excluded)
	}
	c.chains, c.warm, c.predicted, c.held = c.chains[:0], false, false, false
	c.media, c.mediaKnown, c.idsKnown = c.media[:0], false, false
	c.predictions = c.predictions[:0]
	c.user, c.userName, c.input, c.output = 0, "", 0, 0
	c.mix, c.sessions, c.candidates, c.reserves = c.mix[:0], c.sessions[:0], c.candidates[:0], c.reserves[:0]
	c.strategy = ""
	if cap(c.candidates) < n {
		c.candidates, c.earlier = make([]*Endpoint, 0, n), make([]*Endpoint, 0, n)
		c.scores = make([]float64, n)
		c.totals = make([]float64, n)
		c.mixed = make([]float64, n)
		c.ranked = make([]Ranked, 0, n)
	}
}
