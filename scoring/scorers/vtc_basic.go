package scorers

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// vtcBasic separates users who use much from users who use little: the more of all tokens of the last minutes a user
// took, the further towards the end of the list of endpoints, sorted by name, its requests go, and within that to where
// the load is low.
//
// Formula: 1 - cost / (fairnessWeight + utilizationWeight), where cost = fairnessWeight x inequality x |i / (n - 1) -
// share| + utilizationWeight x min(load / maxPodLoad, 1) for the i-th of n candidates, i from 0. With tokens = the
// user's input x inputTokenWeight + output x outputTokenWeight within the window, and min and max over all users of
// what servers reported to have served, each request up to maxTokens: bucket = max(minTokens, (min + max) / 2), share =
// min(tokens / bucket / 2, 1), inequality = (max - min) / bucket / 2. load is the greater one of the requests in flight
// and the fresh number of running ones.
//
// Range: 0 to 1. Unit: weighted tokens, and requests. Until its answer reports what it used, a request counts for its
// own user with an estimate: input tokens as prefix-based-pd-decider counts those of a prompt, rounded up, and one and
// a half times as many of output. Once answers to this user, or of this model, have shown how long they are, the
// estimate of the output is their recent mean, at most the request's own limit; with semantics source it always is the
// former. Requests that other profiles route count too. A request is taken to be in flight for the window, 2 to 10
// minutes, if no plug-in asks for longer: what it was served then takes its estimate's place.
//
// Missing data: a request without a user is placed by the load alone, and is not counted. For a user alone, and for
// users who all use the same, the load alone decides, too. The user is the value of the header, else of the body's key
// user. Anyone can give any name there, so have a proxy in front set the header where that matters.
//
// Source: AIBrix, routing strategy vtc-basic; Sheng et al., Fairness in Serving Large Language Models, 2024. With
// semantics source the cost is AIBrix's, fairnessWeight x |i - min(tokens / bucket, n - 1)| + utilizationWeight x
// min(load / maxPodLoad, 1), and a request without a user goes to any endpoint. Of many endpoints none from the fourth
// on then gets a user's requests, and a user alone keeps to the middle. AIBrix shuffles the endpoints for each request,
// which makes i meaningless, adds a random number below 0.1, never replaces its estimates, counts only what vtc-basic
// routes, and has min and max grow by all of a request: maxTokens 0 does so in either semantics.
type vtcBasic struct {
	vtcBasicParameters
	header scoring.HeaderKey
	source bool
	order  []int
}

type vtcBasicParameters struct {
	// Semantics is documented or source.
	Semantics string
	// UserHeader is the request header that names the user.
	UserHeader string
	// TimeUnit is the unit of the window: minutes, seconds or milliseconds. When it is not given:
	// AIBRIX_ROUTER_VTC_TOKEN_TRACKER_TIME_UNIT.
	TimeUnit string
	// WindowSize is for how many of the units tokens count; they leave in 60 steps. When it is not given:
	// AIBRIX_ROUTER_VTC_TOKEN_TRACKER_WINDOW_SIZE.
	WindowSize int
	// MinTokens is the least bucket, with semantics source also the min as long as no user was served. When it is not
	// given: AIBRIX_ROUTER_VTC_TOKEN_TRACKER_MIN_TOKENS.
	MinTokens float64
	// MaxTokens is the most that one request adds to min and max, 0 for any number; with semantics source also the max
	// as long as no user was served. When it is not given: AIBRIX_ROUTER_VTC_TOKEN_TRACKER_MAX_TOKENS.
	MaxTokens float64
	// InputTokenWeight is the weight of input tokens. When it is not given: AIBRIX_ROUTER_VTC_BASIC_INPUT_TOKEN_WEIGHT.
	InputTokenWeight float64
	// OutputTokenWeight is the weight of output tokens. When it is not given:
	// AIBRIX_ROUTER_VTC_BASIC_OUTPUT_TOKEN_WEIGHT.
	OutputTokenWeight float64
	// MaxPodLoad is the number of requests from which on a load is full. When it is not given:
	// AIBRIX_ROUTER_VTC_BASIC_MAX_POD_LOAD.
	MaxPodLoad float64
	// FairnessWeight is the weight of fairness. When it is not given: AIBRIX_ROUTER_VTC_BASIC_FAIRNESS_WEIGHT.
	FairnessWeight float64
	// UtilizationWeight is the weight of the load. When it is not given: AIBRIX_ROUTER_VTC_BASIC_UTILIZATION_WEIGHT.
	UtilizationWeight float64
	// MaxUsers is how many users are known at once. A new one replaces a user whom no server served, else the one with
	// the fewest tokens.
	MaxUsers int
}

// NewVTCBasic builds a vtc-basic.
func NewVTCBasic(b *scoring.Builder) scoring.Plugin {
	s := &vtcBasic{vtcBasicParameters: vtcBasicParameters{
		Semantics: semanticsDocumented, UserHeader: "user", TimeUnit: "minutes", WindowSize: 5, MinTokens: 1000,
		MaxTokens:        8000,
		InputTokenWeight: 1, OutputTokenWeight: 2, MaxPodLoad: 100, FairnessWeight: 1, UtilizationWeight: 1,
		MaxUsers: 4096,
	}}
	b.OneOf("semantics", &s.Semantics, semanticsDocumented, semanticsSource)
	s.source = s.Semantics == semanticsSource
	b.HeaderName("userHeader", &s.UserHeader)
	if s.UserHeader == "" {
		b.Missing("userHeader", "name the request header that names the user")
	}
	s.header = b.RequestHeader(s.UserHeader)
	window := s.readWindow(b)
	s.readNumbers(b)
	b.Int("maxUsers", &s.MaxUsers, 1, 1<<16)
	options := b.State()
	if options.Tokens {
		b.Mistake("", "is a second vtc-basic; users are counted once, so share one between the profiles")
	}
	options.InFlight, options.Tokens, options.Lengths = true, true, true
	options.Outputs = options.Outputs || !s.source
	options.TokenWindow, options.TokenUsers = window, s.MaxUsers
	options.RequestTimeout = max(options.RequestTimeout, min(max(window, state.DefaultRequestTimeout), mostTimeout))
	options.TokenInputWeight, options.TokenOutputWeight = s.InputTokenWeight, s.OutputTokenWeight
	options.TokenRequestMost = s.MaxTokens
	return s
}

// vtcPrefix begins the names of AIBrix's environment variables.
const vtcPrefix = "AIBRIX_ROUTER_VTC_"

func (s *vtcBasic) readWindow(b *scoring.Builder) time.Duration {
	units := [...]string{"minutes", "seconds", "milliseconds"}
	b.EnvironmentOneOf(vtcPrefix+"TOKEN_TRACKER_TIME_UNIT", &s.TimeUnit, units[:]...)
	b.OneOf("timeUnit", &s.TimeUnit, units[:]...)
	b.EnvironmentInt(vtcPrefix+"TOKEN_TRACKER_WINDOW_SIZE", &s.WindowSize, 1, mostWindow)
	b.Int("windowSize", &s.WindowSize, 1, mostWindow)
	unit := time.Minute
	switch s.TimeUnit {
	case "seconds":
		unit = time.Second
	case "milliseconds":
		unit = time.Millisecond
	}
	return time.Duration(s.WindowSize) * unit
}

const (
	mostWindow = 1_000_000
	mostNumber = 1e12
	// mostTimeout bounds how long a request counts as in flight whose end nobody tells.
	mostTimeout = 10 * time.Minute
)

func (s *vtcBasic) readNumbers(b *scoring.Builder) {
	for _, n := range []struct {
		key, variable string
		value         *float64
	}{
		{"minTokens", "TOKEN_TRACKER_MIN_TOKENS", &s.MinTokens},
		{"maxTokens", "TOKEN_TRACKER_MAX_TOKENS", &s.MaxTokens},
		{"inputTokenWeight", "BASIC_INPUT_TOKEN_WEIGHT", &s.InputTokenWeight},
		{"outputTokenWeight", "BASIC_OUTPUT_TOKEN_WEIGHT", &s.OutputTokenWeight},
		{"maxPodLoad", "BASIC_MAX_POD_LOAD", &s.MaxPodLoad},
		{"fairnessWeight", "BASIC_FAIRNESS_WEIGHT", &s.FairnessWeight},
		{"utilizationWeight", "BASIC_UTILIZATION_WEIGHT", &s.UtilizationWeight},
	} {
		b.EnvironmentFloat(vtcPrefix+n.variable, n.value, mostNumber)
		b.Float(n.key, n.value, 0, mostNumber)
	}
	const none = "is 0; it divides the load, so give a number above 0"
	switch {
	case s.MaxPodLoad > 0:
	case b.Has("maxPodLoad"):
		b.Mistake("maxPodLoad", none)
	default:
		b.Mistake("", "the environment variable "+vtcPrefix+"BASIC_MAX_POD_LOAD "+none)
	}
}

// OnRouted implements scoring.RequestHook: every request of a user counts, whichever profile routed it.
func (s *vtcBasic) OnRouted(c *scoring.Cycle) {
	user := s.user(c)
	if user == "" {
		return
	}
	c.SetUser(user)
	input, output := estimate(c)
	if tokens, ok := c.OutputTokens(user); ok && !s.source {
		output = uint32(tokens)
	}
	c.SetEstimate(input, output)
}

// user is who sent the request, empty for nobody.
func (s *vtcBasic) user(c *scoring.Cycle) string {
	if name := c.Request.Header(s.header); name != "" {
		return name
	}
	if c.Request.Body == nil {
		return ""
	}
	return c.Request.Body.User
}

// estimate is how many tokens the request will take.
func estimate(c *scoring.Cycle) (input, output uint32) {
	if c.Request.Body == nil {
		return 0, 0
	}
	tokens := int64(math.Ceil(c.PromptLength()))
	return uint32(min(tokens, math.MaxUint32)), uint32(min((3*tokens+1)/2, math.MaxUint32))
}

// Score implements scoring.Scorer.
func (s *vtcBasic) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	user := journal.HashName(s.user(c))
	if user == 0 && s.source || c.Pool.State == nil || c.Pool.State.Tokens == nil {
		for i := range scores {
			scores[i] = 1
		}
		return
	}
	s.sort(candidates)
	least, most, ok := c.Pool.State.Tokens.Range()
	if !ok && s.source {
		least, most = s.MinTokens, s.MaxTokens
	}
	n := len(candidates)
	place := s.place(user, c.Pool.State.Tokens.Total(user), least, most, n)
	worst := s.FairnessWeight*place.farthest + s.UtilizationWeight
	for rank, i := range s.order {
		load := float64(c.InFlight(candidates[i]))
		if c.Fresh(candidates[i]) {
			load = max(load, float64(c.Running(candidates[i])))
		}
		if scores[i] = 1; worst > 0 {
			scores[i] = 1 - s.cost(place, rank, load)/worst
		}
	}
}

// cost is that of the endpoint at a rank for a user with a place.
func (s *vtcBasic) cost(p place, rank int, load float64) float64 {
	return s.FairnessWeight*p.distance(rank) + s.UtilizationWeight*min(load/s.MaxPodLoad, 1)
}

// place is where in the list of endpoints a user belongs: at ideal, each endpoint away from it costing a step. farthest
// bounds the sum.
type place struct{ ideal, step, farthest float64 }

func (p place) distance(rank int) float64 { return p.step * math.Abs(float64(rank)-p.ideal) }

// place finds it by the user's tokens and the range of all users'.
func (s *vtcBasic) place(user uint64, tokens, least, most float64, endpoints int) place {
	last := float64(endpoints - 1)
	bucket := max(s.MinTokens, (least+most)/2)
	if bucket == 0 {
		return place{farthest: 1}
	}
	if s.source {
		return place{ideal: min(tokens/bucket, last), step: 1, farthest: max(last, 1)}
	}
	if user == 0 || last == 0 {
		return place{farthest: 1}
	}
	return place{ideal: last * min(tokens/bucket/2, 1), step: (most - least) / bucket / 2 / last, farthest: 1}
}

// sort puts the candidates' places into order by their names.
func (s *vtcBasic) sort(candidates []*scoring.Endpoint) {
	s.order = s.order[:0]
	sorted := true
	for i, e := range candidates {
		s.order = append(s.order, i)
		sorted = sorted && (i == 0 || candidates[i-1].Name < e.Name)
	}
	if !sorted {
		slices.SortFunc(s.order, func(i, j int) int { return strings.Compare(candidates[i].Name, candidates[j].Name) })
	}
}
