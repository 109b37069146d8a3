// Package state holds what decisions need to know of earlier requests: leases in flight, an approximate prefix index,
// the order of cold uses, latencies, failures and token counts of every endpoint, and what each user was served. All of
// it is fed by journal events, so that every worker that applies the same events arrives at the same state.
//
// # Use
//
// A State belongs to one worker. Nothing in this package may be called by two goroutines at once. Call SetEndpoints
// when the pool changes, Expire with the time before events are applied and decisions made, then Apply for each event.
//
// Large tables lie in chunks of memory without pointers, which a garbage collector need not look into. They grow by a
// chunk and by one hash bucket at a time and never shrink; once they have grown nothing is allocated.
//
// # Time
//
// Every part goes by a clock of its own, to which State.Expire tells the host's. It never runs backwards: when the
// host's clock is set back, what was known keeps its age and fades on. An event from the future counts as of now. Times
// that callers pass are the host's.
//
// # What workers agree on
//
// Two States that were given the same calls in the same order answer alike, whatever their Seeds. The journal is one
// sequence for all workers, so between two workers only the moments differ at which Expire and SetEndpoints come in
// between, and events that one of them missed. If events of several writers are applied in another order, too, then:
//   - InFlight is equal once the same events have been applied, unless the table of leases was full in between. At
//     rest it is 0 in all. OpenSince is equal as long as an endpoint has no more than RecentTimes requests in flight.
//   - Latency windows go by the time of the event, not by its arrival, and are equal but for which of the samples of
//     one time was dropped from a full window.
//   - Shares of failures and busy shares fade by the time of the event, but differ a little by what came first, as do
//     speeds and lengths that are learnt.
//   - The prefix index may differ in blocks at the end of a full LRU: at most those of the prompts that one has
//     seen and the other has not, and of prompts that arrived in another order.
//   - Users' totals go by the time of the event and are equal, but for users that were pushed out of a full table.
//   - Endpoints may stand in another order in the cold LRU when their last cold uses were applied in another order.
//
// A worker to which an endpoint was still unknown when an event was applied lacks that event's part in it: a request in
// flight until it ends, the blocks of a prompt until they are sent there again, a sample. So look for a new pool before
// an event of which Knows says no. Indexes may differ between workers; which of several endpoints with equally many
// blocks pays when the prefix index is full goes by index.
//
// An event that was missed leaves a lease open until it expires, or lacks in every part as above.
package state
