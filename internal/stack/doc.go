// Package stack runs Pintle's parts as processes of their own for the demo and the benchmarks: simulated servers, sidecars and Envoys.
//
// A Stack owns the processes that it starts and a folder for their files. Close ends the ones and removes the other; a child
// whose parent was killed is ended by the kernel where that can be had. Nothing is printed: what a process logs is in its file, and the
// end of it is in the error when the process fails.
package stack
