// Command attack plays one hostile client or server against Pintle and measures what everybody else notices.
//
// Each attack runs against Envoys of its own with the configuration of envoy.yaml, four simulated servers and a
// sidecar; or, with -demo, against what `make demo KEEP=1` started. Well-behaved clients send the same load before,
// during and after it. The attacker has at most a tenth of what the servers can do. A line of the table says what was
// tried and what the others noticed; the command fails when that is more than the bars allow. Everything stays on the
// loopback and is bounded in time, connections and bytes.
package main
