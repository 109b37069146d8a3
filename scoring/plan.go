package scoring

import (
	"time"

	"github.com/pintle-dev/pintle/state"
)

// Plan is a compiled configuration. It is immutable and may be used by several cycles, one at a time, as its plug-ins
// are.
type Plan struct {
	reading        Reading
	defaults       *Defaults
	profiles       []profile
	handler        ProfileHandler
	stale          Staleness
	failing        Failing
	correctLoad    bool
	state          state.Options
	saturation     Utilization
	screeners      []Screener
	admitters      []Admitter
	confirmers     []Confirmer
	data           DataLayer
	parsers        []Parser
	objective      headerNames
	rewrite        headerNames
	readsModels    bool
	poolHooks      []PoolHook
	selectors      []ModelSelector
	load           LoadProducer
	requestHooks   []RequestHook
	producers      []PrefixProducer
	firstMatches   MatchKey // what FirstPrefixMatches stands for
	reporters      []Reporter
	reported       []string
	media          MediaEstimate
	responseHooks  []ResponseHook
	responses      *ResponsesStore
	salter         Salter
	precise        *PreciseIndex
	requestHeaders []string
	ownedHeaders   []string
	bodyKeys       []string
	warnings       []string
	idle           []string
}

type profile struct {
	name    string
	filters []namedFilter
	scorers []weightedScorer
	picker  Picker
}

// namedFilter is a filter of either kind; group is nil for a plain one, and prefers is set for a Preference.
type namedFilter struct {
	Filter
	group   GroupFilter
	name    string
	prefers bool
}

type weightedScorer struct {
	Scorer
	name   string
	weight float64
}

// RequestHeaders are the request headers, in lower case, whose values the plan's plug-ins want in Request.Headers.
func (p *Plan) RequestHeaders() []string { return p.requestHeaders }

// OwnedHeaders are the request headers, in lower case, that only the plan's plug-ins may set: a client's must be
// removed.
func (p *Plan) OwnedHeaders() []string { return p.ownedHeaders }

// ConsumedHeaders are the request headers, in lower case, that are for a picker alone: they end here.
func (p *Plan) ConsumedHeaders() []string { return p.defaults.Consumed }

// Dropped returns the header that tells clients of a request refused for lack of capacity, and what it says of f; ok is
// false when there is none.
func (p *Plan) Dropped(f *Failure) (header, reason string, ok bool) {
	switch f.Reason {
	case NoEndpoints.Reason:
		reason = "rejected-no-endpoints"
	case FilteredOut.Reason, Shed.Reason, SLOUnmet:
		reason = "rejected-saturated"
	}
	return p.defaults.DropHeader, reason, p.defaults.DropHeader != "" && reason != ""
}

// Prepare lets the plug-ins see a pool whose endpoints or metrics are new. To be called before the next decision.
func (p *Plan) Prepare(pool *Pool) {
	for _, hook := range p.poolHooks {
		hook.OnPool(pool)
	}
}

// HasResponseHooks reports whether Respond does anything.
func (p *Plan) HasResponseHooks() bool { return len(p.responseHooks) > 0 }

// Respond lets the plug-ins set headers of the response.
func (p *Plan) Respond(o *Outcome, headers HeaderSetter) {
	for _, hook := range p.responseHooks {
		hook.OnResponse(o, headers)
	}
}

// Reporters are what has to be told Envoy of requests whose answers have ended.
func (p *Plan) Reporters() []Reporter { return p.reporters }

// Warnings are what the operator should know though the configuration is valid, such as deprecated parameters.
func (p *Plan) Warnings() []string { return p.warnings }

// MostPicked is the greatest number of endpoints that any profile's picker names.
func (p *Plan) MostPicked() int {
	most := 0
	for i := range p.profiles {
		most = max(most, p.profiles[i].picker.Most())
	}
	return most
}

// Idle are the names of plug-ins without effect, as nothing in the document refers to them. Warnings tells of them.
func (p *Plan) Idle() []string { return p.idle }

// ReadsModels reports whether the configuration says that the servers' lists of models are fetched.
func (p *Plan) ReadsModels() bool { return p.readsModels }

// StateOptions are the parts of Pool.State that the plan's plug-ins read.
func (p *Plan) StateOptions() state.Options { return p.state }

// Staleness says when the plan takes metrics for too old.
func (p *Plan) Staleness() Staleness { return p.stale }

// ProfileName returns the name of a profile.
func (p *Plan) ProfileName(profile int) string { return p.profiles[profile].name }

// StalePolicy says what an endpoint without fresh metrics is worth.
type StalePolicy uint8

// The stale policies.
const (
	// StaleNeutral gives it the middle of each scorer's range.
	StaleNeutral StalePolicy = iota
	// StaleExclude removes it from the candidates, unless no endpoint is fresh.
	StaleExclude
	// StaleLast goes by its last sample, however old.
	StaleLast
	// StaleZero is StaleLast, but one that was never sampled counts as one without any load.
	StaleZero
	// StaleByDialect is what the document's dialect says.
	StaleByDialect
)

// String implements fmt.Stringer.
func (p StalePolicy) String() string {
	return [...]string{"neutral", "exclude", "last", "zero", ""}[p]
}

// Settings are what is configured beside the EndpointPickerConfig.
type Settings struct {
	Stale Staleness
	// CorrectLoad adds to a server's waiting and running requests what was sent to it since they were sampled.
	CorrectLoad bool
	Failing     Failing
	// Dialect is whose reading of the document holds if the document leaves that open.
	Dialect Dialect
	// Environment looks a variable up that stands for a parameter that is not given; nil stands for an empty
	// environment.
	Environment func(name string) (value string, ok bool)
}

// Staleness says when metrics are too old and what then.
type Staleness struct {
	After  time.Duration
	Policy StalePolicy
}

// Failing says which endpoints fail too often to be candidates while others do not. The zero value excludes none.
type Failing struct {
	// Exclude removes an endpoint from the candidates while its share of failures, see state.Failures, is above Above,
	// unless no other candidate is left.
	Exclude bool
	Above   float64
	// HalfLife is the time in which the share falls by half without requests.
	HalfLife time.Duration
}
