package scorers

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/affinity"
)

// sessionAffinityScorer prefers the endpoint that the request's session belongs to; the session stays there as long as
// other scores allow. session-affinity-filter keeps it there whatever scores say.
//
// With the strategy encoded_endpoint_header, the default, the response to a routed request carries the header
// x-session-token, which names the endpoint that served it in base64, and clients send it back. For a pod with one port
// namespace/pod and namespace/pod-rank-0 are the same, so that tokens of other endpoint pickers are valid. With
// session_id and consistent_hash clients need not change: the session is named by something that they send already, in
// a header or in the body. Agents do this: agent-identity lists their headers, and their bodies have metadata.user_id
// or prompt_cache_key.
//
// Formula: 1 for the endpoint that the session belongs to, 0 for the others.
//
// Range: 0 to 1.
//
// Missing data: without a session, or where its endpoint is no candidate, all score 0.
//
// Source: Heimdall and llm-d, session-affinity-scorer; consistent_hash and the sources in bodies are Pintle's. Each of
// llm-d's replicas remembers sessions by itself; here all workers of an Envoy do so together.
type sessionAffinityScorer struct{ affinity.Pinner }

// NewSessionAffinityScorer builds a session-affinity-scorer.
func NewSessionAffinityScorer(b *scoring.Builder) scoring.Plugin {
	return sessionAffinityScorer{affinity.New(b)}
}

// Part implements scoring.Composite.
func (s sessionAffinityScorer) Part() scoring.Plugin { return s.Pinner }

// Score implements scoring.Scorer.
func (s sessionAffinityScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	if i := s.Pinned(c, candidates); i >= 0 {
		scores[i] = 1
	}
}
