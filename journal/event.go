// Package journal is the log by which all Envoy workers decide on one state. Every worker appends what it decides and what
// comes of it, and applies what is new before it decides.
//
// It is one log for all workers, in the data that they share, in one order: who has read as far as another has read the same
// events in the same sequence, the own ones included, and so holds the same state. FORMAT.md beside this file gives the layout
// byte by byte and says why no worker can lose, repeat or tear another's event.
//
// The log takes a fixed amount of memory for ever, see MemoryBound: it forgets its oldest events. A reader that falls so far
// behind that it misses some is told how many.
package journal

// Kind tells events apart.
type Kind uint8

// The kinds of events.
const (
	// Decision is a request that was routed. It opens a lease.
	Decision Kind = 1
	// Completion is the end of a routed request, however it ended. It closes the lease.
	Completion Kind = 2
	// Gone tells that Instance has not been heard of although it has leases open. They are closed: no completion of theirs will
	// count. The journal appends it; should the instance live after all, it reads the same verdict on itself.
	Gone Kind = 3
	// Alive tells that Instance still works on its leases. The journal appends it and keeps it to itself.
	Alive Kind = 4
	// Missed tells a reader that it fell behind and Event.Missed events are lost to it, decisions and completions alike. It
	// is not in the log.
	Missed Kind = 5
)

// Event is one entry of the log. Slices of an event that was read alias the reader's memory and are valid until the next one
// is read.
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
	// Tried is, in a completion, the endpoint that was decided on and could not serve, so that Primary did; 0 when nothing
	// was retried. It shares its place in the encoding with Prefill, which only decisions have.
	Tried uint64
	// Model and User are hashes of names, 0 for none, see HashName.
	Model, User uint64
	// InputTokens and OutputTokens are estimates in a decision, what the server reported in a completion; of a stream without a report
	// OutputTokens is the number of its events. CachedTokens is reported. 0 is unknown.
	InputTokens, OutputTokens, CachedTokens uint32
	// Cold is a decision for a prompt of which no endpoint had a prefix.
	Cold bool
	// Blocks are the chained hashes of the prompt's blocks, first block first, in a decision.
	Blocks []uint64

	// Status is the HTTP status of a completion that the endpoint answered or is to blame for: 502 also stands for an answer that
	// broke off. 0 is unknown: the client left before an answer came.
	Status uint16
	// TTFTMicros is the time from decision to the first byte of the response body, DurationMicros that to its end; 0 is unknown.
	TTFTMicros, DurationMicros uint32

	// Missed is how many events a Missed stands for.
	Missed uint64
}
