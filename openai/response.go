package openai

import "math"

// Usage is what a model server says it has used. Zero means not said.
type Usage struct {
	PromptTokens     int // the whole prompt, cached or not; all counts are at most math.MaxInt32
	CompletionTokens int // completion_tokens or output_tokens
	TotalTokens      int // total_tokens, otherwise the sum of the two above
	CachedTokens     int // cached_tokens in the details, or cache_read_input_tokens
}

// ResponseScanner finds the usage in a response that passes by in chunks: a JSON body, or an SSE stream, told apart by
// the first byte. Chunks may be split anywhere. The zero value is ready; Reset readies it for the next response. It
// keeps about 100 bytes of state whatever the length of bodies and lines, never allocates and is not safe for
// concurrent use.
//
// It is no validator: what is not understood is passed over until the next event.
type ResponseScanner struct {
	framing framing
	line    lineState
	matched uint8 // bytes of dataField seen in this line
	wasCR   bool
	events  int

	document usageDocument
}

type framing uint8

const (
	framingUnknown framing = iota
	framingJSON
	framingSSE
)

// find sets an unknown framing by the first byte that is neither blank nor one of a byte order mark, and returns its
// offset. A mark in front of a stream is no part of it (HTML, 9.2.6), and one of a JSON text may be ignored (RFC 8259,
// 8.1).
func (f *framing) find(chunk []byte) (i int) {
	for *f == framingUnknown && i < len(chunk) {
		switch c := chunk[i]; {
		case c == '{':
			*f = framingJSON
		case c <= ' ', c == 0xef, c == 0xbb, c == 0xbf:
			i++
		default:
			*f = framingSSE
		}
	}
	return i
}

type lineState uint8

const (
	lineStart lineState = iota
	lineData
	lineOther
)

const dataField = "data:"

// Reset forgets everything.
func (r *ResponseScanner) Reset() { *r = ResponseScanner{} }

// Usage returns what has been found so far; false when nothing has. Later usage objects replace the fields they hold,
// so streams that report with every chunk yield the last report, and those that split it over two events yield both
// halves.
func (r *ResponseScanner) Usage() (Usage, bool) {
	d := &r.document
	u := Usage{
		PromptTokens: d.counts[fieldPrompt], CompletionTokens: d.counts[fieldCompletion],
		TotalTokens: d.counts[fieldTotal], CachedTokens: d.counts[fieldCached],
	}
	if d.seen>>fieldTotal&1 == 0 {
		u.TotalTokens = int(min(int64(u.PromptTokens)+int64(u.CompletionTokens), math.MaxInt32))
	}
	return u, d.seen != 0
}

// CachedReported reports whether the server said how many tokens of the prompt it had cached, if none.
func (r *ResponseScanner) CachedReported() bool { return r.document.seen>>fieldCached&1 != 0 }

// Events is the number of data lines of an SSE stream so far, 0 for a JSON body. Servers send about one for each token,
// and two more.
func (r *ResponseScanner) Events() int { return r.events }

// Feed reads the next bytes of the response. The chunk is not kept.
func (r *ResponseScanner) Feed(chunk []byte) {
	i := r.framing.find(chunk)
	if r.framing == framingJSON {
		r.document.feed(chunk[i:])
		return
	}
	for i < len(chunk) {
		i = r.feedLine(chunk, i)
	}
}

// feedLine goes on in the current line, at most to its end, and returns the offset reached. Lines end with LF, CR or
// both.
func (r *ResponseScanner) feedLine(chunk []byte, i int) int {
	if r.wasCR && chunk[i] == '\n' {
		r.wasCR = false
		return i + 1
	}
	r.wasCR = false
	for r.line == lineStart && chunk[i] == dataField[r.matched] {
		r.matched++
		i++
		if int(r.matched) == len(dataField) {
			r.line = lineData
			r.events++
			r.document.nextLine()
		}
		if i == len(chunk) {
			return i
		}
	}
	end := lineEnd(chunk, i)
	if r.line == lineData {
		r.document.feed(chunk[i:end])
	} else if end > i {
		r.line = lineOther
	}
	if end == len(chunk) {
		return end
	}
	if r.line == lineStart && r.matched == 0 {
		r.document.restart()
	}
	r.wasCR = chunk[end] == '\r'
	r.line, r.matched = lineStart, 0
	return end + 1
}

// lineEnd returns the offset of the first CR or LF at or after i.
func lineEnd(b []byte, i int) int {
	for ; i < len(b); i++ {
		for len(b)-i >= 8 && controls(load64(b, i)) == 0 {
			i += 8
		}
		if i < len(b) && (b[i] == '\n' || b[i] == '\r') {
			return i
		}
	}
	return len(b)
}

// controls tells whether a byte of w is below 0x20.
func controls(w uint64) uint64 { return (w - 0x20*ones) &^ w & highs }
