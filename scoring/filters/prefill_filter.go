package filters

import "github.com/pintle-dev/pintle/scoring"

// prefillFilter keeps endpoints that may prefill: those whose label mif.moreh.io/role is prefill; in llm-d's
// dialect those whose label llm-d.ai/role is prefill, encode-prefill, prefill-decode, both or encode-prefill-decode.
//
// Missing data: an endpoint without the label is removed.
//
// Source: Heimdall, prefill-filter; llm-d, prefill-filter.
type prefillFilter struct{ roleFilter }

// NewPrefillFilter builds a prefill-filter.
func NewPrefillFilter(b *scoring.Builder) scoring.Plugin {
	return prefillFilter{newRoleFilter(b, func(d *scoring.Defaults) []string { return d.PrefillRoles }, false)}
}
