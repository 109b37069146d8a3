package affinity

import (
	"cmp"
	"encoding/base64"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// token is the name of an endpoint that answers carry and clients send back.
type token struct {
	header  scoring.HeaderKey
	name    string
	profile int
	prefill bool // the profile is that of prefill
	scratch []byte
}

// headerSession carries the token both ways.
const headerSession = "x-session-token"

// firstRank ends the name of a pod's first endpoint where pods have several, and with some endpoint pickers where they
// have one.
const firstRank = "-rank-0"

// longestToken bounds the tokens that are decoded; names of endpoints are far shorter.
const longestToken = 1024

func newToken(b *scoring.Builder, name string, o *strictjson.Object, profile int) *token {
	o.HeaderName("header", &name)
	o.Close()
	name = cmp.Or(name, headerSession)
	return &token{header: b.RequestHeader(name), name: name, profile: profile, scratch: make([]byte, longestToken)}
}

// Pinned implements Pinner.
func (t *token) Pinned(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	text := c.Request.Header(t.header)
	if text == "" || len(text) > longestToken {
		return -1
	}
	encoded := append(t.scratch[:0], text...)
	n, err := base64.StdEncoding.Decode(encoded, encoded)
	if err != nil {
		return -1
	}
	name := encoded[:n]
	for i, e := range candidates {
		if e.Name == string(name) {
			return i
		}
	}
	if end := len(name) - len(firstRank); end >= 0 && string(name[end:]) == firstRank {
		name = name[:end]
	}
	for i, e := range candidates {
		if strings.TrimSuffix(e.Name, firstRank) == string(name) {
			return i
		}
	}
	return -1
}

// OnRouted implements scoring.RequestHook.
func (t *token) OnRouted(c *scoring.Cycle) { t.prefill = t.profile >= 0 && c.IsPrefill(t.profile) }

// OnResponse implements scoring.ResponseHook.
func (t *token) OnResponse(o *scoring.Outcome, headers scoring.HeaderSetter) {
	e := o.Encode
	switch {
	case t.profile < 0 || t.profile == o.Profile:
		e = o.Served
	case t.prefill:
		e = o.Prefill
	}
	if e == nil {
		return
	}
	t.scratch = base64.StdEncoding.AppendEncode(t.scratch[:0], []byte(e.Name))
	headers.SetHeader(t.name, t.scratch)
}
