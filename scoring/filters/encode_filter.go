package filters

import "github.com/pintle-dev/pintle/scoring"

// encodeFilter keeps endpoints that may encode: those whose label mif.moreh.io/role is encode, encode-prefill or
// encode-prefill-decode; in llm-d's dialect the same roles of the label llm-d.ai/role.
//
// Missing data: an endpoint without the label is removed.
//
// Source: Heimdall, encode-filter; llm-d, encode-filter.
type encodeFilter struct{ roleFilter }

// NewEncodeFilter builds an encode-filter.
func NewEncodeFilter(b *scoring.Builder) scoring.Plugin {
	return encodeFilter{newRoleFilter(b, func(d *scoring.Defaults) []string { return d.EncodeRoles }, false)}
}
