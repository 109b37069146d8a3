// Package openai reads what routing needs from the bodies of LLM requests and responses, in one pass and without
// allocation. It compiles with TinyGo. SCANNER.md beside it lists what is read from which API.
package openai

import "math"

const (
	// MaxSegments bounds Request.Segments.
	MaxSegments = 4096
	// MaxBody is the size in bytes of the largest body that is scanned.
	MaxBody = 1 << 30
	// MaxName bounds Model, User, CacheSalt, ExtraKey, LoRAPath and PreviousResponseID, in decoded bytes.
	MaxName = 1024
)

// Span is a range of byte offsets in the body.
type Span struct{ Start, End uint32 }

// Len is the number of raw bytes.
func (s Span) Len() int { return int(s.End - s.Start) }

// SegmentKind is what a segment holds.
type SegmentKind uint8

const (
	SegmentText     SegmentKind = iota // the inside of a JSON string of prompt text, counted in Chars and Bytes
	SegmentImage                       // the inside of the JSON string with the URL, data or file id
	SegmentAudio                       // likewise
	SegmentVideo                       // likewise
	SegmentTools                       // the JSON value of tools or functions
	SegmentToolCall                    // the JSON of tool_calls or a function_call item, or a tool_use block's members
	SegmentTokens                      // token ids and what stands between them, counted in PromptTokens
)

// Segment is one piece of the prompt.
type Segment struct {
	Span
	Role    Role
	Kind    SegmentKind
	Escaped bool // the span holds JSON escapes; AppendTextMax resolves them
}

// Request is what Scan found. The zero value is ready for use. It is not safe for concurrent use; a Request that is
// used again keeps its memory, so scanning does not allocate once the largest conversation and the usual names have
// been seen. Strings do not alias the body.
type Request struct {
	API    API
	Stream bool
	// StreamUsage is stream_options.include_usage.
	StreamUsage bool
	// HasModel tells that model is there and a string. ModelSpan is its JSON value, quotes included.
	HasModel  bool
	ModelSpan Span
	Model     string

	User string
	// CacheSalt, ExtraKey and LoRAPath keep prompts apart in the servers' caches: vLLM and SGLang know the first as
	// cache_salt, SGLang the others beside it, as extra_key (RadixKey in sglang/srt/mem_cache/radix_cache.py) and as
	// lora_path, the adapter where the model names none.
	CacheSalt, ExtraKey, LoRAPath string
	// SentSalt is the client's cache_salt, which SetCacheSalt leaves as it is. SaltSpan is its JSON value, whatever
	// that is; it is empty without the key.
	SentSalt           string
	SaltSpan           Span
	PreviousResponseID string

	// Chars and Bytes are the Unicode characters and UTF-8 bytes of all prompt text after decoding.
	Chars, Bytes int
	// PromptTokens counts token ids that were sent in place of text.
	PromptTokens int
	// Messages counts chat messages or message items; a string as input of the Responses API is one.
	Messages int
	// MaxTokens is the limit on the answer, 0 when unknown, at most math.MaxInt32.
	MaxTokens int

	HasImage, HasAudio, HasVideo, HasTools bool

	// Segments lists the prompt in document order, at most MaxSegments. The counts above go on when it is truncated.
	Segments          []Segment
	SegmentsTruncated bool

	salted bool     // SetCacheSalt was called
	wanted []string // the strings of the keys that Want named
	state  *state
}

// state is what a Request keeps from one scan to the next.
type state struct {
	scanner
	names   [6 + MaxWanted]string // of an earlier body, to be reused when equal
	scratch []byte                // an escaped name
	// wanted is what Want asked for, by the names that begin at wantedNames.
	wanted      []wanted
	wantedNames *string
}

// Scan resets r and reads body, which must be one JSON object. An error is an *Error owned by r; r is then reset, but
// for ReasonModelType and ReasonModelLong, which are found at the end of a sound body: there all but the model is
// filled in. The body is not kept.
func (r *Request) Scan(api API, body []byte) error {
	if r.state == nil {
		r.state = new(state)
	}
	*r = Request{API: api, Segments: r.Segments[:0], wanted: r.wanted[:0], state: r.state}
	s := &r.state.scanner
	s.extraction = extraction{segments: r.Segments, wants: r.state.wanted}
	s.body, s.pos, s.depth, s.failed = body, 0, 0, false
	s.document(api)
	r.Segments = s.segments[:0]
	if !s.failed {
		r.Segments = s.segments
		r.finish()
	}
	s.body, s.segments = nil, nil
	if s.failed {
		return &s.err
	}
	return nil
}

func (s *scanner) document(api API) {
	if len(s.body) > MaxBody {
		s.fail(ReasonTooLarge, MaxBody)
		return
	}
	switch s.peek() {
	case '{':
		s.request(api)
	default:
		if len(s.body) >= 3 && view(s.body[:3]) == "\xef\xbb\xbf" {
			s.fail(ReasonBOM, 0)
		}
		s.unexpected(ReasonNotObject)
	}
	if s.peek(); !s.failed && s.pos < len(s.body) {
		s.fail(ReasonTrailing, s.pos)
	}
}

func (r *Request) finish() {
	s := &r.state.scanner
	r.Stream, r.StreamUsage = s.stream, s.streamUsage
	r.Chars, r.Bytes, r.PromptTokens, r.Messages = s.sum.chars, s.sum.bytes, s.sum.tokens, s.sum.messages
	r.HasImage, r.HasAudio, r.HasVideo, r.HasTools = s.sum.images > 0, s.sum.audios > 0, s.sum.videos > 0,
		s.sum.tools > 0
	r.SegmentsTruncated = s.sum.dropped > 0
	r.MaxTokens = s.answerLimit()
	r.User = r.state.name(0, &s.user)
	r.CacheSalt = r.state.name(1, &s.cacheSalt)
	r.SentSalt, r.SaltSpan = r.CacheSalt, s.saltSpan
	r.PreviousResponseID = r.state.name(2, &s.previousID)
	r.ExtraKey = r.state.name(4, &s.extraKey)
	r.LoRAPath = r.state.name(5, &s.loraPath)
	for i := range s.wants {
		r.wanted = append(r.wanted, r.state.name(6+i, &s.found[i]))
	}
	if s.modelBad {
		s.fail(ReasonModelType, s.modelAt)
		return
	}
	if s.model.bytes > MaxName {
		s.fail(ReasonModelLong, s.modelAt)
		return
	}
	if s.model.set {
		r.HasModel = true
		r.ModelSpan = span(s.model.start-1, s.model.end+1)
		r.Model = r.state.name(3, &s.model)
	}
}

// name decodes t, cut to MaxName bytes. The string of an earlier body is returned again when it is equal.
func (p *state) name(i int, t *text) string {
	if !t.set {
		return ""
	}
	raw := p.body[t.start:t.end]
	switch {
	case t.escaped:
		if p.scratch == nil {
			p.scratch = make([]byte, 0, MaxName)
		}
		raw = AppendUnescaped(p.scratch, raw, MaxName)
	case len(raw) > MaxName:
		raw = wholeChars(raw, MaxName)
	}
	if view(raw) != p.names[i] {
		p.names[i] = string(raw)
	}
	return p.names[i]
}

// answerLimit is the last of the known limits. With max_completion_tokens, max_tokens is none: servers go by the former
// (vLLM's and SGLang's to_sampling_params of chats), and so does llm-d's router.
func (s *scanner) answerLimit() int {
	var last limit
	replaced := s.maxTokens[limitCompletion].value > 0
	for i, l := range s.maxTokens {
		if l.value > 0 && l.at > last.at && (i != limitLegacy || !replaced) {
			last = l
		}
	}
	return min(last.value, math.MaxInt32)
}

// AppendTextMax appends the decoded text of segment i to dst: at most max bytes, whole characters only; max < 0 means
// all. body must be the one that was scanned. Tools and tool calls come as raw JSON. Surrogates without a partner
// become U+FFFD.
func (r *Request) AppendTextMax(dst, body []byte, i, max int) []byte {
	seg := &r.Segments[i]
	raw := body[seg.Start:seg.End]
	if seg.Escaped {
		return AppendUnescaped(dst, raw, max)
	}
	if max >= 0 && len(raw) > max {
		raw = wholeChars(raw, max)
	}
	return append(dst, raw...)
}
