package scoring

// Plugin is what a constructor builds from one entry of the plugins list. It implements one or more of the interfaces
// below; the interfaces decide where it takes part. A plug-in is built once and then called from one goroutine at a time. It
// keeps nothing between requests: what must last belongs to the pool's state.
type Plugin any

// Filter removes endpoints that must not serve a request. Filters run in the profile's order; each sees what the one
// before has left.
type Filter interface {
	// Keep reports whether e may serve the request of c.
	Keep(c *Cycle, e *Endpoint) bool
}

// Scorer says how well each endpoint suits a request.
type Scorer interface {
	// Score sets scores[i] for candidates[i]; the two are equally long and scores come in as zeros. A score is within 0 to 1,
	// higher is better; what is not is clamped by the caller, NaN counts as 0. It must not keep either slice.
	Score(c *Cycle, candidates []*Endpoint, scores []float64)
}

// Picker chooses among scored endpoints.
type Picker interface {
	// Pick moves the endpoints to use to the front of ranked, best first, and returns how many they are: at least 1.
	// ranked is never empty.
	Pick(c *Cycle, ranked []Ranked) int
}

// Ranked is an endpoint with the sum of its weighted scores.
type Ranked struct {
	Endpoint *Endpoint
	Total    float64
}

// ProfileHandler decides which scheduling profiles run for a request and which of them serves it.
type ProfileHandler interface {
	// Next returns the profile to run next; ok is false when the request needs no more of them. It may read the results so
	// far from c.
	Next(c *Cycle) (profile int, ok bool)
	// Primary returns the profile whose endpoints serve the request. The others only lend a hand.
	Primary(c *Cycle) int
}

// Constructor builds a plug-in from its entry in the configuration. Mistakes go to b; what is then returned is not used.
type Constructor func(b *Builder) Plugin

// Registration binds a type name of the configuration to its constructor.
type Registration struct {
	Type string
	New  Constructor
}
