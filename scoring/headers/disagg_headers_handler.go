package headers

import (
	"slices"

	"github.com/pintle-dev/pintle/scoring"
)

// disaggHeadersHandler tells the decode server which endpoints run the other stages: the prefill endpoint's ip:port,
// and the encode endpoints' in a comma-separated list. Such headers are removed from clients' requests.
//
// It takes part by being declared, before the profile handler or behind it. prefill-header-handler is another name of
// it.
//
// In llm-d's dialect the headers are x-prefiller-host-port and x-encoder-hosts-ports, and the plug-in is not needed:
// the profile handler sets them itself.
//
// Source: Heimdall, disagg-headers-handler; llm-d, the deprecated type of the same name.
type disaggHeadersHandler struct {
	disaggHeadersHandlerParameters
	prefill, encode int
}

type disaggHeadersHandlerParameters struct {
	// PrefillProfile names the profile whose endpoint goes into the prefill header.
	PrefillProfile string
	// EncodeProfile names the profile whose endpoints go into the encode header.
	EncodeProfile string
	// PrefillHeader is the name of the prefill header.
	PrefillHeader string
	// EncodeHeader is the name of the encode header.
	EncodeHeader string
}

// NewDisaggHeadersHandler builds a disagg-headers-handler.
func NewDisaggHeadersHandler(b *scoring.Builder) scoring.Plugin {
	h := &disaggHeadersHandler{disaggHeadersHandlerParameters: disaggHeadersHandlerParameters{
		PrefillProfile: "prefill", EncodeProfile: "encode",
		PrefillHeader: b.Defaults().PrefillHeader, EncodeHeader: b.Defaults().EncodeHeader,
	}}
	b.String("prefillProfile", &h.PrefillProfile)
	b.String("encodeProfile", &h.EncodeProfile)
	readHeaderName(b, "prefillHeader", &h.PrefillHeader)
	readHeaderName(b, "encodeHeader", &h.EncodeHeader)
	h.prefill = optionalProfile(b, "prefillProfile", h.PrefillProfile)
	h.encode = optionalProfile(b, "encodeProfile", h.EncodeProfile)
	b.OwnRequestHeader(h.PrefillHeader)
	b.OwnRequestHeader(h.EncodeHeader)
	return h
}

// optionalProfile returns the number of a profile, -1 when there is none of the default name.
func optionalProfile(b *scoring.Builder, key, name string) int {
	if !b.Has(key) && !slices.Contains(b.Profiles(), name) {
		return -1
	}
	return b.Profile(key, name)
}

// readHeaderName reads the name of a header that the plug-in sets.
func readHeaderName(b *scoring.Builder, key string, dst *string) {
	if b.HeaderName(key, dst); *dst == "" {
		b.Missing(key, "give the header's name")
	}
}

// AnnouncesPrefill implements scoring.StageAnnouncer.
func (h *disaggHeadersHandler) AnnouncesPrefill(profile int) bool { return profile == h.prefill }

// AnnouncesEncode implements scoring.StageAnnouncer.
func (h *disaggHeadersHandler) AnnouncesEncode(profile int) bool { return profile == h.encode }

// OnRouted implements scoring.RequestHook.
func (h *disaggHeadersHandler) OnRouted(c *scoring.Cycle) {
	if h.prefill >= 0 && c.Result(h.prefill).State == scoring.Picked {
		c.SetRequestHeader(h.PrefillHeader, c.Result(h.prefill).Picked[:1])
	}
	if h.encode >= 0 && c.Result(h.encode).State == scoring.Picked {
		c.SetRequestHeader(h.EncodeHeader, c.Result(h.encode).Picked)
	}
}
