package handlers

import (
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
)

// singleProfileHandler runs the only scheduling profile; its endpoints serve the request. A configuration with one
// profile and no handler gets it without declaring it.
//
// Source: Heimdall and the Gateway API Inference Extension, single-profile-handler.
type singleProfileHandler struct{}

// NewSingleProfileHandler builds a single-profile-handler. It has no parameters.
func NewSingleProfileHandler(b *scoring.Builder) scoring.Plugin {
	if n := len(b.Profiles()); n != 1 {
		b.Mistake("", "single-profile-handler runs one scheduling profile, but there are "+strconv.Itoa(n))
	}
	return singleProfileHandler{}
}

// Next implements scoring.ProfileHandler.
func (singleProfileHandler) Next(c *scoring.Cycle) (profile int, ok bool) {
	return 0, c.Result(0).State == scoring.NotRun
}

// Primary implements scoring.ProfileHandler.
func (singleProfileHandler) Primary(*scoring.Cycle) int { return 0 }
