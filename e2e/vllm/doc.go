// Package vllm tests Pintle in front of real vLLM servers: two engines on this machine's processors, whose model is
// small and random and whose API, scheduler, prefix cache and metrics are vLLM's own. Run it with make e2e-vllm, on
// Linux on x86-64 with 8 GB of memory to spare.
//
// The engines start with the first test and serve all of them, as a start takes the better part of a minute.
// PINTLE_VLLM=host:port,host:port tests with engines that run already, started as engine_test.go does; tests that end
// an engine are then skipped.
package vllm
