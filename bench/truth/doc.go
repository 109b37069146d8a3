// Command truth compares pintle replay with what it stands for: a piece of a trace goes through real Envoy, with a real
// sidecar, to simulated servers that run faster than real ones, and the same piece through the replay. It fails when
// the part of prompts found in caches differs by more than 2 points, or the time to first token, p50 or p90, by more
// than 15 %.
//
// All times are in the servers' own seconds: what Envoy, the sidecar and the client need counts so many times more as
// the servers are faster.
package main
