package producers

import (
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// agentIdentity recognises sessions by the headers that coding agents and their gateways send: the first one that is
// not empty of additionalSessionHeaders, x-claude-code-session-id, x-session-affinity, session-id, session_id. A source
// of session-affinity-scorer and -filter uses it by attribute: agent-identity.
//
// Source: llm-d, agent-identity. There it also names the flow of requests that are queued.
type agentIdentity struct{ headers []scoring.HeaderKey }

type agentIdentityParameters struct {
	// AdditionalSessionHeaders are headers that are looked at before the others.
	AdditionalSessionHeaders []string
}

var agentHeaders = []string{"x-claude-code-session-id", "x-session-affinity", "session-id", "session_id"}

// NewAgentIdentity builds an agent-identity.
func NewAgentIdentity(b *scoring.Builder) scoring.Plugin {
	p := agentIdentityParameters{}
	b.HeaderNames("additionalSessionHeaders", &p.AdditionalSessionHeaders)
	a := agentIdentity{}
	for _, name := range append(p.AdditionalSessionHeaders, agentHeaders...) {
		a.headers = append(a.headers, b.RequestHeader(name))
	}
	return a
}

// Session implements affinity.Source.
func (a agentIdentity) Session(c *scoring.Cycle) string {
	for _, key := range a.headers {
		if value := strings.TrimSpace(c.Request.Header(key)); value != "" {
			return value
		}
	}
	return ""
}

// Attribute implements affinity.Source.
func (agentIdentity) Attribute() string { return "agent-identity" }
