package headers

import "github.com/pintle-dev/pintle/scoring"

// destinationEndpointServedVerifier tells the client which endpoint answered, in x-conformance-test-served-endpoint as
// ip:port; after a retry it is not the first choice. It is for conformance tests: it tells clients the addresses of
// servers.
//
// It takes part by being declared.
//
// Source: Gateway API Inference Extension and llm-d, destination-endpoint-served-verifier. When the gateway does not
// tell who served, the header there says so; here it is missing.
type destinationEndpointServedVerifier struct{ scratch []byte }

// NewDestinationEndpointServedVerifier builds a destination-endpoint-served-verifier. It has no parameters.
func NewDestinationEndpointServedVerifier(*scoring.Builder) scoring.Plugin {
	return &destinationEndpointServedVerifier{}
}

// OnResponse implements scoring.ResponseHook.
func (h *destinationEndpointServedVerifier) OnResponse(o *scoring.Outcome, headers scoring.HeaderSetter) {
	h.scratch = append(h.scratch[:0], o.Served.Address...)
	headers.SetHeader("x-conformance-test-served-endpoint", h.scratch)
}
