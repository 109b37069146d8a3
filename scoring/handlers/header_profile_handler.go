package handlers

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// headerProfileHandler runs the scheduling profile that a request header names, and no other. A configuration with one
// profile always runs that one.
//
// A name that no profile has is answered with status 429 and the reason unknown_profile.
//
// Source: llm-d, header-profile-handler. routing-strategy-handler can also mix several profiles.
type headerProfileHandler struct {
	header   scoring.HeaderKey
	fallback string
	profiles []string
	chosen   int
}

type headerProfileHandlerParameters struct {
	// HeaderName is the request header that names the profile.
	HeaderName string
	// DefaultProfile is the profile of requests without the header.
	DefaultProfile string
}

// NewHeaderProfileHandler builds a header-profile-handler.
func NewHeaderProfileHandler(b *scoring.Builder) scoring.Plugin {
	usual := headerProfileHandlerParameters{HeaderName: "EPP-Profile", DefaultProfile: "decode"}
	p := usual
	b.HeaderName("headerName", &p.HeaderName)
	b.String("defaultProfile", &p.DefaultProfile)
	p.HeaderName = cmp.Or(p.HeaderName, strings.ToLower(usual.HeaderName))
	p.DefaultProfile = cmp.Or(p.DefaultProfile, usual.DefaultProfile)
	h := &headerProfileHandler{
		header: b.RequestHeader(p.HeaderName), fallback: p.DefaultProfile, profiles: b.Profiles(),
	}
	if _, ok := h.find(p.DefaultProfile); !ok {
		b.Warn("no scheduling profile is named " + strconv.Quote(p.DefaultProfile) +
			": requests without the header are refused")
	}
	return h
}

func (h *headerProfileHandler) find(name string) (profile int, ok bool) {
	if len(h.profiles) == 1 {
		return 0, true
	}
	for i := range h.profiles {
		if h.profiles[i] == name {
			return i, true
		}
	}
	return 0, false
}

var unknownProfile = &scoring.Failure{Status: 429, Reason: "unknown_profile",
	Message: "no scheduling profile has the name that the request gives"}

// Admit implements scoring.Admitter.
func (h *headerProfileHandler) Admit(c *scoring.Cycle) *scoring.Failure {
	name := c.Request.Header(h.header)
	if name == "" {
		name = h.fallback
	}
	profile, ok := h.find(name)
	if !ok {
		return unknownProfile
	}
	h.chosen = profile
	return nil
}

// Next implements scoring.ProfileHandler.
func (h *headerProfileHandler) Next(c *scoring.Cycle) (profile int, ok bool) {
	return h.chosen, c.Result(h.chosen).State == scoring.NotRun
}

// Primary implements scoring.ProfileHandler.
func (h *headerProfileHandler) Primary(*scoring.Cycle) int { return h.chosen }
