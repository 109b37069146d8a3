package filters

import "github.com/pintle-dev/pintle/scoring"

// decodeFilter keeps endpoints that may decode: those whose label mif.moreh.io/role is decode or both; in llm-d's
// dialect those whose label llm-d.ai/role is decode, prefill-decode, both or encode-prefill-decode.
//
// Missing data: an endpoint without the label is kept.
//
// Source: Heimdall, decode-filter; llm-d, decode-filter.
type decodeFilter struct{ roleFilter }

// NewDecodeFilter builds a decode-filter.
func NewDecodeFilter(b *scoring.Builder) scoring.Plugin {
	return decodeFilter{newRoleFilter(b, func(d *scoring.Defaults) []string { return d.DecodeRoles }, true)}
}
