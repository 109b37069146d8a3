package scoring

import "github.com/pintle-dev/pintle/openai"

// Plugin is what a constructor builds from one entry of the plugins list. It implements one or more of the interfaces
// below; the interfaces decide where it takes part. A plug-in is built once and then called from one goroutine at a
// time. It keeps nothing between requests: what must last belongs to the pool's state.
type Plugin any

// Filter removes endpoints that must not serve a request. Filters run in the profile's order; each sees what the one
// before has left.
type Filter interface {
	// Keep reports whether e may serve the request of c.
	Keep(c *Cycle, e *Endpoint) bool
}

// GroupFilter is a filter that has to see all candidates to judge one of them. It runs among the others in the
// profile's order.
type GroupFilter interface {
	// Select moves the endpoints that may serve the request of c to the front of candidates, which is never empty, and
	// returns how many they are. The others stay behind them.
	Select(c *Cycle, candidates []*Endpoint) int
}

// Preference is a GroupFilter that says which candidates suit best: where it selects none, all are kept. What fails or
// is stale, and will be left out in the end, it is not shown while there are others: it would keep a request at a
// server that died.
type Preference interface {
	GroupFilter
	// Prefers reports whether it is one, with its parameters.
	Prefers() bool
}

// Scorer says how well each endpoint suits a request.
type Scorer interface {
	// Score sets scores[i] for candidates[i]; the two are equally long and scores come in as zeros. A score is within 0
	// to 1, higher is better; what is not is clamped by the caller, NaN counts as 0. It must not keep either slice.
	Score(c *Cycle, candidates []*Endpoint, scores []float64)
}

// Picker chooses among scored endpoints.
type Picker interface {
	// Pick moves the endpoints to use to the front of ranked, best first, and returns how many they are: at least 1.
	// ranked is never empty.
	Pick(c *Cycle, ranked []Ranked) int
	// Most is how many endpoints it picks at most.
	Most() int
}

// Ranked is an endpoint with the sum of its weighted scores.
type Ranked struct {
	Endpoint *Endpoint
	Total    float64
}

// ProfileHandler decides which scheduling profiles run for a request and which of them serves it.
type ProfileHandler interface {
	// Next returns the profile to run next; ok is false when the request needs no more of them. It may read the results
	// so far from c.
	Next(c *Cycle) (profile int, ok bool)
	// Primary returns the profile whose endpoints serve the request. The others only lend a hand.
	Primary(c *Cycle) int
}

// Admitter looks at a request before any profile runs, and may refuse it. It takes part by being declared. One that is
// the ProfileHandler, too, comes last and may mix profiles, see Cycle.Mix.
type Admitter interface {
	// Admit returns nil for a request that may be served, else why not.
	Admit(c *Cycle) *Failure
}

// Screener narrows the endpoints that may serve a request, before an admitter or a profile sees them. It takes part by
// being declared; screeners run in the order of declaration.
type Screener interface {
	// Screen calls Cycle.Exclude for the endpoints that must not serve the request of c, of those that c.Serves. It
	// returns nil or, where none is left, why.
	Screen(c *Cycle) *Failure
}

// Confirmer looks at a request that was routed, before it leaves, and may refuse it after all. It takes part by being
// declared.
type Confirmer interface {
	// Confirm returns nil for a request that shall be served, else why not. What it returns is valid until its next
	// call.
	Confirm(c *Cycle) *Failure
}

// PrefillDecider says whether a request gets a prefill stage of its own.
type PrefillDecider interface {
	// NeedsPrefill is asked after decode was chosen.
	NeedsPrefill(c *Cycle, decode *Endpoint) bool
}

// EncodeDecider says whether a request gets an encode stage of its own.
type EncodeDecider interface {
	// NeedsEncode is asked after decode was chosen, or before, and then decode is nil.
	NeedsEncode(c *Cycle, decode *Endpoint) bool
}

// PoolHook acts when the pool's endpoints or their metrics are new. It takes part by being declared.
type PoolHook interface {
	// OnPool may change the pool's State and nothing else of it.
	OnPool(p *Pool)
}

// RequestHook acts when the endpoints are chosen, before the request leaves. It takes part by being declared; hooks run
// in the order of declaration.
type RequestHook interface {
	OnRouted(c *Cycle)
}

// ResponseHook acts when the response's headers arrive. It takes part by being declared; hooks run in the order of
// declaration.
type ResponseHook interface {
	OnResponse(o *Outcome, headers HeaderSetter)
}

// Reporter is a plug-in that tells Envoy a number of a request whose answer has ended, see Builder.Reports. It takes
// part by being declared.
type Reporter interface {
	// Report returns the number under its name, 0 for none. cachedReported is set when u has CachedTokens.
	Report(u *openai.Usage, cachedReported bool) (name string, value float64)
}

// Composite is a plug-in of which a part takes part by being declared, as a plug-in of its own would.
type Composite interface{ Part() Plugin }

// HeaderSetter puts a header in the place of all of its name. value is copied.
type HeaderSetter interface {
	SetHeader(name string, value []byte)
}

// Outcome is what became of a routed request.
type Outcome struct {
	// Served is the endpoint that answered: after a retry, not the first choice.
	Served *Endpoint
	// Prefill is the endpoint of the prefill stage, Encode the first one of the encode stage; nil when there was none.
	Prefill, Encode *Endpoint
	// Profile is the one that chose who serves.
	Profile int
}

// Disaggregator is a ProfileHandler with a prefill stage.
type Disaggregator interface {
	// PrefillProfile returns the number of the prefill profile; ok is false when that stage is disabled.
	PrefillProfile() (profile int, ok bool)
}

// StageAnnouncer is a plug-in that tells the decode server which endpoints run the other stages.
type StageAnnouncer interface {
	// AnnouncesPrefill and AnnouncesEncode report whether it tells of the endpoints that a profile picks for that
	// stage.
	AnnouncesPrefill(profile int) bool
	AnnouncesEncode(profile int) bool
}

// PrefixProvider is a plug-in that calls Cycle.SetCachedTokens.
type PrefixProvider interface{ ProvidesCachedTokens() }

// PrefixFollower is a scorer that reads Cycle.Cold, and so must stand behind a PrefixProvider in its profile.
type PrefixFollower interface{ FollowsPrefix() }

// PrefixReader is a scorer that reads Cycle.CachedTokens while it scores. It runs behind the prefix scorers of its
// profile, wherever the profile lists it.
type PrefixReader interface{ ReadsCachedTokens() }

// PrefixConsumer is a plug-in that reads Cycle.CachedTokens.
type PrefixConsumer interface {
	// WantsCachedTokens is false when the parameters make the plug-in not look at them.
	WantsCachedTokens() bool
}

// Constructor builds a plug-in from its entry in the configuration. Mistakes go to b; what is then returned is not
// used.
type Constructor func(b *Builder) Plugin

// Registration binds a type name of the configuration to its constructor.
type Registration struct {
	Type string
	New  Constructor
}
