package handlers

import (
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// modelProfileHandler runs one scheduling profile for each request, by the model that the server will be asked for.
//
// Source: Heimdall 0.5, schedulingProfiles of an AIGateway.
type modelProfileHandler struct {
	models   []modelProfile
	fallback int
}

type modelProfileHandlerParameters struct {
	// Models maps names of models to scheduling profiles.
	Models []strictjson.Pair
	// Default is the scheduling profile of all other models. Empty: the first one.
	Default string
}

type modelProfile struct {
	model   string
	profile int
}

// NewModelProfileHandler builds a model-profile-handler.
func NewModelProfileHandler(b *scoring.Builder) scoring.Plugin {
	h, p := &modelProfileHandler{}, modelProfileHandlerParameters{}
	b.StringMap("models", &p.Models)
	for _, pair := range p.Models {
		h.models = append(h.models, modelProfile{pair.Key, b.Profile("models."+pair.Key, pair.Value)})
	}
	b.String("default", &p.Default)
	if p.Default != "" {
		h.fallback = b.Profile("default", p.Default)
	}
	return h
}

// Next implements scoring.ProfileHandler.
func (h *modelProfileHandler) Next(c *scoring.Cycle) (profile int, ok bool) {
	profile = h.Primary(c)
	return profile, c.Result(profile).State == scoring.NotRun
}

// Primary implements scoring.ProfileHandler.
func (h *modelProfileHandler) Primary(c *scoring.Cycle) int {
	for i := range h.models {
		if h.models[i].model == c.Request.Model {
			return h.models[i].profile
		}
	}
	return h.fallback
}
