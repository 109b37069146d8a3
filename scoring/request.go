package scoring

import "github.com/pintle-dev/pintle/openai"

// Request is what plug-ins may know of the request that is being decided.
type Request struct {
	// Model is the model that the server will be asked for.
	Model string
	// Body is what the scan of the body found, BodyBytes the body itself; spans in Body index it.
	Body      *openai.Request
	BodyBytes []byte
	// Headers are the values of Plan.RequestHeaders, in that order; an absent header is empty.
	Headers []string
	// Now is the time in nanoseconds since 1970.
	Now int64
}

// HeaderKey is a request header that a plug-in reads, as Builder.RequestHeader gave it.
type HeaderKey int

// Header returns the value of a header, empty when the request has none.
func (r *Request) Header(key HeaderKey) string {
	if int(key) >= len(r.Headers) {
		return ""
	}
	return r.Headers[key]
}
