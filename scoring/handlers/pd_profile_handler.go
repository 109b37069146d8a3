package handlers

import (
	"math"
	"strconv"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// pdProfileHandler is the legacy handler of disaggregated inference: it runs the decode profile, and then the prefill
// profile if the decider asks for it. A request whose prompt is not known, or for whose prefill there are only
// endpoints that fail (see failing.policy), has no prefill stage. Prefer disagg-profile-handler.
//
// With primaryPort the request goes to that port of the decode endpoint's host, and the header
// x-data-parallel-host-port tells the server there which rank was chosen. A configuration that declares neither the
// decider nor a disagg-headers-handler gets both with default parameters: then prefill never runs, which is said at
// start. In llm-d's dialect it sets x-prefiller-host-port itself.
//
// Source: Heimdall, pd-profile-handler; the header and the parameters threshold and hashBlockSize: llm-d, up to 0.4.
// llm-d's needs a disagg-headers-handler for x-prefiller-host-port to be set.
type pdProfileHandler struct {
	stages
	primaryPort int
}

type pdProfileHandlerParameters struct {
	// DecodeProfile names the scheduling profile of decode endpoints.
	DecodeProfile string
	// PrefillProfile names the scheduling profile of prefill endpoints.
	PrefillProfile string
	// PrefixPluginType is the type of the prefix scorer. It is checked and has no effect: the decider finds the scorer
	// itself.
	PrefixPluginType string
	// PrefixPluginName is the name of the prefix scorer. It is checked and has no effect, as prefixPluginType.
	PrefixPluginName string
	// PrimaryPort replaces the port of the decode endpoint. 0: it stays as it is.
	PrimaryPort int
	// DeciderPluginName names the prefill decider.
	DeciderPluginName string
	// Threshold is deprecated and replaces a decider: how many characters must not be cached for prefill to run. With 0
	// it always runs.
	Threshold int
	// HashBlockSize is deprecated and has no effect: the prefix scorer says how long a block is.
	HashBlockSize int
	// PrefixMatchInfoProducerName is known in llm-d's dialect alone, where it is checked and has no effect, as
	// prefixPluginType.
	PrefixMatchInfoProducerName string
}

// headerDataParallel names the rank that was chosen when all ranks are reached through one port.
const headerDataParallel = "x-data-parallel-host-port"

// defaultDecider is the decider of a configuration that names none.
const defaultDecider = "prefix-based-pd-decider"

// NewPDProfileHandler builds a pd-profile-handler.
func NewPDProfileHandler(b *scoring.Builder) scoring.Plugin {
	p := pdProfileHandlerParameters{
		DecodeProfile: "decode", PrefillProfile: "prefill",
		PrefixPluginType: "prefix-cache-scorer", DeciderPluginName: defaultDecider,
	}
	b.String("decodeProfile", &p.DecodeProfile)
	b.String("prefillProfile", &p.PrefillProfile)
	b.String("prefixPluginType", &p.PrefixPluginType)
	b.String("prefixPluginName", &p.PrefixPluginName)
	checkPrefixPlugin(b, p.PrefixPluginType, p.PrefixPluginName)
	b.Int("primaryPort", &p.PrimaryPort, 0, 65535)
	b.String("deciderPluginName", &p.DeciderPluginName)
	b.Int("threshold", &p.Threshold, 0, math.MaxInt32)
	b.Int("hashBlockSize", &p.HashBlockSize, 0, math.MaxInt32)
	b.NoEffect("hashBlockSize", "the prefix scorer says how long a block is")
	if b.Defaults().PrefixProducers {
		b.String("prefixMatchInfoProducerName", &p.PrefixMatchInfoProducerName)
	}

	h := &pdProfileHandler{primaryPort: p.PrimaryPort}
	h.decode = b.Profile("decodeProfile", p.DecodeProfile)
	h.prefill = b.Profile("prefillProfile", p.PrefillProfile)
	if p.PrefillProfile == p.DecodeProfile {
		b.Mistake("prefillProfile", strconv.Quote(p.PrefillProfile)+
			" is the decode profile; prefill needs one of its own")
	}
	h.prefillDecider = h.chooseDecider(b, &p)
	if !b.Defaults().StagesAnnounced && !b.DeclaredType(headersHandlerTypes...) {
		b.Supply(headersHandlerTypes[0], strictjson.Pair{Key: "prefillProfile", Value: p.PrefillProfile})
	}
	h.checkAnnounced(b, profileKey{"prefillProfile", p.PrefillProfile}, profileKey{})
	b.OwnRequestHeader(headerDataParallel)
	return h
}

// chooseDecider returns the decider that p names, in one way or another.
func (h *pdProfileHandler) chooseDecider(b *scoring.Builder, p *pdProfileHandlerParameters) scoring.PrefillDecider {
	switch {
	case b.Has("threshold") && !b.Has("deciderPluginName"):
		if p.Threshold == 0 {
			b.Warn("\"threshold\" is deprecated, and with 0 prefill always runs; write it as deciderPluginName: " +
				"always-disagg-pd-decider")
		} else {
			b.Warn("\"threshold\" is deprecated and counts characters; write it as nonCachedTokens of a " +
				"prefix-based-pd-decider")
		}
		return thresholdDecider(p.Threshold)
	case !b.Has("deciderPluginName") && !b.Declared(defaultDecider):
		decider, _ := b.Add(defaultDecider).(scoring.PrefillDecider)
		return decider
	}
	return prefillDecider(b, "deciderPluginName", p.DeciderPluginName)
}

// thresholdDecider asks for prefill from so many characters on that are not cached, with 0 for every request.
type thresholdDecider int

// NeedsPrefill implements scoring.PrefillDecider.
func (d thresholdDecider) NeedsPrefill(c *scoring.Cycle, decode *scoring.Endpoint) bool {
	if d == 0 {
		return true
	}
	tokens := int64(c.PromptTokens())
	if tokens == 0 {
		return false
	}
	// In whole numbers: of 20 characters in 5 tokens the last token's would be less than 4.
	missing := tokens - int64(c.CachedTokens(decode))
	return missing*int64(c.Request.Body.Chars) >= int64(d)*tokens
}

// checkPrefixPlugin notes a prefix scorer that cannot be what the decider shall go by.
func checkPrefixPlugin(b *scoring.Builder, kind, name string) {
	ofType := b.PluginOfType(kind)
	_, scores := ofType.(scoring.PrefixProvider)
	switch {
	case !b.Known(kind):
		b.Mistake("prefixPluginType", strconv.Quote(kind)+" is not a known plug-in; it is the type of a prefix scorer")
	case ofType != nil && !scores:
		b.Mistake("prefixPluginType", strconv.Quote(kind)+" is not the type of a prefix scorer")
	}
	if !b.Has("prefixPluginName") {
		return
	}
	plugin := b.Plugin(name)
	_, provides := plugin.(scoring.PrefixProvider)
	switch {
	case !b.Declared(name):
		b.Mistake("prefixPluginName", b.NotDeclared(name))
	case b.Doubtful(name):
	case plugin != nil && !provides:
		b.Mistake("prefixPluginName", strconv.Quote(name)+" is not a prefix scorer")
	}
}

// OnRouted implements scoring.RequestHook.
func (h *pdProfileHandler) OnRouted(c *scoring.Cycle) {
	h.stages.OnRouted(c)
	if h.primaryPort == 0 {
		return
	}
	c.SetRequestHeader(headerDataParallel, c.Result(h.decode).Picked[:1])
	c.SetPrimaryPort(h.primaryPort)
}
