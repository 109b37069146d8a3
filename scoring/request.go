package scoring

import (
	"errors"
	"math"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/state"
)

// Request is what plug-ins may know of the request that is being decided.
type Request struct {
	// Model is the model that the server will be asked for.
	Model string
	// PathModel is the model that the request's path names. It stands for the model of a body that names none, if a
	// server has it.
	PathModel string
	// Body is what the scan of the body found, BodyBytes the body itself; spans in Body index it.
	Body      *openai.Request
	BodyBytes []byte
	// KeysFrom is where the plan's BodyKeys begin among those that Body was scanned for.
	KeysFrom int
	// Chains, when set, tells the prompt's blocks in place of hashing its text: for requests whose text nobody has any
	// more.
	Chains ChainSource
	// Headers are the values of Plan.RequestHeaders, in that order; an absent header is empty.
	Headers []string
	// Subset lists the addresses that the request may go to, if Restricted is set.
	Subset     string
	Restricted bool
	// Unjudged has a random endpoint serve the request, of those that the filters leave: no model computes anything for
	// it.
	Unjudged bool
	// Precise is which servers have the beginning of the prompt, nil when nobody was asked or knows.
	Precise *PreciseMatches
	// Now is the time in nanoseconds since 1970.
	Now int64
}

// ChainSource knows a prompt by its blocks.
type ChainSource interface {
	// AppendChain appends the hashes of the prompt's first blocks, at most that many, to dst: equal ones where prompts
	// for the same model are equal up to there.
	AppendChain(dst []uint64, model string, chain state.Chain, most int) []uint64
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

// HasPrompt reports whether the request's prompt is known. Without one only its headers and its model say where it
// should go.
func (r *Request) HasPrompt() bool { return r.Body != nil && r.Body.API != openai.APINone }

// TextBytes is how long the prompt is when it is text alone, else 0.
func (r *Request) TextBytes() uint32 {
	b := r.Body
	if b == nil || b.PromptTokens > 0 || b.HasImage || b.HasAudio || b.HasVideo {
		return 0
	}
	return uint32(min(int64(b.Bytes), math.MaxUint32))
}

// Read scans body into scan and makes r a request for what it found. The Failure says what is wrong with the body; r is
// then of no use. r aliases both until the next Read.
func (r *Request) Read(scan *openai.Request, api openai.API, body []byte) *Failure {
	err := scan.Scan(api, body)
	switch {
	case err == nil && (scan.HasModel && scan.Model != "" || !api.NeedsModel()):
		r.Model, r.Body, r.BodyBytes = scan.Model, scan, body
		return nil
	case err == nil:
		return &Failure{Status: 400, Reason: "model_missing",
			Message: "the request names no model; set \"model\" to the name of one"}
	}
	reason := "invalid_body"
	if errors.Is(err, openai.ReasonModelType) || errors.Is(err, openai.ReasonModelLong) {
		reason = "model_missing"
	}
	return &Failure{Status: 400, Reason: reason, Message: "the request body cannot be read: " + err.Error()}
}
