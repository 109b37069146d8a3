// Package kvcache holds the keys of blocks and the scores of exact prefix caches against those of llm-d's own library,
// github.com/llm-d/llm-d-kv-cache: both are told the same events, byte for byte, and are asked for the same prompts.
//
// What differs on purpose is in TestDifferences, each with what either says.
package kvcache
