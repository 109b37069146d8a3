package deciders

import "github.com/pintle-dev/pintle/scoring"

// alwaysDisaggPDDecider gives every request a prefill stage.
//
// Source: Heimdall, always-disagg-pd-decider.
type alwaysDisaggPDDecider struct{}

// NewAlwaysDisaggPDDecider builds an always-disagg-pd-decider. It has no parameters.
func NewAlwaysDisaggPDDecider(*scoring.Builder) scoring.Plugin { return alwaysDisaggPDDecider{} }

// NeedsPrefill implements scoring.PrefillDecider.
func (alwaysDisaggPDDecider) NeedsPrefill(*scoring.Cycle, *scoring.Endpoint) bool { return true }
