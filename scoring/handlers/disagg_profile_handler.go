package handlers

import (
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
)

// disaggProfileHandler runs disaggregated inference: the decode profile always, and its endpoint serves the request;
// then the encode profile if the encode decider asks for it; then the prefill profile if the prefill decider does. A
// stage whose profile finds no endpoint, or only ones that fail (see failing.policy), is left out. A request whose
// prompt is not known has the decode stage alone.
//
// It needs a disagg-headers-handler to tell the decode server about the other stages; in llm-d's dialect it sets
// x-prefiller-host-port and x-encoder-hosts-ports itself. Plug-ins may be declared in any order. The nested parameters
// are profiles and deciders; the flat ones are deprecated, mean the same, and may not be mixed with them.
//
// Source: Heimdall and llm-d, disagg-profile-handler. llm-d is silent about a stage that can never run; here that is
// said at start.
type disaggProfileHandler struct{ stages }

type disaggProfileHandlerParameters struct {
	// StageOrder is decode-first, or prefill-first: then prefill runs first and for every request, encode next if its
	// decider asks for it, and decode last; no decider for prefill can be named.
	StageOrder string
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
	// DeciderPluginName is deprecated: deciders.prefill, unless prefillDeciderPluginName names one.
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

// The orders of stages.
const (
	decodeFirst  = "decode-first"
	prefillFirst = "prefill-first"
)

// NewDisaggProfileHandler builds a disagg-profile-handler.
func NewDisaggProfileHandler(b *scoring.Builder) scoring.Plugin {
	p := readDisaggParameters(b)
	h := &disaggProfileHandler{}
	h.prefillFirst = p.StageOrder == prefillFirst
	h.stages.decode = b.Profile(p.keys.Profiles.decode, p.Profiles.decode)
	if h.prefillFirst && p.Deciders.prefill != "" {
		b.Mistake(p.keys.Deciders.prefill,
			"is not asked with stageOrder: prefill-first, where prefill always runs; remove one of the two")
		return h
	}
	if h.prefillFirst && !slices.Contains(b.Profiles(), p.Profiles.prefill) && b.Defaults().StagesAnnounced {
		b.Warn("prefill never runs, because there is no profile " + strconv.Quote(p.Profiles.prefill))
		h.prefillFirst = false
	}
	if name := p.Deciders.prefill; h.runs(b, "prefill", name, p.Profiles.prefill) {
		h.prefillDecider = prefillDecider(b, p.keys.Deciders.prefill, name)
	}
	if h.prefills() || p.Deciders.prefill != "" && !b.Defaults().StagesAnnounced {
		h.stages.prefill = b.Profile(p.keys.Profiles.prefill, p.Profiles.prefill)
		if p.Profiles.prefill == p.Profiles.decode {
			b.Mistake(p.keys.Profiles.prefill, strconv.Quote(p.Profiles.prefill)+
				" is the decode profile; prefill needs one of its own")
		}
	}
	if name := p.Deciders.encode; h.runs(b, "encode", name, p.Profiles.encode) {
		h.encodeDecider = encodeDecider(b, p.keys.Deciders.encode, name)
		h.stages.encode = b.Profile(p.keys.Profiles.encode, p.Profiles.encode)
		h.checkEncode(b, p)
	}
	h.checkHeaders(b, p)
	return h
}

// checkEncode notes an encode profile that another stage runs: as each profile runs once, one of the two never would.
func (h *disaggProfileHandler) checkEncode(b *scoring.Builder, p *disaggParameters) {
	stage := ""
	switch p.Profiles.encode {
	case p.Profiles.decode:
		stage = "decode"
	case p.Profiles.prefill:
		if h.prefills() {
			stage = "prefill"
		}
	}
	if stage != "" {
		b.Mistake(p.keys.Profiles.encode, strconv.Quote(p.Profiles.encode)+" is the "+stage+
			" profile; encode needs one of its own")
	}
}

// runs reports whether a stage has a decider and can run. llm-d leaves out one without a profile.
func (h *disaggProfileHandler) runs(b *scoring.Builder, stage, decider, profile string) bool {
	if decider == "" {
		return false
	}
	if !b.Defaults().StagesAnnounced || slices.Contains(b.Profiles(), profile) {
		return true
	}
	b.Plugin(decider) // which is referred to, though in vain
	b.Warn(stage + " never runs, because there is no profile " + strconv.Quote(profile))
	return false
}

// checkHeaders sees to it that the decode server learns of the other stages.
func (h *disaggProfileHandler) checkHeaders(b *scoring.Builder, p *disaggParameters) {
	staged := p.Deciders.prefill != "" || p.Deciders.encode != "" || h.prefillFirst
	if staged && !b.Defaults().StagesAnnounced && !b.DeclaredType(headersHandlerTypes...) && !b.Doubtful("") {
		b.Mistake("deciders",
			"need a disagg-headers-handler; without it the decode server would not learn of the other stages")
		return
	}
	h.checkAnnounced(b,
		profileKey{p.keys.Profiles.prefill, p.Profiles.prefill}, profileKey{p.keys.Profiles.encode, p.Profiles.encode})
	if p.Deciders.prefill == "" && !h.prefillFirst && p.Profiles.prefill != p.Profiles.decode {
		tellUnasked(b, "prefill", p.Profiles.prefill)
	}
	if p.Deciders.encode == "" && p.Profiles.encode != p.Profiles.decode && p.Profiles.encode != p.Profiles.prefill {
		tellUnasked(b, "encode", p.Profiles.encode)
	}
}

// tellUnasked tells the operator of a stage that has a profile of its own, if it is there, and no decider.
func tellUnasked(b *scoring.Builder, stage, profile string) {
	if slices.Contains(b.Profiles(), profile) {
		b.Warn(stage + " never runs, because no decider for it is named; " +
			"name one in deciders." + stage + ", or remove the profile " + strconv.Quote(profile))
	}
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
	p.StageOrder = decodeFirst
	// llm-d takes further spellings of the one that is not prefill-first.
	b.OneOf("stageOrder", &p.StageOrder, decodeFirst, prefillFirst, "decode", "decodefirst", "decode_first", "")
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
	former, at := "", ""
	flat("deciderPluginName", &former, &at)
	flat("prefillDeciderPluginName", &p.Deciders.prefill, &p.keys.Deciders.prefill)
	if p.Deciders.prefill == "" && former != "" {
		p.Deciders.prefill, p.keys.Deciders.prefill = former, at
	}
	flat("encodeDeciderPluginName", &p.Deciders.encode, &p.keys.Deciders.encode)
}
