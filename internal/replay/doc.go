// Package replay decides recorded requests again, by the code that decides in Envoy, in virtual time and before
// simulated servers: an hour of traffic takes a second or two.
//
// Requests come at the times of a trace, faster or slower by a factor. Their prompts are known by their blocks alone.
// The servers are the ones of pintle sim as arithmetic, and what their metrics say is sampled as often as the sidecar
// does. Everything else is what the filter runs: the plan, its state, and the events that it is fed.
package replay
