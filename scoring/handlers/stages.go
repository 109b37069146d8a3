package handlers

import (
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
)

// stages is what the handlers of disaggregated inference share: decode always, then encode, then prefill, the latter
// two if their decider is there and says so, for requests whose prompt is known. A stage that finds nobody, or only who
// fails, is left out: decode alone can serve the request.
type stages struct {
	decode, prefill, encode int
	prefillDecider          scoring.PrefillDecider
	encodeDecider           scoring.EncodeDecider
	// prefillFirst has prefill run first and always, then encode, then decode.
	prefillFirst bool

	// announces is set when the handler itself tells the decode server of the other stages' endpoints, in these
	// headers.
	announces                   bool
	prefillHeader, encodeHeader string
}

// OnRouted implements scoring.RequestHook. A headers handler declared beside does the same again.
func (s *stages) OnRouted(c *scoring.Cycle) {
	if !s.announces {
		return
	}
	if s.prefills() && c.Result(s.prefill).State == scoring.Picked {
		c.SetRequestHeader(s.prefillHeader, c.Result(s.prefill).Picked[:1])
	}
	if s.encodeDecider != nil && c.Result(s.encode).State == scoring.Picked {
		c.SetRequestHeader(s.encodeHeader, c.Result(s.encode).Picked)
	}
}

// Next implements scoring.ProfileHandler.
func (s *stages) Next(c *scoring.Cycle) (profile int, ok bool) {
	if s.prefillFirst {
		return s.nextPrefillFirst(c)
	}
	decode := c.Result(s.decode)
	if decode.State == scoring.NotRun {
		return s.decode, true
	}
	if decode.State != scoring.Picked || !c.Request.HasPrompt() {
		return 0, false
	}
	if s.needsEncode(c, decode.Picked[0]) {
		return s.encode, true
	}
	if s.prefillDecider != nil && c.Result(s.prefill).State == scoring.NotRun {
		if s.prefillDecider.NeedsPrefill(c, decode.Picked[0]) {
			return s.prefill, true
		}
		c.Result(s.prefill).State = scoring.Skipped
	}
	return 0, false
}

func (s *stages) nextPrefillFirst(c *scoring.Cycle) (profile int, ok bool) {
	if c.Request.HasPrompt() {
		if c.Result(s.prefill).State == scoring.NotRun {
			return s.prefill, true
		}
		if s.needsEncode(c, nil) {
			return s.encode, true
		}
	}
	return s.decode, c.Result(s.decode).State == scoring.NotRun
}

// needsEncode reports whether the encode stage runs next. decode is nil when that comes later.
func (s *stages) needsEncode(c *scoring.Cycle, decode *scoring.Endpoint) bool {
	if s.encodeDecider == nil || c.Result(s.encode).State != scoring.NotRun {
		return false
	}
	if s.encodeDecider.NeedsEncode(c, decode) {
		return true
	}
	c.Result(s.encode).State = scoring.Skipped
	return false
}

// prefills reports whether there is a prefill stage.
func (s *stages) prefills() bool { return s.prefillDecider != nil || s.prefillFirst }

// Primary implements scoring.ProfileHandler.
func (s *stages) Primary(*scoring.Cycle) int { return s.decode }

// PrefillProfile implements scoring.Disaggregator.
func (s *stages) PrefillProfile() (profile int, ok bool) { return s.prefill, s.prefills() }

func prefillDecider(b *scoring.Builder, key, name string) scoring.PrefillDecider {
	return decider[scoring.PrefillDecider](b, key, name, "a prefill decider")
}

func encodeDecider(b *scoring.Builder, key, name string) scoring.EncodeDecider {
	return decider[scoring.EncodeDecider](b, key, name, "an encode decider")
}

// decider returns the decider called name, or nil after noting a mistake for the parameter key. what is the kind D in
// words.
func decider[D scoring.Plugin](b *scoring.Builder, key, name, what string) (found D) {
	plugin, ok := named(b, key, name)
	if !ok {
		return found
	}
	if found, ok = plugin.(D); !ok {
		b.Mistake(key, strconv.Quote(name)+" is not "+what)
	}
	return found
}

func named(b *scoring.Builder, key, name string) (plugin scoring.Plugin, ok bool) {
	if plugin := b.Plugin(name); plugin != nil {
		return plugin, true
	}
	switch {
	case b.Doubtful(name):
	case b.Declared(name):
		b.Mistake(key, strconv.Quote(name)+" and "+strconv.Quote(b.Name)+" name each other")
	default:
		b.Mistake(key, b.NotDeclared(name))
	}
	return nil, false
}

// headersHandlerTypes are the type of the plug-in that tells the decode server about the other stages, and its legacy
// name.
var headersHandlerTypes = []string{"disagg-headers-handler", "prefill-header-handler"}

// profileKey is a scheduling profile's name, and the parameter that gives it.
type profileKey struct{ key, name string }

// checkAnnounced notes a stage of whose endpoints no plug-in tells the decode server.
func (s *stages) checkAnnounced(b *scoring.Builder, prefill, encode profileKey) {
	announcers := b.Announcers(headersHandlerTypes...)
	if s.announces = b.Defaults().StagesAnnounced; s.announces {
		s.prefillHeader, s.encodeHeader = b.Defaults().PrefillHeader, b.Defaults().EncodeHeader
		b.OwnRequestHeader(s.prefillHeader)
		b.OwnRequestHeader(s.encodeHeader)
		return
	}
	if b.Doubtful("") {
		return
	}
	if s.prefills() && s.prefill != s.decode && !slices.ContainsFunc(announcers, func(a scoring.StageAnnouncer) bool {
		return a.AnnouncesPrefill(s.prefill)
	}) {
		notAnnounced(b, "prefill", prefill)
	}
	encodes := s.encodeDecider != nil && s.encode != s.decode
	if encodes && !slices.ContainsFunc(announcers, func(a scoring.StageAnnouncer) bool {
		return a.AnnouncesEncode(s.encode)
	}) {
		notAnnounced(b, "encode", encode)
	}
}

func notAnnounced(b *scoring.Builder, stage string, at profileKey) {
	if !slices.Contains(b.Profiles(), at.name) {
		return // which has been noted
	}
	name := strconv.Quote(at.name)
	b.Mistake(at.key, stage+" never runs, because no "+headersHandlerTypes[0]+
		" tells the decode server of the profile "+name+
		"; give that plug-in "+stage+"Profile: "+name)
}
