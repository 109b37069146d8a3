package openai

// tally counts what a stretch of the body contributed, so that a later duplicate of its key can take it back.
type tally struct {
	chars, bytes, tokens   int
	messages, tools        int
	images, audios, videos int
	dropped                int // segments that found no room
}

func (t *tally) add(o *tally, sign int) {
	t.chars += sign * o.chars
	t.bytes += sign * o.bytes
	t.tokens += sign * o.tokens
	t.messages += sign * o.messages
	t.tools += sign * o.tools
	t.images += sign * o.images
	t.audios += sign * o.audios
	t.videos += sign * o.videos
	t.dropped += sign * o.dropped
}

// Slots remember the contribution of the keys of the objects that are open: first the prompt keys of the body, then the
// keys of the current message, then the content of the current part, of a part inside it and of one inside that.
const (
	slotContent = int(promptKeys) + iota
	slotToolCalls
	slotFunctionCall
	slotOutput
	slotPart
	slotInnerPart
	slotInnermostPart
	slotCount
)

const messageSlots = 1<<slotContent | 1<<slotToolCalls | 1<<slotFunctionCall | 1<<slotOutput

type slot struct {
	lo, hi int   // range of segments
	sum    tally // while open: the negative of what was there before
}

// extraction is what a scan collects.
type extraction struct {
	api      API
	segments []Segment
	sum      tally
	used     uint32 // bit per slot

	model, user, cacheSalt, extraKey, loraPath, previousID text

	modelBad            bool
	modelAt             int
	saltSpan            Span
	stream, streamUsage bool
	maxTokens           [limits]limit
	// found are the values of wants.
	wants []wanted
	found [MaxWanted]text
}

// limits counts the keys from keyMaxTokens to keyMaxNewTokens, and the two of them that stand in sampling_params.
const (
	limitLegacy      = 0
	limitCompletion  = int(keyMaxCompletionTokens - keyMaxTokens)
	limitSampling    = int(keyMaxNewTokens-keyMaxTokens) + 1
	limitSamplingNew = limitSampling + 1
	limits           = limitSampling + 2
)

// limit is one of the keys that bound the length of the answer. at orders them, see answerLimit.
type limit struct{ value, at int }

// begin opens a slot. What an earlier duplicate of the key left is taken back first.
func (s *scanner) begin(id int) {
	s.drop(id)
	sl := &s.slots[id]
	sl.lo = len(s.segments)
	sl.sum = tally{}
	sl.sum.add(&s.sum, -1)
}

func (s *scanner) end(id int) {
	sl := &s.slots[id]
	sl.hi = len(s.segments)
	sl.sum.add(&s.sum, 1)
	s.used |= 1 << id
}

// drop takes back what a slot holds. Later segments move up; each of them can be moved only once per slot of its
// object, so the work stays linear in the body.
func (s *scanner) drop(id int) {
	if s.used>>id&1 == 0 {
		return
	}
	s.used &^= 1 << id
	sl := s.slots[id]
	s.sum.add(&sl.sum, -1)
	n := sl.hi - sl.lo
	if n == 0 {
		return
	}
	s.segments = append(s.segments[:sl.lo], s.segments[sl.hi:]...)
	for i := range s.slots {
		if s.used>>i&1 == 1 && s.slots[i].lo >= sl.hi {
			s.slots[i].lo -= n
			s.slots[i].hi -= n
		}
	}
}

func (s *scanner) addSegment(kind SegmentKind, role Role, start, end int, escaped bool) {
	if len(s.segments) >= MaxSegments {
		s.sum.dropped++
		return
	}
	s.segments = append(s.segments, Segment{Span: span(start, end), Role: role, Kind: kind, Escaped: escaped})
}

func (s *scanner) addText(role Role, t *text) {
	s.sum.chars += t.chars
	s.sum.bytes += t.bytes
	s.addSegment(SegmentText, role, t.start, t.end, t.escaped)
}

func span(start, end int) Span { return Span{Start: uint32(start), End: uint32(end)} }
