// Package affinity is what session-affinity-scorer and -filter have in common: to tell sessions, and the endpoints that
// they belong to.
package affinity

import (
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/rendezvous"
)

// Pinner knows where the session of a request belongs.
type Pinner interface {
	// Pinned returns the place among candidates of the endpoint that the request's session belongs to, -1 for none.
	Pinned(c *scoring.Cycle, candidates []*scoring.Endpoint) int
}

// AffinityParameters are those of both plug-ins.
type AffinityParameters struct {
	// Strategy is encoded_endpoint_header: each answer names its endpoint in a header, and clients send that back.
	// session_id: the endpoint that a session was first sent to. consistent_hash: the endpoint to which the session's
	// hash is mapped, which needs no memory and changes only with the endpoints.
	Strategy string
	// HeaderName is the header of encoded_endpoint_header, as older documents give it.
	HeaderName string
	// EncodedEndpointHeaderConfig has the header of encoded_endpoint_header: header, by default x-session-token.
	EncodedEndpointHeaderConfig struct{}
	// SessionIDConfig has sources, by default the header x-session-id: the first one that is not empty names the
	// session. Each is one of header; body, a key of the body that holds no prompt and no setting, such as
	// prompt_cache_key, conversation, user, cache_salt, model or metadata.user_id (previous_response_id differs in each
	// turn); attribute, SessionID (or SessionIDDataKey) or agent-identity, with the producer's name if that is not its
	// type. evictionTtlSeconds is how long an unused session is remembered, by default and with 0 300.
	// evictionSweepSeconds has no effect.
	SessionIDConfig struct{}
	// ProfileName names the profile whose endpoint the session stays with; a request for which it does not run leaves
	// the session as it is. Empty: the one that serves the request.
	ProfileName string
}

const (
	strategyHeader  = "encoded_endpoint_header"
	strategySession = "session_id"
	strategyHash    = "consistent_hash"
)

// New reads the parameters.
func New(b *scoring.Builder) Pinner {
	p := AffinityParameters{Strategy: strategyHeader}
	b.OneOf("strategy", &p.Strategy, strategyHeader, strategySession, strategyHash)
	b.HeaderName("headerName", &p.HeaderName)
	encoded := b.Object.Object("encodedEndpointHeaderConfig")
	session := b.Object.Object("sessionIdConfig")
	b.String("profileName", &p.ProfileName)
	profile := -1
	if p.ProfileName != "" {
		profile = b.Profile("profileName", p.ProfileName)
	}
	t := newToken(b, p.HeaderName, encoded, profile)
	s := newSessions(b, session, p.Strategy == strategySession, profile)
	p.warn(b, session)
	switch p.Strategy {
	case strategySession:
		return &bound{sessions: s}
	case strategyHash:
		return &hashed{s}
	}
	return t
}

// warn tells the operator of what the strategy does not go by.
func (p *AffinityParameters) warn(b *scoring.Builder, session *strictjson.Object) {
	const noEffect = " has no effect with strategy: "
	if p.Strategy == strategyHeader {
		if session.Present() {
			b.Warn("sessionIdConfig" + noEffect + p.Strategy)
		}
		return
	}
	for _, key := range [...]string{"headerName", "encodedEndpointHeaderConfig"} {
		if b.Has(key) {
			b.Warn(key + noEffect + p.Strategy)
		}
	}
	if p.Strategy == strategyHash && session.Has("evictionTtlSeconds") {
		b.Warn("sessionIdConfig.evictionTtlSeconds" + noEffect + p.Strategy)
	}
}

// bound are sessions that stay where they were first sent to, until that is no candidate any more.
type bound struct {
	*sessions
	// gone is the session whose endpoint the candidates lacked last, 0 for none: who was refused moves nobody else.
	gone uint64
}

// Pinned implements Pinner.
func (s *bound) Pinned(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	id := s.id(c)
	if id == 0 {
		return -1
	}
	index, ok := c.BoundTo(id)
	if !ok {
		return -1
	}
	for i, e := range candidates {
		if e.StateIndex == index {
			c.BindSession(id, e) // other profiles of the decision may lack it
			return i
		}
	}
	s.gone = id
	return -1
}

// OnRouted implements scoring.RequestHook: the session stays bound to its endpoint as long as that is one of the
// candidates.
func (s *bound) OnRouted(c *scoring.Cycle) {
	id := s.id(c)
	gone := s.gone == id
	s.gone = 0
	result := c.Primary()
	if s.profile >= 0 {
		result = c.Result(s.profile)
	}
	if id == 0 || result.State != scoring.Picked {
		return
	}
	if index, ok := c.BoundTo(id); ok && !gone {
		for i := range c.Pool.Endpoints {
			if e := &c.Pool.Endpoints[i]; e.StateIndex == index && c.Serves(e) {
				c.BindSession(id, e)
				return
			}
		}
	}
	c.BindSession(id, result.Picked[0])
}

// hashed are sessions that belong where their hash falls.
type hashed struct{ *sessions }

// Pinned implements Pinner by rendezvous hashing: the endpoint that comes first in the session's order.
func (s *hashed) Pinned(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	id := s.id(c)
	if id == 0 {
		return -1
	}
	best, most := -1, uint64(0)
	for i, e := range candidates {
		if w := rendezvous.Weight(id, c.Pool.ID(e)); best < 0 || w > most {
			best, most = i, w
		}
	}
	return best
}
