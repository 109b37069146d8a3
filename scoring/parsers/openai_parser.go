package parsers

import "github.com/pintle-dev/pintle/scoring"

// openaiParser reads the requests of OpenAI's API: chat completions, completions, embeddings, responses,
// conversations and images.
//
// Source: llm-d, openai-parser.
type openaiParser struct{ suffixes }

// NewOpenAIParser builds an openai-parser. It has no parameters.
func NewOpenAIParser(*scoring.Builder) scoring.Plugin {
	return openaiParser{suffixes{
		"/chat/completions", "/completions", "/embeddings", "/responses", "/conversations", "/images/generations",
		"/chat/completions/render", "/completions/render",
	}}
}
