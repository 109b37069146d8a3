package parsers

import "github.com/pintle-dev/pintle/scoring"

// vllmhttpParser reads the requests of vLLM's own API with token ids: /inference/v1/generate.
//
// Source: llm-d, vllmhttp-parser.
type vllmhttpParser struct{ suffixes }

// NewVllmhttpParser builds a vllmhttp-parser. It has no parameters.
func NewVllmhttpParser(*scoring.Builder) scoring.Plugin {
	return vllmhttpParser{suffixes{"/inference/v1/generate"}}
}
