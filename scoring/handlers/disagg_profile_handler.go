package handlers

import (
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
)

// disaggProfileHandler runs disaggregated inference: the decode profile always, and its endpoint serves the request;
// then the encode profile if the encode decider says so; then the prefill profile if the prefill decider says so. A
// stage whose profile finds no endpoint is left out.
//
// The deciders and a disagg-headers-handler must be declared before it. The nested parameters are profiles and
// deciders; the flat ones are deprecated, mean the same, and may not be mixed with them.
//
// Source: Heimdall, disagg-profile-handler.
type disaggProfileHandler struct{ stages }

type disaggProfileHandlerParameters struct {
	// Profiles names the scheduling profiles: decode, prefill, encode; each defaults to its own name.
	Profiles stageNames
	// Deciders names the deciders: prefill, encode. A stage without one never runs.
	Deciders stageNames
	// DecodeProfile is deprecated: profiles.decode.
	DecodeProfile string
	// PrefillProfile is deprecated: profiles.prefill.
	PrefillProfile string
	// EncodeProfile is deprecated: profiles.encode.
	EncodeProfile string
	// PrefillDeciderPluginName is deprecated: deciders.prefill.
	PrefillDeciderPluginName string
	// EncodeDeciderPluginName is deprecated: deciders.encode.
	EncodeDeciderPluginName string
	// DeciderPluginName is deprecated: deciders.prefill, unless prefillDeciderPluginName is given.
	DeciderPluginName string
}

// stageNames are names by stage.
type stageNames struct{ decode, prefill, encode string }

// flatKeys are the deprecated parameters and what they have become.
var flatKeys = []struct{ key, nested string }{
	{"decodeProfile", "profiles.decode"},
	{"prefillProfile", "profiles.prefill"},
	{"encodeProfile", "profiles.encode"},
	{"prefillDeciderPluginName", "deciders.prefill"},
	{"encodeDeciderPluginName", "deciders.encode"},
	{"deciderPluginName", "deciders.prefill"},
}

// NewDisaggProfileHandler builds a disagg-profile-handler.
func NewDisaggProfileHandler(b *scoring.Builder) scoring.Plugin {
	p := readDisaggParameters(b)
	h := &disaggProfileHandler{}
	h.stages.decode = b.Profile(p.keys.Profiles.decode, p.Profiles.decode)
	if name := p.Deciders.prefill; name != "" {
		h.prefillDecider = earlierPrefillDecider(b, p.keys.Deciders.prefill, name)
		h.stages.prefill = b.Profile(p.keys.Profiles.prefill, p.Profiles.prefill)
	}
	if p.Deciders.prefill != "" && h.stages.prefill == h.stages.decode {
		b.Mistake(p.keys.Profiles.prefill,
			strconv.Quote(p.Profiles.prefill)+" is the decode profile; prefill needs one of its own")
	}
	if name := p.Deciders.encode; name != "" {
		h.encodeDecider = earlierEncodeDecider(b, p.keys.Deciders.encode, name)
		h.stages.encode = b.Profile(p.keys.Profiles.encode, p.Profiles.encode)
	}
	staged := p.Deciders.prefill != "" || p.Deciders.encode != ""
	if staged && !b.EarlierOfType(headersHandlerTypes...) && !b.Doubtful("") {
		b.Mistake("deciders", "need a disagg-headers-handler declared before "+b.Name+
			"; without it the decode server would not learn of the other stages")
		return h
	}
	h.checkAnnounced(b,
		profileKey{p.keys.Profiles.prefill, p.Profiles.prefill}, profileKey{p.keys.Profiles.encode, p.Profiles.encode})
	if p.Deciders.prefill == "" && slices.Contains(b.Profiles(), p.Profiles.prefill) {
		b.Warn("prefill never runs, because no decider for it is named; " +
			"name one in deciders.prefill, or remove the profile " + strconv.Quote(p.Profiles.prefill))
	}
	return h
}

// disaggParameters are the parameters in their nested form, with the key that each came from.
type disaggParameters struct {
	disaggProfileHandlerParameters
	keys disaggProfileHandlerParametersKeys
}

type disaggProfileHandlerParametersKeys struct{ Profiles, Deciders stageNames }

func readDisaggParameters(b *scoring.Builder) *disaggParameters {
	p := &disaggParameters{}
	p.Profiles = stageNames{"decode", "prefill", "encode"}
	p.keys.Profiles = stageNames{"profiles.decode", "profiles.prefill", "profiles.encode"}
	p.keys.Deciders = stageNames{"", "deciders.prefill", "deciders.encode"}
	profiles, deciders := b.Object.Object("profiles"), b.Object.Object("deciders")
	profiles.String("decode", &p.Profiles.decode)
	profiles.String("prefill", &p.Profiles.prefill)
	profiles.String("encode", &p.Profiles.encode)
	profiles.Close()
	deciders.String("prefill", &p.Deciders.prefill)
	deciders.String("encode", &p.Deciders.encode)
	deciders.Close()
	p.readFlat(b, profiles.Present() || deciders.Present())
	return p
}

// readFlat reads the deprecated parameters into the nested ones.
func (p *disaggParameters) readFlat(b *scoring.Builder, nested bool) {
	for _, flat := range flatKeys {
		if !b.Has(flat.key) {
			continue
		}
		if nested {
			b.Mistake(flat.key, "is mixed with nested parameters; write it as "+flat.nested)
			continue
		}
		b.Warn(strconv.Quote(flat.key) + " is deprecated; write it as " + flat.nested)
	}
	flat := func(key string, dst, at *string) {
		if b.Has(key) {
			*at = key
		}
		b.String(key, dst)
	}
	flat("decodeProfile", &p.Profiles.decode, &p.keys.Profiles.decode)
	flat("prefillProfile", &p.Profiles.prefill, &p.keys.Profiles.prefill)
	flat("encodeProfile", &p.Profiles.encode, &p.keys.Profiles.encode)
	flat("deciderPluginName", &p.Deciders.prefill, &p.keys.Deciders.prefill)
	flat("prefillDeciderPluginName", &p.Deciders.prefill, &p.keys.Deciders.prefill)
	flat("encodeDeciderPluginName", &p.Deciders.encode, &p.keys.Deciders.encode)
}
