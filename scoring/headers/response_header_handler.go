package headers

import "github.com/pintle-dev/pintle/scoring"

// responseHeaderHandler tells the client which endpoints served the request: x-decoder-host-port is the ip:port of the
// one that answered, which after a retry is not the first choice; x-prefiller-host-port is the prefill endpoint's, if
// there was a prefill stage.
//
// It takes part by being declared.
//
// Source: Heimdall, response-header-handler.
type responseHeaderHandler struct{ scratch []byte }

// The headers.
const (
	headerDecoder   = "x-decoder-host-port"
	headerPrefiller = "x-prefiller-host-port"
)

// NewResponseHeaderHandler builds a response-header-handler. It has no parameters.
func NewResponseHeaderHandler(*scoring.Builder) scoring.Plugin { return &responseHeaderHandler{} }

// OnResponse implements scoring.ResponseHook.
func (h *responseHeaderHandler) OnResponse(o *scoring.Outcome, headers scoring.HeaderSetter) {
	h.scratch = append(h.scratch[:0], o.Served.Address...)
	headers.SetHeader(headerDecoder, h.scratch)
	if o.Prefill != nil {
		h.scratch = append(h.scratch[:0], o.Prefill.Address...)
		headers.SetHeader(headerPrefiller, h.scratch)
	}
}
