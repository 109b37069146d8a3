// Package journal is the log by which all Envoy workers decide on one state. Every worker appends what it decides and
// what comes of it, and applies what is new before it decides.
//
// It is one log for all workers, in the data that they share, in one order: who has read as far as another has read the
// same events in the same sequence, the own ones included, and so holds the same state. FORMAT.md beside this file
// gives the layout byte by byte and says why no worker can lose, repeat or tear another's event.
//
// The log takes a fixed amount of memory for ever, a page for each slot and one more: it forgets its oldest events. A
// reader that falls so far behind that it misses some is told how many.
package journal

// Kind tells events apart.
type Kind uint8

// The kinds of events.
const (
	// Decision is a request that was routed. It opens a lease.
	Decision Kind = 1
	// Completion is the end of a routed request, however it ended. It closes the lease.
	Completion Kind = 2
	// Gone tells that Instance has not been heard of although it has leases open. They are closed: no completion of
	// theirs will count. The journal appends it; should the instance live after all, it reads the same verdict on
	// itself.
	Gone Kind = 3
	// Alive tells that Instance still works on its leases. The journal appends it and keeps it to itself.
	Alive Kind = 4
	// Began tells that the endpoint of an open lease has begun to answer a request that asked for a stream. The lease
	// stays open. It says what a Completion says of the answer's beginning: Primary, Tried, Model, Status, TTFTMicros.
	Began Kind = 5
	// Refused is a request that was not routed: it has no lease and no endpoint. Reason says why, Code what the client
	// was answered.
	Refused Kind = 6
	// Held tells what Primary has in its cache, as it says itself: of the prompt of Chains the first Held blocks, and
	// not those behind them; without Chains it has forgotten everything. It is relayed, see AnyMark, and has no lease.
	Held Kind = 7
	// Missed tells a reader that it fell behind and Event.Missed events are lost to it, decisions and completions
	// alike. It is not in the log.
	Missed Kind = 255
)

// relayable reports whether events of the kind are of use to other processes.
func (k Kind) relayable() bool { return k.delivered() && k != Refused || k == Alive }

// delivered reports whether readers get events of the kind: Alive is the journal's own, others are of a later version.
func (k Kind) delivered() bool {
	return k == Decision || k == Completion || k == Gone || k == Began || k == Refused || k == Held
}

// Ending is what ended a routed request.
type Ending uint8

// The endings. A reader that meets a number that it does not know has met one of a later version, and treats it as
// EndedUnknown.
const (
	// EndedUnknown: nobody looked, or a VM of an earlier version wrote the event.
	EndedUnknown Ending = iota
	// EndedWhole: the answer came to its end, whatever its status.
	EndedWhole
	// EndedUnreached: Envoy answered in the endpoint's place, as no connection or no answer's beginning was to be had
	// of it.
	EndedUnreached
	// EndedReset: the endpoint broke its answer off.
	EndedReset
	// EndedTimeout: Envoy gave the endpoint up for taking too long, also after its answer began.
	EndedTimeout
	// EndedClient: the client left before the end.
	EndedClient
	// EndedEnvoy: Envoy ended it for a reason that says nothing of the endpoint, such as a limit of its own.
	EndedEnvoy
)

// Chain is the chained hashes of a prompt's blocks, first block first, for one way of cutting and hashing prompts.
type Chain struct {
	// ID tells ways of hashing apart: hashes are comparable with those of the same ID.
	ID uint64
	// Blocks are the hashes.
	Blocks []uint64
}

// Session is a client's session, by the hash of its name, and the endpoint that it is bound to.
type Session struct{ ID, Endpoint uint64 }

// Shadowed is what a plan that does not act made of a request, beside what the one that acts made of it.
type Shadowed struct {
	// Decided is set when there is such a plan.
	Decided bool
	// Primary is where it would have sent the request, 0 where it would have refused it.
	Primary uint64
	// Cached is how many tokens of the prompt Primary was thought to have in its cache, Load how many requests waited
	// or ran there. ActingCached and ActingLoad are the same of the decision's own Primary. All are 0 where one of the
	// two refused.
	Cached, ActingCached, Load, ActingLoad uint32
}

// Event is one entry of the log. Slices of an event that was read alias the reader's memory and are valid until the
// next one is read.
type Event struct {
	Kind Kind
	// Time is when it happened, nanoseconds since 1970.
	Time int64
	// Instance is the writer, a random number for each VM; in a Gone it is the instance that is gone. Lease numbers the
	// writer's decisions; a completion names the decision that it ends.
	Instance uint64
	Lease    uint32

	// Primary serves the request. Prefill is the endpoint of the prefill stage, 0 for none, Encode those of the encode
	// stage. All are IDs of endpoints, see EndpointID.
	Primary, Prefill uint64
	Encode           []uint64
	// Tried is, in a completion, the endpoint that was decided on and could not serve, so that Primary did; 0 when
	// nothing was retried. It shares its place in the encoding with Prefill, which only decisions have.
	Tried uint64
	// Model and User are hashes of names, 0 for none, see HashName. Client is the hash of the client's address without
	// its port, 0 for unknown.
	Model, User, Client uint64
	// Fairness is the hash of the name by which flow control would share servers out, 0 for none; Priority is that of
	// the request's objective. In decisions, completions and refusals.
	Fairness uint64
	Priority int32
	// Asked is the model that the client asked for, which a rewrite may have made another; Profile the profile that
	// chose Primary; Reason, of a Refused alone, why there is no Primary. All are hashes of names. Profile and Reason
	// share their place in the encoding.
	Asked, Profile, Reason uint64
	// InputTokens and OutputTokens are estimates in a decision, what the server reported in a completion; of a stream
	// without a report OutputTokens is the number of its events. CachedTokens is reported. 0 is unknown.
	InputTokens, OutputTokens, CachedTokens uint32
	// Held is how many of the blocks of Chains are there, in a Held. It shares its place in the encoding with
	// InputTokens.
	Held uint32
	// UsageReported is set in a completion whose InputTokens and OutputTokens the server reported, CachedReported when
	// it also reported CachedTokens, which then may be 0.
	UsageReported, CachedReported bool
	// PromptBytes is how long the text of the prompt was, in a decision and in a completion whose InputTokens are
	// reported; 0 is unknown, or more than text.
	PromptBytes uint32
	// PredictedTokens is how many tokens of the prompt Primary was thought to have in its cache when it was decided on,
	// in a decision and in its completion; Predicted is set when anybody thought about it.
	PredictedTokens uint32
	Predicted       bool
	// PrimaryLoad, PrefillLoad and EncodeLoad are, in a decision, the tokens that the primary endpoint, that of the
	// prefill stage and each of the encode stage have to compute, as far as is thought; 0 is unknown or none.
	PrimaryLoad, PrefillLoad, EncodeLoad uint32
	// Cold is a decision for a prompt of which no endpoint had a prefix.
	Cold bool
	// Streamed is a request that asked for its answer as a stream, in decisions and completions.
	Streamed bool
	// Shadow are the chains that a shadow's plug-ins asked for in a decision, see Chains. One without blocks is the one
	// of Chains with its ID.
	Shadow []Chain
	// Shadowed is what a shadow made of the request, in a decision or a refusal.
	Shadowed Shadowed
	// Chains are the prompt's blocks in a decision, once for each way of hashing that a plug-in of the decision used.
	// Of several with one ID the first counts.
	Chains []Chain

	// Sessions are, in a decision, the sessions that the request belongs to.
	Sessions []Session

	// Status is the HTTP status of a completion that the endpoint answered or is to blame for: 502 also stands for an
	// answer that broke off. 0 is unknown: the client left before an answer came.
	Status uint16
	// Code is the HTTP status that the client got, whoever gave it; 0 when it left before.
	Code uint16
	// Ended is what ended the request, in a completion.
	Ended Ending
	// TTFTMicros is the time from decision to the first byte of the response body, never 0 when that was seen;
	// DurationMicros is that to the end. 0 is unknown.
	TTFTMicros, DurationMicros uint32

	// Relayed is an event of another process's VM, see Relay. Who follows this process's requests passes it over.
	Relayed bool

	// Steps are how a decision came about, see Steps; in a decision or in what became of it, or of a refusal. Empty
	// when nobody wants to know. Of steps for which there is no room the beginning counts.
	Steps []byte

	// Missed is how many events a Missed stands for.
	Missed uint64
}
