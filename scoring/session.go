package scoring

import (
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
)

// BodyKey is a key of the request's body that a plug-in reads, as Builder.BodyKey gave it.
type BodyKey int

// BodyKey asks for the string of a key in the body at decision time, see openai.Request.Want. ok is false when plug-ins
// ask for too many.
func (b *Builder) BodyKey(name string) (key BodyKey, ok bool) {
	keys := &b.compiler.plan.bodyKeys
	for i, known := range *keys {
		if known == name {
			return BodyKey(i), true
		}
	}
	if len(*keys) == openai.MaxWanted {
		return 0, false
	}
	*keys = append(*keys, name)
	return BodyKey(len(*keys) - 1), true
}

// BodyKeys are the keys of the body whose values the plan's plug-ins want, for openai.Request.Want.
func (p *Plan) BodyKeys() []string { return p.bodyKeys }

// BodyValue returns the string of a key in the body, empty when there is none.
func (r *Request) BodyValue(key BodyKey) string {
	if r.Body == nil {
		return ""
	}
	return r.Body.Wanted(r.KeysFrom + int(key))
}

// Linked is a plug-in that has to find others, wherever they are declared.
type Linked interface {
	// Link is called once when all plug-ins are built. l is valid during the call.
	Link(l *Linker)
}

// Linker finds plug-ins by the names that they are declared under.
type Linker struct{ compiler *compiler }

// Find returns a plug-in and its type, which is empty when none is called so. Of a plug-in whose type is unknown only
// that is known: what seems wrong with it follows from that mistake.
func (l *Linker) Find(name string) (plugin Plugin, kind string) {
	d := l.compiler.use(name)
	if d == nil {
		return nil, ""
	}
	return d.plugin, d.kind
}

// Scores reports whether a profile has scorers, as far as plug-ins are known.
func (l *Linker) Scores(profile int) bool {
	return l.compiler.unknown || len(l.compiler.plan.profiles[profile].scorers) > 0
}

// NotDeclared says that no plug-in has a name, and which there are, for a mistake.
func (l *Linker) NotDeclared(name string) string { return l.compiler.notDeclared(name) }

func (c *compiler) link() {
	for i := range c.plugins {
		if linked, ok := partOf(c.plugins[i].plugin).(Linked); ok {
			linked.Link(&Linker{c})
		}
	}
}

// partOf is the part of a plug-in that takes part by being declared: the plug-in itself unless it says otherwise.
func partOf(p Plugin) Plugin {
	if composite, ok := p.(Composite); ok {
		return composite.Part()
	}
	return p
}

// BoundTo returns the index in Pool.State of the endpoint that a session is bound to; ok is false when there is none in
// the pool. The state keeps sessions where a plug-in asks for it, see state.Options.
func (c *Cycle) BoundTo(session uint64) (stateIndex int, ok bool) {
	if c.Pool.State == nil || c.Pool.State.Sessions == nil {
		return 0, false
	}
	id, ok := c.Pool.State.Sessions.Endpoint(session)
	if !ok {
		return 0, false
	}
	index := c.Pool.State.Endpoints.Index(id)
	return index, index >= 0
}

// BindSession has a session of the request, a journal.HashName, bound to an endpoint.
func (c *Cycle) BindSession(session uint64, e *Endpoint) {
	if c.Pool.State == nil {
		return
	}
	for i := range c.sessions {
		if c.sessions[i].ID == session {
			return
		}
	}
	c.sessions = append(c.sessions, journal.Session{ID: session, Endpoint: c.Pool.ID(e)})
}
