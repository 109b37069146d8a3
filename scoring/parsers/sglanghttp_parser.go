package parsers

import "github.com/pintle-dev/pintle/scoring"

// sglanghttpParser reads the requests of SGLang's own API: /generate.
//
// Source: llm-d, sglanghttp-parser.
type sglanghttpParser struct{}

// NewSglanghttpParser builds a sglanghttp-parser. It has no parameters.
func NewSglanghttpParser(*scoring.Builder) scoring.Plugin { return sglanghttpParser{} }

// Claims implements scoring.Parser.
func (sglanghttpParser) Claims(path string) bool { return path == "/generate" }
