package filters

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/affinity"
)

// sessionAffinityFilter keeps only the endpoint that the request's session belongs to. session-affinity-scorer says how
// sessions are recognised; the two have the same parameters.
//
// Missing data: without a session, or where its endpoint is no candidate, all endpoints are kept. One that fails is
// none while another one does not, see failing.policy.
//
// Source: llm-d, session-affinity-filter; consistent_hash and the sources in bodies are Pintle's.
type sessionAffinityFilter struct{ affinity.Pinner }

// NewSessionAffinityFilter builds a session-affinity-filter.
func NewSessionAffinityFilter(b *scoring.Builder) scoring.Plugin {
	return sessionAffinityFilter{affinity.New(b)}
}

// Part implements scoring.Composite.
func (f sessionAffinityFilter) Part() scoring.Plugin { return f.Pinner }

// Prefers implements scoring.Preference.
func (sessionAffinityFilter) Prefers() bool { return true }

// Select implements scoring.GroupFilter.
func (f sessionAffinityFilter) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	i := f.Pinned(c, candidates)
	if i < 0 {
		return 0
	}
	candidates[0], candidates[i] = candidates[i], candidates[0]
	return 1
}
