package scorers

import (
	"encoding/base64"
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// sessionAffinityScorer prefers the endpoint that served the session before. The response to a routed request carries
// the header x-session-token, which names that endpoint; a client that sends it back stays there as long as other
// scores allow.
//
// Formula: 1 for the endpoint whose name the token holds, in base64; 0 for the others. Of a pod with one port
// namespace/pod and namespace/pod-rank-0 are the same, so that tokens of other endpoint pickers hold.
//
// Range: 0 to 1.
//
// Missing data: without a token, or with one that names no candidate, all score 0.
//
// Source: Heimdall, session-affinity-scorer.
type sessionAffinityScorer struct {
	header  scoring.HeaderKey
	scratch []byte
}

// headerSession carries the token both ways.
const headerSession = "x-session-token"

// firstRank ends the name of a pod's first endpoint where pods have several, and with some endpoint pickers where they
// have one.
const firstRank = "-rank-0"

// longestToken bounds the tokens that are decoded; names of endpoints are far shorter.
const longestToken = 1024

// NewSessionAffinityScorer builds a session-affinity-scorer. It has no parameters.
func NewSessionAffinityScorer(b *scoring.Builder) scoring.Plugin {
	return &sessionAffinityScorer{header: b.RequestHeader(headerSession), scratch: make([]byte, longestToken)}
}

// Score implements scoring.Scorer.
func (s *sessionAffinityScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	token := c.Request.Header(s.header)
	if token == "" || len(token) > longestToken {
		return
	}
	encoded := append(s.scratch[:0], token...)
	n, err := base64.StdEncoding.Decode(encoded, encoded)
	if err != nil {
		return
	}
	name := encoded[:n]
	for i, e := range candidates {
		if e.Name == string(name) {
			scores[i] = 1
			return
		}
	}
	if end := len(name) - len(firstRank); end >= 0 && string(name[end:]) == firstRank {
		name = name[:end]
	}
	for i, e := range candidates {
		if strings.TrimSuffix(e.Name, firstRank) == string(name) {
			scores[i] = 1
			return
		}
	}
}

// OnResponse implements scoring.ResponseHook.
func (s *sessionAffinityScorer) OnResponse(o *scoring.Outcome, headers scoring.HeaderSetter) {
	s.scratch = base64.StdEncoding.AppendEncode(s.scratch[:0], []byte(o.Served.Name))
	headers.SetHeader(headerSession, s.scratch)
}
