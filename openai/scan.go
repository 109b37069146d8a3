package openai

// MaxDepth is how deep arrays and objects may nest, the outermost object included.
const MaxDepth = 512

// scanner walks one body from front to back. The first failure sticks: it moves pos to the end and every loop ends by
// itself.
type scanner struct {
	body   []byte
	pos    int
	depth  int
	last   text // the string read last
	err    Error
	failed bool

	keepsBilling bool // see Request.KeepBilling

	extraction
	slots [slotCount]slot
	media [3][mediaKeys]text // of the part that is open, of a part inside it and of one inside that

	buffer [maxWord]byte // an escaped key, role or type
}

func (s *scanner) fail(r Reason, at int) {
	if s.failed {
		return
	}
	s.failed = true
	s.err = Error{Offset: uint32(at), Reason: r}
	s.pos = len(s.body)
}

// unexpected fails at pos: at the end of the body it is cut off, elsewhere r.
func (s *scanner) unexpected(r Reason) {
	if s.pos >= len(s.body) {
		r = ReasonEnd
	}
	s.fail(r, s.pos)
}

// peek skips white space and returns the byte at pos, 0 at the end.
func (s *scanner) peek() byte {
	b, i := s.body, s.pos
	for i < len(b) {
		c := b[i]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			s.pos = i
			return c
		}
		i++
	}
	s.pos = i
	return 0
}

func (s *scanner) enter() {
	if s.depth >= MaxDepth {
		s.fail(ReasonDepth, s.pos)
		return
	}
	s.depth++
	s.pos++
}

func (s *scanner) leave() {
	s.depth--
	s.pos++
}

// firstKey enters the object at pos and stops in front of its first value. keyEnd means that the object ended (and was
// left) or that the scan failed.
func (s *scanner) firstKey() key {
	s.enter()
	if s.peek() == '}' {
		s.leave()
		return keyEnd
	}
	return s.key()
}

// nextKey goes on behind a value.
func (s *scanner) nextKey() key {
	switch s.peek() {
	case ',':
		s.pos++
		s.peek()
		return s.key()
	case '}':
		s.leave()
		return keyEnd
	}
	s.unexpected(ReasonByte)
	return keyEnd
}

func (s *scanner) key() key {
	if !s.rawKey() {
		return keyEnd
	}
	return keyOf(s.word())
}

// rawKey reads a key and its colon; the key stays in s.last.
func (s *scanner) rawKey() bool {
	if s.pos >= len(s.body) || s.body[s.pos] != '"' {
		s.unexpected(ReasonByte)
		return false
	}
	s.string()
	if s.failed {
		return false
	}
	if s.peek() != ':' {
		s.unexpected(ReasonByte)
		return false
	}
	s.pos++
	s.peek()
	return true
}

// firstElement enters the array at pos; false means that it ended or that the scan failed.
func (s *scanner) firstElement() bool {
	s.enter()
	if s.peek() == ']' {
		s.leave()
		return false
	}
	return !s.failed
}

func (s *scanner) nextElement() bool {
	switch s.peek() {
	case ',':
		s.pos++
		s.peek()
		return true
	case ']':
		s.leave()
		return false
	}
	s.unexpected(ReasonByte)
	return false
}

// skip validates the value at pos and stops behind it. It is a loop with one bit per open container, as the stack is
// small in Wasm.
func (s *scanner) skip() {
	var objects [MaxDepth / 64]uint64
	base := s.depth
	for {
		switch s.peek() {
		case '{':
			if s.open(&objects, true) {
				continue
			}
		case '[':
			if s.open(&objects, false) {
				continue
			}
		default:
			s.scalar()
		}
		if s.failed || !s.closeAll(&objects, base) {
			return
		}
	}
}

// open enters a container and, in an object, its first key. False means that the container is empty and left again.
func (s *scanner) open(objects *[MaxDepth / 64]uint64, object bool) bool {
	s.enter()
	if s.failed {
		return false
	}
	word, bit := (s.depth-1)/64, uint64(1)<<((s.depth-1)%64)
	closing := byte(']')
	objects[word] &^= bit
	if object {
		objects[word] |= bit
		closing = '}'
	}
	if s.peek() == closing {
		s.leave()
		return false
	}
	return !object || s.rawKey()
}

// closeAll leaves the containers that end behind a value. True means that another value follows inside the skipped one.
func (s *scanner) closeAll(objects *[MaxDepth / 64]uint64, base int) bool {
	for s.depth > base {
		object := objects[(s.depth-1)/64]>>((s.depth-1)%64)&1 == 1
		switch c := s.peek(); {
		case c == ',':
			s.pos++
			if object {
				s.peek()
				return s.rawKey()
			}
			return true
		case c == '}' && object, c == ']' && !object:
			s.leave()
		default:
			s.unexpected(ReasonByte)
			return false
		}
	}
	return false
}

// scalar validates the string, number or literal at pos.
func (s *scanner) scalar() {
	switch c := s.peek(); c {
	case '"':
		s.string()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		if c != '-' && (c < '0' || c > '9') {
			s.unexpected(ReasonByte)
			return
		}
		s.number()
	}
}

func (s *scanner) literal(want string) bool {
	end := s.pos + len(want)
	if end > len(s.body) || view(s.body[s.pos:end]) != want {
		s.fail(ReasonLiteral, s.pos)
		return false
	}
	s.pos = end
	return true
}

// number validates the number at pos (RFC 8259, section 6).
func (s *scanner) number() {
	b, i := s.body, s.pos
	if b[i] == '-' {
		i++
	}
	first := i
	i = digits(b, i)
	if i == first || b[first] == '0' && i > first+1 {
		s.pos = first
		s.unexpected(ReasonNumber)
		return
	}
	if i < len(b) && b[i] == '.' {
		first = i + 1
		i = digits(b, first)
		if i == first {
			s.pos = i
			s.unexpected(ReasonNumber)
			return
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		first = i
		i = digits(b, first)
		if i == first {
			s.pos = i
			s.unexpected(ReasonNumber)
			return
		}
	}
	s.pos = i
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}
