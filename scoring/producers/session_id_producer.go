package producers

import (
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// sessionIDProducer recognises sessions by a header or a cookie. A source of session-affinity-scorer and -filter uses
// it by attribute: SessionID.
//
// Source: llm-d, session-id-producer.
type sessionIDProducer struct {
	header scoring.HeaderKey
	cookie string
}

type sessionIDProducerParameters struct {
	// HeaderName is the header whose value names the session.
	HeaderName string
	// CookieName is the cookie whose value names the session.
	CookieName string
}

// NewSessionIDProducer builds a session-id-producer.
func NewSessionIDProducer(b *scoring.Builder) scoring.Plugin {
	p := sessionIDProducerParameters{}
	b.HeaderName("headerName", &p.HeaderName)
	b.String("cookieName", &p.CookieName)
	switch {
	case p.HeaderName != "" && p.CookieName != "":
		b.Mistake("cookieName", "stands beside headerName; the session is named by one or the other")
	case p.HeaderName == "" && p.CookieName == "":
		b.Missing("headerName", "give headerName or cookieName")
	case p.HeaderName == "":
		p.HeaderName = "cookie"
	}
	return sessionIDProducer{b.RequestHeader(p.HeaderName), p.CookieName}
}

// Session implements affinity.Source.
func (s sessionIDProducer) Session(c *scoring.Cycle) string {
	value := c.Request.Header(s.header)
	if s.cookie == "" {
		return strings.TrimSpace(value)
	}
	for value != "" {
		var pair string
		pair, value, _ = strings.Cut(value, ";")
		name, text, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if name == s.cookie {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// Attribute implements affinity.Source.
func (sessionIDProducer) Attribute() string { return "SessionID" }
