package filters

import "github.com/pintle-dev/pintle/scoring"

// decodeFilter keeps endpoints that may decode: those whose label mif.moreh.io/role is decode or both. With roles:
// llm-d, those whose label llm-d.ai/role is decode, prefill-decode, both or encode-prefill-decode.
//
// Missing data: an endpoint without the label is kept.
//
// Source: Heimdall, decode-filter; llm-d, decode-filter.
type decodeFilter struct{ roleFilter }

// NewDecodeFilter builds a decode-filter.
func NewDecodeFilter(b *scoring.Builder) scoring.Plugin {
	heimdall := []string{"decode", "both"}
	llmD := []string{"decode", "prefill-decode", "both", "encode-prefill-decode"}
	return decodeFilter{newRoleFilter(b, heimdall, llmD, true)}
}
