package openai

// Turn is what a body of POST /v1/responses says of the conversation that it goes on with. The zero value is ready; it
// keeps its memory from one scan to the next.
type Turn struct {
	// Previous is previous_response_id, decoded; empty when there is none. It does not alias the body.
	Previous string
	// Input is the value of input; of length 0 when there is none.
	Input Span
	// Unstored is set by store: false.
	Unstored bool
	// Elsewhere is set when the state is the server's own affair: by conversation, or by background: true.
	Elsewhere bool
	// Twice is set when input or previous_response_id is there more than once, so that nobody knows which one counts.
	Twice bool

	// member is previous_response_id with its key, comma the offset of the comma before it, next that behind a comma
	// that follows, -1 for none.
	member      Span
	comma, next int
	scanner     scanner
}

// Scan reads body, which must be one JSON object; false when it is not sound JSON. The body is not kept, but Splice
// needs it again.
func (t *Turn) Scan(body []byte) bool {
	s := &t.scanner
	t.Previous, t.Input, t.member, t.comma, t.next = "", Span{}, Span{}, -1, -1
	t.Unstored, t.Elsewhere, t.Twice = false, false, false
	s.body, s.pos, s.depth, s.failed = body, 0, 0, false
	if len(body) > MaxBody || s.peek() != '{' {
		s.body = nil
		return false
	}
	t.members(s)
	s.peek()
	sound := !s.failed && s.pos == len(body)
	s.body = nil
	return sound
}

func (t *Turn) members(s *scanner) {
	inputs, previous, comma := 0, 0, -1
	var id text
	given := false
	s.enter()
	for more := s.peek() != '}'; more; {
		start, isPrevious := s.pos, false
		if !s.rawKey() {
			return
		}
		switch name := s.word(); keyOf(name) {
		case keyInput:
			inputs++
			at := s.pos
			s.skip()
			t.Input = span(at, s.pos)
		case keyPreviousResponseID:
			previous++
			isPrevious = true
			given = given || s.peek() != 'n'
			id = s.optionalString()
			t.member, t.comma, t.next = span(start, s.pos), comma, -1
		default:
			t.setting(s, name)
		}
		if more = s.peek() == ','; more {
			comma = s.pos
			s.pos++
			if isPrevious {
				t.next = s.pos
			}
			s.peek()
		}
	}
	t.Twice = inputs > 1 || previous > 1
	if given && !s.failed {
		t.Previous = s.id(&id)
	}
	if s.peek() != '}' {
		s.unexpected(ReasonByte)
		return
	}
	s.leave()
}

// id is the id of a response, and where there is none one that no response has.
func (s *scanner) id(t *text) string {
	raw := s.body[t.start:t.end]
	if t.escaped {
		raw = AppendUnescaped(make([]byte, 0, MaxName), raw, MaxName)
	}
	if len(raw) == 0 {
		return "?"
	}
	return string(raw[:min(len(raw), MaxName)])
}

func (t *Turn) setting(s *scanner, name string) {
	switch name {
	case "store":
		t.Unstored = s.peek() == 'f'
	case "conversation":
		t.Elsewhere = t.Elsewhere || s.peek() != 'n'
	case "background":
		t.Elsewhere = t.Elsewhere || s.peek() == 't'
	}
	s.skip()
}

// Spliceable reports whether items can be put in front of the input: it is text, a list, or missing, and there once.
func (t *Turn) Spliceable(body []byte) bool {
	if t.Twice {
		return false
	}
	if t.Input.Len() == 0 {
		return true
	}
	first := body[t.Input.Start]
	return first == '"' || first == '[' || first == 'n'
}

// The text of an input that is a string, as an item.
const (
	itemStart = `{"type":"message","role":"user","content":`
	itemEnd   = `}`
)

// edit puts text, and then the items if they go there, in the place of a span of the body.
type edit struct {
	Span
	before, after string
	items         bool
}

// Splice appends the beginning of the body with items, which are JSON values with commas between them, in front of
// those of its input, and without previous_response_id unless keep. What it appends replaces the first end bytes of the
// body; all others stay. The Turn is of that body and must be Spliceable and have a Previous.
func (t *Turn) Splice(dst, body, items []byte, keep bool) (prefix []byte, end int) {
	var edits [3]edit
	n := t.insertions(edits[:], body, len(items) > 0, keep)
	// Without an input the items take the member's place.
	if !keep && t.Input.Len() > 0 {
		edits[n] = edit{Span: t.removal()}
		n++
	}
	list := edits[:n]
	for i := 1; i < len(list); i++ {
		for k := i; k > 0 && list[k].Start < list[k-1].Start; k-- {
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
	at := 0
	for i := range list {
		e := &list[i]
		dst = append(append(dst, body[at:e.Start]...), e.before...)
		if e.items {
			dst = append(dst, items...)
		}
		dst = append(dst, e.after...)
		at = int(e.End)
	}
	return dst, at
}

// removal is previous_response_id with one comma, which is there as the input is.
func (t *Turn) removal() Span {
	if t.next >= 0 {
		return span(int(t.member.Start), t.next)
	}
	return span(t.comma, int(t.member.End))
}

// insertions are the edits of the input; some says whether there are items.
func (t *Turn) insertions(edits []edit, body []byte, some, keep bool) int {
	start, end := int(t.Input.Start), int(t.Input.End)
	if start == end {
		edits[0] = edit{Span: t.member, before: `"input":[`, after: "]", items: true}
		if keep {
			edits[0].Span, edits[0].after = span(int(t.member.Start), int(t.member.Start)), "],"
		}
		return 1
	}
	if !some {
		return 0
	}
	switch body[start] {
	case '"':
		edits[0] = edit{Span: span(start, start), before: "[", after: "," + itemStart, items: true}
		edits[1] = edit{Span: span(end, end), before: itemEnd + "]"}
		return 2
	case '[':
		edits[0] = edit{Span: span(start+1, start+1), items: true}
		for i := start + 1; i < end-1; i++ {
			if body[i] > ' ' {
				edits[0].after = ","
				break
			}
		}
		return 1
	}
	edits[0] = edit{Span: t.Input, before: "[", after: "]", items: true}
	return 1
}
