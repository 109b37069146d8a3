// Package load sends chat requests to a gateway and measures what a client feels: time to first token, time per output
// token, whole latency, and which server answered.
//
// A run is open-loop, with requests arriving at a rate whether or not earlier ones have been answered, or closed-loop,
// with a number of workers that each wait for their answer. Requests are built before the run, so that sending them
// costs little.
package load
