// Package sim is a model server without a model. It speaks the OpenAI API and behaves under load as a vLLM server
// does, so that routing can be tested, shown and measured on a laptop.
//
// A server has a number of batch slots with a first-come queue in front of them. A request takes a slot and the
// blocks of KV cache that it needs, waits for its turn to prefill (one prompt at a time), and then emits tokens at a
// pace that falls mildly as the batch grows. Prompts become pseudo tokens of four bytes; their blocks are hashed in a
// chain and kept in a prefix cache with LRU eviction, so a prompt whose head was seen before is prefilled sooner. GET
// /metrics shows all of it under vLLM's names. A client that goes away frees its slot and its blocks at once.
//
// With data-parallel ranks each has a cache of its own, and all else is of all together. With memory of the CPU blocks
// that are evicted go there, and are loaded again in no time.
//
// What is not modelled: preemption (a request reserves what its answer will need before it starts), decoding that
// slows while another prompt is prefilled, and the meaning of anything. Answers are made-up words, the same for the
// same prompt, model and seed.
//
// With PublishEvents it also publishes what its caches store and forget, as vLLM or SGLang does, with the pseudo tokens
// that POST /tokenize answers with: whoever takes those for a prompt's finds its blocks.
//
// The control surface under /sim/ is for tests: see control.go.
package sim
