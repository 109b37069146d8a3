package state

import (
	"slices"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// Options says which parts a State has. A part that is off costs nothing. Zero values of the others stand for the
// defaults named.
type Options struct {
	// InFlight counts requests in flight. A request ends RequestTimeout after its decision, DefaultRequestTimeout, at
	// the latest. MaxLeases bounds them, DefaultLeases.
	InFlight       bool
	RequestTimeout time.Duration
	MaxLeases      int
	// Begins has answers that begin end what their prompts cost, see InFlight.EndAtBeginnings; KeepTokens has the
	// tokens stay.
	Begins, KeepTokens bool
	// Speeds learns how fast endpoints answer, see Speeds. It needs InFlight.
	Speeds bool
	// Models are the models whose requests in flight are counted, too, see WatchModel.
	Models []uint64

	// Prefix keeps the prefix index, of PrefixCapacity blocks for an endpoint, DefaultPrefixCapacity. PrefixChains is
	// in how many ways each prompt is cut, at least 1; an endpoint has room for its capacity in each.
	Prefix         bool
	PrefixCapacity int
	PrefixChains   int
	cuts           []cut
	// PrefixLimits hold if all chains are of those who ask for them, see BoundPrefix.
	PrefixLimits PrefixLimits
	// PrefixIndexes are further indexes, by the capacity of an endpoint; each learns one chain, see Prompts.Learn. With
	// them the index of all chains learns only if PrefixChains is above 0.
	PrefixIndexes []int

	// Cold keeps the order of cold uses of ColdSize endpoints, DefaultColdSize.
	Cold     bool
	ColdSize int

	// Adapters keeps which LoRA adapters endpoints were asked for last.
	Adapters bool

	// Latency and ModelLatency keep samples by endpoint and by model, until they are WindowAge old, DefaultWindowAge.
	Latency, ModelLatency bool
	WindowAge             time.Duration

	// Failures keeps the share of failures of each endpoint; FailureHalfLife is DefaultFailureHalfLife. With Stages the
	// endpoints of other stages than the one that serves count, too, which needs InFlight.
	Failures, Stages bool
	FailureHalfLife  time.Duration

	// Lengths keeps how many tokens a byte of prompt text makes, by model.
	Lengths bool

	// Outputs keeps how many tokens answers have, by model and user.
	Outputs bool

	// Usage keeps samples of the tokens of requests by endpoint, until they are WindowAge old.
	Usage bool

	// Busy keeps the share of the time in which each endpoint had requests in flight. It needs InFlight.
	Busy bool

	// Tokens keeps what each user was served within TokenWindow, DefaultTokenWindow, for TokenUsers, DefaultTokenUsers,
	// with the weights of input and output tokens as they stand. It needs InFlight, by which a completion finds its
	// decision's estimate; where RequestTimeout is less than TokenWindow, that of a longer request stays beside what
	// was served. One request adds at most TokenRequestMost to what users are compared with, 0 for any number.
	Tokens                              bool
	TokenWindow                         time.Duration
	TokenUsers                          int
	TokenInputWeight, TokenOutputWeight float64
	TokenRequestMost                    float64

	// Sessions keeps which endpoint each session is bound to, for SessionAge after its last use, DefaultSessionAge, at
	// most MaxSessions, DefaultSessions.
	Sessions    bool
	SessionAge  time.Duration
	MaxSessions int

	// Bursts keeps where the requests of a burst went; nil is off.
	Bursts *BurstOptions

	// Seed is any number that clients do not know. It may differ between workers.
	Seed uint64
}

// WatchModel has the requests in flight of a model counted and returns its place among those: its hash is that of its
// name, see journal.HashName. ok is false when there are MaxModels others.
func (o *Options) WatchModel(hash uint64) (place int, ok bool) {
	if place = slices.Index(o.Models, hash); place >= 0 {
		return place, true
	}
	if len(o.Models) == MaxModels {
		return 0, false
	}
	o.Models = append(o.Models, hash)
	return len(o.Models) - 1, true
}

// cut is a way of cutting prompts.
type cut struct {
	chain Chain
	tuned bool
}

// CutPrompts has prompts cut by a chain, which counts for PrefixChains unless it was asked for before. tuned says that
// servers tell another length of its blocks.
func (o *Options) CutPrompts(chain Chain, tuned bool) {
	if way := (cut{chain, tuned}); !slices.Contains(o.cuts, way) {
		o.cuts = append(o.cuts, way)
		o.PrefixChains++
	}
}

// State is what events tell of the endpoints. Parts that are off are nil.
type State struct {
	Endpoints Endpoints
	InFlight  *InFlight
	Prefix    *Prompts
	Cold      *ColdLRU
	Adapters  *Adapters
	Latency   *Latency
	Models    *ModelLatency
	Failures  *Failures
	Usage     *Usage
	Lengths   *Lengths
	Outputs   *Outputs
	Tokens    *Tokens
	Sessions  *Sessions
	Bursts    *Bursts

	parts []part // those that are on, as events go through them
	step  step
}

// PrefixLimits bound a prefix index: Capacity blocks for an endpoint, Entries over all, 0 is DefaultPrefixEntries, and
// Age, for which a block is kept that no prompt had, 0 is for ever. Chains is how many of Options.PrefixChains ask for
// them.
type PrefixLimits struct {
	Chains, Capacity, Entries int
	Age                       time.Duration
}

// BoundPrefix returns the limits of the prefix index: PrefixLimits, unless it is shared with chains or indexes that ask
// for none.
func (o *Options) BoundPrefix() PrefixLimits {
	if o.PrefixLimits.Chains < o.PrefixChains || len(o.PrefixIndexes) > 0 {
		return PrefixLimits{Capacity: o.PrefixCapacity}
	}
	limits := o.PrefixLimits
	limits.Capacity = max(limits.Capacity, o.PrefixCapacity)
	return limits
}

// Any reports whether a State with these options has any part.
func (o *Options) Any() bool {
	return o.InFlight || o.Prefix || o.Cold || o.Latency || o.ModelLatency || o.Failures || o.Usage || o.Tokens ||
		o.Adapters || o.Lengths || o.Outputs || o.Sessions || o.Bursts != nil
}

// New makes an empty State for an empty pool.
func New(o Options) *State {
	s := new(State)
	if o.Prefix {
		limits := o.BoundPrefix()
		s.Prefix = keep(s, NewPrompts(limits.Capacity, limits.Entries, o.PrefixChains, limits.Age, o.Seed))
		if len(o.PrefixIndexes) > 0 {
			s.Prefix.AddIndexes(o.PrefixChains > 0, o.PrefixIndexes)
		}
	}
	if o.Cold {
		s.Cold = keep(s, NewColdLRU(o.ColdSize))
	}
	if o.Adapters {
		s.Adapters = keep(s, new(Adapters))
	}
	if o.Latency {
		s.Latency = keep(s, NewLatency(o.WindowAge))
	}
	if o.ModelLatency {
		s.Models = keep(s, NewModelLatency(o.WindowAge))
	}
	if o.Failures {
		s.Failures = keep(s, NewFailures(o.FailureHalfLife))
		s.Failures.stages = o.Stages && o.InFlight
	}
	if o.Usage {
		s.Usage = keep(s, NewUsage(o.WindowAge))
	}
	if o.Sessions {
		s.Sessions = keep(s, NewSessions(o.SessionAge, o.MaxSessions, o.Seed))
	}
	if o.Bursts != nil {
		s.Bursts = keep(s, NewBursts(*o.Bursts))
	}
	if o.Lengths {
		s.Lengths = keep(s, new(Lengths))
	}
	if o.Outputs {
		s.Outputs = keep(s, newOutputs())
	}
	if o.Tokens {
		s.Tokens = keep(s, NewTokens(o.TokenWindow, o.TokenUsers, o.TokenInputWeight, o.TokenOutputWeight, o.Seed))
		if o.TokenRequestMost > 0 {
			s.Tokens.BoundRequest(o.TokenRequestMost)
		}
	}
	// The last one: the others look up what was decided before a completion ends it.
	if o.InFlight {
		s.InFlight = keep(s, NewInFlight(o.RequestTimeout, o.MaxLeases, o.Seed))
		s.InFlight.Watch(o.Models)
		if o.Busy {
			s.InFlight.TrackBusy()
		}
		if o.Begins {
			s.InFlight.EndAtBeginnings(o.KeepTokens)
		}
		if o.Speeds {
			s.InFlight.speeds = newSpeeds()
		}
	}
	s.step.endpoints, s.step.leases = &s.Endpoints, s.InFlight
	return s
}

func keep[P part](s *State, p P) P {
	s.parts = append(s.parts, p)
	return p
}

// SetEndpoints makes the pool consist of ids (see journal.Event). Endpoints that stay keep their indexes and state;
// that of those that left is gone.
func (s *State) SetEndpoints(ids []uint64) {
	left := s.Endpoints.Set(ids)
	for _, p := range s.parts {
		for _, index := range left {
			p.Reset(int(index))
		}
		p.Resize(s.Endpoints.Len())
	}
}

// Apply applies one event, of which nothing is kept. Endpoints that are not in the pool are passed over. Each event is
// to be applied once, those of one writer in its order. Kinds that change nothing here are passed over. A completion
// must name its primary endpoint and its model for the samples to count.
func (s *State) Apply(e *journal.Event) {
	at := &s.step
	at.Event = e
	at.primary, at.prefill, at.tried = s.Endpoints.Index(e.Primary), s.Endpoints.Index(e.Prefill),
		s.Endpoints.Index(e.Tried)
	for _, p := range s.parts {
		p.apply(at)
	}
	at.Event = nil
}

// Knows reports whether all endpoints at which an event has requests are in the pool.
func (s *State) Knows(e *journal.Event) bool {
	for _, id := range e.Encode {
		if s.Endpoints.Index(id) < 0 {
			return false
		}
	}
	return (e.Primary == 0 || s.Endpoints.Index(e.Primary) >= 0) &&
		(e.Prefill == 0 || s.Endpoints.Index(e.Prefill) >= 0)
}

// Expire sets the clock to now, nanoseconds since 1970, and ends what is too old. It is cheap when nothing is: call it
// before each round of events and decisions.
func (s *State) Expire(now int64) {
	for _, p := range s.parts {
		p.Expire(now)
	}
}

// MemoryBytes is the memory that the parts hold, but for some bytes per endpoint.
func (s *State) MemoryBytes() int {
	n := 0
	for _, p := range s.parts {
		n += p.MemoryBytes()
	}
	return n
}
