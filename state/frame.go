package state

import (
	"bytes"

	"github.com/pintle-dev/pintle/openai"
)

// frame is the JSON around the segments of prompts that count as JSON: for embeddings what Go's encoder makes of the
// router's own type. For other APIs it is empty.
type frame struct {
	api openai.API
	// list is set when the input is a list.
	list bool
	// begun is set when a part has been opened.
	begun bool
}

// asJSON reports whether the prompts of an API count as JSON.
func asJSON(api openai.API) bool { return api == openai.APIResponses || api == openai.APIEmbeddings }

// inputKey stands before the input of both APIs.
var inputKey = []byte(`"input"`)

func newFrame(r *openai.Request, body []byte) frame {
	f := frame{api: r.API}
	if !asJSON(r.API) {
		return f
	}
	for i := range r.Segments {
		if s := &r.Segments[i]; turnOf(r.API, s) == others && follows(body, s, inputKey) {
			return f
		}
	}
	f.list = true
	return f
}

// follows reports whether a segment is the string at a key.
func follows(body []byte, s *openai.Segment, key []byte) bool {
	before := bytes.TrimRight(body[:s.Start], " \t\r\n")
	before = bytes.TrimRight(bytes.TrimSuffix(before, []byte{'"'}), " \t\r\n")
	before, colon := bytes.CutSuffix(before, []byte{':'})
	return colon && bytes.HasSuffix(bytes.TrimRight(before, " \t\r\n"), key)
}

// turns are the parts of a prompt in their order.
func (f *frame) turns() [others + 1]int {
	if f.api == openai.APIResponses {
		return [...]int{system, tools, others}
	}
	return [...]int{tools, system, others}
}

// before is what stands before a segment of a part, of which it is not the first if again is set.
func (f *frame) before(turn int, again bool) string {
	if again {
		if f.api == openai.APIEmbeddings {
			return `","`
		}
		return ""
	}
	begun := f.begun
	f.begun = true
	switch {
	case f.api == openai.APIEmbeddings && f.list:
		return `{"Raw":"","Strings":["`
	case f.api == openai.APIEmbeddings:
		return `{"Raw":"`
	case f.api != openai.APIResponses:
		return ""
	case turn == system:
		return `[{"instructions":"`
	case turn == tools && begun:
		return `,{"tools":`
	case turn == tools:
		return `[{"tools":`
	case f.list && begun:
		return `,{"input":[`
	case f.list:
		return `[{"input":[`
	case begun:
		return `,{"input":"`
	}
	return `[{"input":"`
}

// after is what stands behind a part.
func (f *frame) after(turn int) string {
	switch {
	case f.api == openai.APIEmbeddings && f.list:
		return `"],"TokenIDs":null}`
	case f.api == openai.APIEmbeddings:
		return `","Strings":null,"TokenIDs":null}`
	case f.api != openai.APIResponses:
		return ""
	case turn == tools:
		return `}`
	case f.list && turn == others:
		return `]}`
	}
	return `"}`
}

// end is what stands behind all parts.
func (f *frame) end() string {
	if f.api == openai.APIResponses && f.begun {
		return "]"
	}
	return ""
}

// The bytes that Go's JSON writes as six.
const sixfold = "<>&"

// countJSON is CountIDs where prompts count as JSON. What clients wrote with escapes counts as long as they wrote it.
func countJSON(r *openai.Request, body []byte, media []int32) int {
	f := newFrame(r, body)
	ids, run := 0, 0
	for _, turn := range f.turns() {
		seen, opened := 0, false
		for i := range r.Segments {
			s := &r.Segments[i]
			if isMedia(s.Kind) {
				seen++
			}
			if turnOf(r.API, s) != turn || !counts(r.API, s) {
				continue
			}
			run += len(f.before(turn, opened))
			opened = true
			if opensMessage(r, body, i) {
				run += len(s.Role.String())
			}
			if isMedia(s.Kind) {
				ids, run = ids+wholeIDs(float64(run))+int(mediaAt(media, seen-1)), 0
				continue
			}
			run += s.Len()
			if s.Kind == openai.SegmentText {
				run += 5 * countAny(body[s.Start:s.End])
			}
		}
		if opened {
			run += len(f.after(turn))
		}
	}
	return ids + wholeIDs(float64(run+len(f.end())))
}

func countAny(text []byte) (n int) {
	for i := range len(sixfold) {
		n += bytes.Count(text, []byte{sixfold[i]})
	}
	return n
}

// text writes text of the body, as JSON has it where prompts count as JSON.
func (h *Hasher) text(b []byte) {
	if !h.escapes {
		h.write(b)
		return
	}
	start := 0
	for i, c := range b {
		n := h.escape(c)
		if n == 0 {
			continue
		}
		if i > start && !h.full() {
			h.write(b[start:i])
		}
		if !h.full() {
			h.write(h.escaped[:n])
		}
		start = i + 1
	}
	if start < len(b) && !h.full() {
		h.write(b[start:])
	}
}

const hexDigits = "0123456789abcdef"

// escape puts into h.escaped what JSON has for a byte, and returns how long that is, 0 for the byte itself.
func (h *Hasher) escape(c byte) int {
	short := byte(0)
	switch c {
	case '"', '\\':
		short = c
	case '\n':
		short = 'n'
	case '\r':
		short = 'r'
	case '\t':
		short = 't'
	case '\b':
		short = 'b'
	case '\f':
		short = 'f'
	case '<', '>', '&':
	default:
		if c >= ' ' {
			return 0
		}
	}
	h.escaped[0] = '\\'
	if short != 0 {
		h.escaped[1] = short
		return 2
	}
	h.escaped = [6]byte{'\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]}
	return 6
}
