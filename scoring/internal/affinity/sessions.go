package affinity

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// Source is a plug-in that tells the session of a request.
type Source interface {
	// Session is the session's name, empty for none.
	Session(c *scoring.Cycle) string
	// Attribute is what other plug-ins call it.
	Attribute() string
}

// sessions tell the session of a request.
type sessions struct {
	sources []source
	profile int
	salt    uint64
}

// source is one place where a session may be named: exactly one of these.
type source struct {
	header scoring.HeaderKey
	body   scoring.BodyKey
	plugin Source

	kind                sourceKind
	attribute, producer string
	entry               *strictjson.Object
}

type sourceKind uint8

const (
	fromHeader sourceKind = iota
	fromBody
	fromUser
	fromSalt
	fromPrevious
	fromModel
	fromPlugin
)

// bodyFields are the keys that every scan of a body reads.
var bodyFields = map[string]sourceKind{
	"user": fromUser, "cache_salt": fromSalt, "previous_response_id": fromPrevious, "model": fromModel,
}

const (
	defaultHeader = "x-session-id"
	longestKey    = 32
)

func newSessions(b *scoring.Builder, o *strictjson.Object, remembered bool, profile int) *sessions {
	s := &sessions{profile: profile}
	const usualAge = 300.0
	age, sweep := usualAge, 10.0
	for _, entry := range o.Objects("sources") {
		s.sources = append(s.sources, readSource(b, entry))
	}
	o.Float("evictionTtlSeconds", &age, 0, 1e7)
	age = cmp.Or(age, usualAge)
	o.Float("evictionSweepSeconds", &sweep, 0, 1e7)
	if o.Has("evictionSweepSeconds") {
		b.Warn("evictionSweepSeconds has no effect: a session is forgotten as soon as it is too old")
	}
	o.Close()
	if len(s.sources) == 0 {
		s.sources = []source{{kind: fromHeader, header: b.RequestHeader(defaultHeader)}}
	}
	if profile >= 0 {
		s.salt = journal.HashName(b.Profiles()[profile])
	}
	if remembered {
		options := b.State()
		options.Sessions = true
		options.SessionAge = max(options.SessionAge, time.Duration(age*float64(time.Second)))
	}
	return s
}

func readSource(b *scoring.Builder, o *strictjson.Object) source {
	var header, body string
	s := source{entry: o}
	o.HeaderName("header", &header)
	o.String("body", &body)
	o.String("attribute", &s.attribute)
	o.String("producer", &s.producer)
	o.Close()
	field, isField := bodyFields[body]
	given := 0
	for _, key := range [...]string{"header", "body", "attribute"} {
		if o.Text(key) != "" {
			given++
		}
	}
	switch {
	case given != 1:
		o.Mistake("", "names no place where the session stands, or several; give one of header, body, attribute")
	case o.Text("header") != "":
		s.header = b.RequestHeader(header)
	case isField:
		s.kind = field
	case body != "":
		s.kind = fromBody
		s.body = bodyKey(b, o, body)
	default:
		s.kind = fromPlugin
	}
	return s
}

func bodyKey(b *scoring.Builder, o *strictjson.Object, name string) scoring.BodyKey {
	for i, part := range strings.Split(name, ".") {
		if i > 1 || part == "" || len(part) > longestKey {
			o.Mistake("body", strconv.Quote(name)+
				" is neither a key nor two with a dot between them, of 1 to 32 bytes each")
			return 0
		}
	}
	outer, _, _ := strings.Cut(name, ".")
	if openai.Reserved(outer) {
		o.Mistake("body", strconv.Quote(name)+" holds a prompt or a setting and names no session; name another key, "+
			"such as prompt_cache_key, conversation, user or metadata.user_id")
		return 0
	}
	key, ok := b.BodyKey(name)
	if !ok {
		o.Mistake("body", strconv.Quote(name)+" is one key of bodies too many; 8 can be read")
	}
	return key
}

// Link implements scoring.Linked: it finds the plug-ins that tell sessions.
func (s *sessions) Link(l *scoring.Linker) {
	for i := range s.sources {
		src := &s.sources[i]
		if src.kind != fromPlugin {
			continue
		}
		attribute, producer, _ := strings.Cut(src.attribute, "/")
		if attribute == "SessionIDDataKey" { // what llm-d's router calls it
			attribute = "SessionID"
		}
		if src.producer != "" {
			producer = src.producer
		}
		if producer == "" {
			producer = producers[attribute]
		}
		plugin, kind := l.Find(producer)
		found, ok := plugin.(Source)
		switch {
		case producer == "":
			src.entry.Mistake("attribute", strconv.Quote(attribute)+" is not one of SessionID, agent-identity")
		case plugin == nil && kind != "":
		case plugin == nil:
			src.entry.Mistake("attribute", l.NotDeclared(producer))
		case !ok || found.Attribute() != attribute:
			src.entry.Mistake("attribute", strconv.Quote(producer)+" does not tell "+strconv.Quote(attribute))
		}
		src.plugin = found
	}
}

// producers are the default plug-ins of attributes.
var producers = map[string]string{"SessionID": "session-id-producer", "agent-identity": "agent-identity"}

// id is the hash of the request's session, 0 for none.
func (s *sessions) id(c *scoring.Cycle) uint64 {
	for i := range s.sources {
		if name := s.sources[i].name(c); name != "" {
			return journal.HashName(name) ^ s.salt
		}
	}
	return 0
}

func (s *source) name(c *scoring.Cycle) string {
	switch s.kind {
	case fromHeader:
		return strings.TrimSpace(c.Request.Header(s.header))
	case fromBody:
		return c.Request.BodyValue(s.body)
	case fromPlugin:
		return s.plugin.Session(c)
	}
	if c.Request.Body == nil {
		return ""
	}
	return s.field(c.Request.Body)
}

// field is what the body has in the source's key, which is one of bodyFields.
func (s *source) field(body *openai.Request) string {
	switch s.kind {
	case fromUser:
		return body.User
	case fromSalt:
		return body.SentSalt
	case fromPrevious:
		return body.PreviousResponseID
	}
	return body.Model
}
