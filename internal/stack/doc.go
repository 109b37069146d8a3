// Package stack runs Pintle's parts as processes of their own for the demo, the benchmarks and the tests in real Envoy:
// simulated servers, sidecars and Envoys. It has the one template of Envoy's configuration that they share.
//
// A Stack owns the processes that it starts and a folder for their files. Close ends the ones and removes the other; a
// child whose parent was killed is ended by the kernel where that can be had. Nothing is printed: the end of what a
// process logs is kept, and is in the error when the process fails.
package stack
