package handlers

import (
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
)

// pairedProfileHandler runs disaggregated inference for every request: the decode profile, whose endpoint serves the
// request, and the prefill profile, whose endpoint a disagg-headers-handler names to the decode server. When only one
// of the profiles finds an endpoint, that endpoint serves the request alone; so does decode's while all that prefill
// finds fail, see failing.policy.
//
// A request whose prompt is not known has no prefill stage.
//
// Source: Heimdall 0.5, profileHandler pd of a SchedulingProfile.
type pairedProfileHandler struct{ stages }

type pairedProfileHandlerParameters struct {
	// DecodeProfile names the scheduling profile of decode endpoints.
	DecodeProfile string
	// PrefillProfile names the scheduling profile of prefill endpoints.
	PrefillProfile string
}

// NewPairedProfileHandler builds a paired-profile-handler.
func NewPairedProfileHandler(b *scoring.Builder) scoring.Plugin {
	p := pairedProfileHandlerParameters{DecodeProfile: "decode", PrefillProfile: "prefill"}
	b.String("decodeProfile", &p.DecodeProfile)
	b.String("prefillProfile", &p.PrefillProfile)
	h := &pairedProfileHandler{}
	h.decode = b.Profile("decodeProfile", p.DecodeProfile)
	h.prefill = b.Profile("prefillProfile", p.PrefillProfile)
	if p.PrefillProfile == p.DecodeProfile {
		b.Mistake("prefillProfile", strconv.Quote(p.PrefillProfile)+
			" is the decode profile; prefill needs one of its own")
	}
	return h
}

// Next implements scoring.ProfileHandler.
func (h *pairedProfileHandler) Next(c *scoring.Cycle) (profile int, ok bool) {
	decode, prefill := c.Result(h.decode), c.Result(h.prefill)
	switch {
	case decode.State == scoring.NotRun:
		return h.decode, true
	case prefill.State == scoring.NotRun && (decode.State != scoring.Picked || c.Request.HasPrompt()):
		return h.prefill, true
	case decode.State == scoring.Failed && prefill.State == scoring.Picked:
		*decode, *prefill = *prefill, *decode
	}
	return 0, false
}

// Primary implements scoring.ProfileHandler.
func (h *pairedProfileHandler) Primary(*scoring.Cycle) int { return h.decode }

// PrefillProfile implements scoring.Disaggregator.
func (h *pairedProfileHandler) PrefillProfile() (profile int, ok bool) { return h.prefill, true }
