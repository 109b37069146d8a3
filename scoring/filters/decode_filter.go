package filters

import "github.com/pintle-dev/pintle/scoring"

// roleLabel is the label that tells what part of disaggregated inference a server does.
const roleLabel = "mif.moreh.io/role"

// decodeFilter keeps endpoints that may decode: those whose label mif.moreh.io/role is decode or both.
//
// Missing data: an endpoint without the label is kept.
//
// Source: Heimdall, decode-filter.
type decodeFilter struct{}

// NewDecodeFilter builds a decode-filter. It has no parameters.
func NewDecodeFilter(*scoring.Builder) scoring.Plugin { return decodeFilter{} }

// Keep implements scoring.Filter.
func (decodeFilter) Keep(_ *scoring.Cycle, e *scoring.Endpoint) bool {
	role, ok := e.Label(roleLabel)
	return !ok || role == "decode" || role == "both"
}
