package handlers

import (
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
)

// stages is what the handlers of disaggregated inference share: decode always, then encode, then prefill, the latter two if
// their decider is there and says so, for requests whose prompt is known. A stage that fails is left out: decode alone can serve the request.
type stages struct {
	decode, prefill, encode int
	prefillDecider          scoring.PrefillDecider
	encodeDecider           scoring.EncodeDecider
}

// Next implements scoring.ProfileHandler.
func (s *stages) Next(c *scoring.Cycle) (profile int, ok bool) {
	decode := c.Result(s.decode)
	if decode.State == scoring.NotRun {
		return s.decode, true
	}
	if decode.State != scoring.Picked || !c.Request.HasPrompt() {
		return 0, false
	}
	if s.encodeDecider != nil && c.Result(s.encode).State == scoring.NotRun {
		if s.encodeDecider.NeedsEncode(c, decode.Picked[0]) {
			return s.encode, true
		}
		c.Result(s.encode).State = scoring.Skipped
	}
	if s.prefillDecider != nil && c.Result(s.prefill).State == scoring.NotRun {
		if s.prefillDecider.NeedsPrefill(c, decode.Picked[0]) {
			return s.prefill, true
		}
		c.Result(s.prefill).State = scoring.Skipped
	}
	return 0, false
}

// Primary implements scoring.ProfileHandler.
func (s *stages) Primary(*scoring.Cycle) int { return s.decode }

// PrefillProfile implements scoring.Disaggregator.
func (s *stages) PrefillProfile() (profile int, ok bool) { return s.prefill, s.prefillDecider != nil }

// earlierPrefillDecider returns the decider called name, or nil after noting a mistake for the parameter key.
func earlierPrefillDecider(b *scoring.Builder, key, name string) scoring.PrefillDecider {
	plugin, ok := earlier(b, key, name)
	if !ok {
		return nil
	}
	decider, ok := plugin.(scoring.PrefillDecider)
	if !ok {
		b.Mistake(key, strconv.Quote(name)+" is not a prefill decider")
	}
	return decider
}

// earlierEncodeDecider is earlierPrefillDecider for encode deciders.
func earlierEncodeDecider(b *scoring.Builder, key, name string) scoring.EncodeDecider {
	plugin, ok := earlier(b, key, name)
	if !ok {
		return nil
	}
	decider, ok := plugin.(scoring.EncodeDecider)
	if !ok {
		b.Mistake(key, strconv.Quote(name)+" is not an encode decider")
	}
	return decider
}

func earlier(b *scoring.Builder, key, name string) (plugin scoring.Plugin, ok bool) {
	if plugin := b.Earlier(name); plugin != nil {
		return plugin, true
	}
	switch {
	case b.Doubtful(name):
	case b.Declared(name):
		b.Mistake(key, strconv.Quote(name)+" is declared after "+b.Name+"; move it before")
	default:
		b.Mistake(key, b.NotDeclared(name))
	}
	return nil, false
}

// headersHandlerTypes are the type of the plug-in that tells the decode server about the other stages, and its legacy name.
var headersHandlerTypes = []string{"disagg-headers-handler", "prefill-header-handler"}

// profileKey is a scheduling profile's name, and the parameter that gives it.
type profileKey struct{ key, name string }

// checkAnnounced notes a stage of whose endpoints no plug-in declared before b's tells the decode server.
func (s *stages) checkAnnounced(b *scoring.Builder, prefill, encode profileKey) {
	if b.Doubtful("") {
		return
	}
	announcers := b.Announcers()
	if s.prefillDecider != nil && s.prefill != s.decode && !slices.ContainsFunc(announcers, func(a scoring.StageAnnouncer) bool {
		return a.AnnouncesPrefill(s.prefill)
	}) {
		notAnnounced(b, "prefill", prefill)
	}
	if s.encodeDecider != nil && !slices.ContainsFunc(announcers, func(a scoring.StageAnnouncer) bool {
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
	b.Mistake(at.key, stage+" never runs, because no "+headersHandlerTypes[0]+" tells the decode server of the profile "+name+
		"; give that plug-in "+stage+"Profile: "+name)
}
