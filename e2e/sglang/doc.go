// Package sglang tests Pintle in front of a real SGLang server: an engine on this machine's processors, whose model is
// small and random, whose kernels are torch's, and whose API, scheduler, prefix cache, KV events and metrics are
// SGLang's own. Run it with make e2e-sglang, on Linux on x86-64 with 4 GB of memory to spare.
//
// The engine starts with the first test and serves all of them, as a start takes the better part of a minute.
package sglang
