package parsers

import "github.com/pintle-dev/pintle/scoring"

// anthropicParser reads the requests of Anthropic's API: messages, and the count of their tokens.
//
// Source: llm-d, anthropic-parser.
type anthropicParser struct{ suffixes }

// NewAnthropicParser builds an anthropic-parser. It has no parameters.
func NewAnthropicParser(*scoring.Builder) scoring.Plugin {
	return anthropicParser{suffixes{"/messages", "/messages/count_tokens"}}
}
