// Command routing measures what routing by known prefixes gains: groups of users with long system prompts in common
// send at rising rates to simulated model servers, once through the shipped configuration, and through random choice
// and least-request beside it.
//
// Each side has an Envoy, a sidecar and servers of its own, so that the others do not warm its caches. The sides take
// turns at each rate, so that a machine that becomes slower strikes all of them. Servers run faster than real ones, and
// all times are given in the servers' own seconds: what Envoy, the sidecar and the client need counts that many times
// more.
package main
