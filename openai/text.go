package openai

// text reads a prompt: a string, a part, or an array of strings, parts, token ids and arrays of token ids, which may
// have text in them, see nestsText.
func (s *scanner) text(role Role, part int) {
	switch s.peek() {
	case '"':
		s.string()
		s.addText(role, &s.last)
	case '{':
		s.part(role, part)
	case '[':
		ids := idRun{role: role}
		for more := s.firstElement(); more; more = s.nextElement() {
			s.element(&ids, part)
		}
		s.endIDs(&ids)
	default:
		s.skip()
	}
}

// idRun is token ids that follow one another, which make one segment.
type idRun struct {
	role       Role
	start, end int // end is 0 before the first
}

func (s *scanner) element(ids *idRun, part int) {
	switch c := s.peek(); {
	case c == '[':
		s.endIDs(ids)
		inner := idRun{role: ids.role}
		for more := s.firstElement(); more; more = s.nextElement() {
			if c := s.peek(); (c == '{' || c == '"') && s.nestsText() {
				s.endIDs(&inner)
				s.text(inner.role, part)
				continue
			}
			s.token(&inner)
		}
		s.endIDs(&inner)
	case c == '"', c == '{':
		s.endIDs(ids)
		s.text(ids.role, part)
	default:
		s.token(ids)
	}
}

// nestsText reports whether a list in a list may hold text: the messages of one of several chats (vLLM's embeddings),
// two texts to compare (SGLang's /classify and /encode), a document in parts (its /rerank).
func (s *scanner) nestsText() bool {
	return s.api == APIEmbeddings || s.api == APIRerank || s.api == APIGenerate
}

// token counts a number; other values are skipped.
func (s *scanner) token(ids *idRun) {
	if c := s.peek(); c == '-' || c-'0' < 10 {
		if ids.end == 0 {
			ids.start = s.pos
		}
		s.number()
		ids.end = s.pos
		s.sum.tokens++
		return
	}
	s.skip()
}

func (s *scanner) endIDs(ids *idRun) {
	if ids.end != 0 {
		s.addSegment(SegmentTokens, ids.role, ids.start, ids.end, false)
		ids.end = 0
	}
}
