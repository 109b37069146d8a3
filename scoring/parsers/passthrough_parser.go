package parsers

import "github.com/pintle-dev/pintle/scoring"

// passthroughParser takes every request that no other parser in the list takes; its body is passed on.
//
// Source: llm-d, passthrough-parser. There such a request has no model and no tokens; here what is known for its path
// is read.
type passthroughParser struct{}

// NewPassthroughParser builds a passthrough-parser. It has no parameters.
func NewPassthroughParser(*scoring.Builder) scoring.Plugin { return passthroughParser{} }

// Claims implements scoring.Parser.
func (passthroughParser) Claims(string) bool { return true }
