package openai

import "strings"

// MaxWanted bounds the keys that Want takes.
const MaxWanted = 8

// wanted is a key of the outermost object, or one of an object there.
type wanted struct{ outer, inner string }

// Want has scans read further strings of the outermost object, see Wanted. A name is a key, or two with a dot between
// them for a key of an object; keys have at most 32 bytes. A key whose value is an object stands for the id in it.
// Those that have a meaning of their own for the API cannot be read so. names must stay as they are; of more than
// MaxWanted the first count.
func (r *Request) Want(names []string) {
	if r.state == nil {
		r.state = new(state)
	}
	s := r.state
	names = names[:min(len(names), MaxWanted)]
	if len(names) == len(s.wanted) && (len(names) == 0 || &names[0] == s.wantedNames) {
		return
	}
	s.wanted = s.wanted[:0]
	for _, name := range names {
		outer, inner, _ := strings.Cut(name, ".")
		s.wanted = append(s.wanted, wanted{outer, inner})
	}
	if len(names) > 0 {
		s.wantedNames = &names[0]
	}
}

// Reserved reports whether a key of the outermost object has a meaning of its own in some API, so that Want is not to
// name it.
func Reserved(name string) bool {
	switch k := keyOf(name); k {
	case keyIncludeUsage, keyExtraKey, keyLoRAPath: // that of another object, and those that Want may name, too
		return false
	case keyText:
		return true
	default:
		return k <= keySamplingParams
	}
}

// Wanted is the string of the key that Want named i-th, cut to MaxName bytes; empty when there is none.
func (r *Request) Wanted(i int) string {
	if uint(i) >= uint(len(r.wanted)) {
		return ""
	}
	return r.wanted[i]
}

// other reads the value of a key without a meaning of its own, which is the string read last.
func (s *scanner) other() {
	at := -1
	if len(s.wants) > 0 {
		at = s.find(s.word())
	}
	if at < 0 {
		s.skip()
		return
	}
	outer := s.wants[at].outer
	for i := range s.wants {
		if s.wants[i].outer == outer {
			s.found[i] = text{}
		}
	}
	switch s.peek() {
	case '"':
		s.string()
		for i := range s.wants {
			if s.wants[i] == (wanted{outer, ""}) {
				s.found[i] = s.last
			}
		}
	case '{':
		s.inner(outer)
	default:
		s.skip()
	}
}

// find is the first wanted key of the outermost object that is called so, -1 for none.
func (s *scanner) find(key string) int {
	for i := range s.wants {
		if s.wants[i].outer == key {
			return i
		}
	}
	return -1
}

// inner reads the wanted keys of an object in the outermost one.
func (s *scanner) inner(outer string) {
	for k := s.firstKey(); k != keyEnd; k = s.nextKey() {
		hits := uint(0)
		key := s.word()
		for i := range s.wants {
			want := s.wants[i].inner
			if want == "" {
				want = "id"
			}
			if s.wants[i].outer == outer && want == key {
				hits |= 1 << i
			}
		}
		if hits == 0 {
			s.skip()
			continue
		}
		value := s.optionalString()
		for i := range s.wants {
			if hits>>i&1 == 1 {
				s.found[i] = value
			}
		}
	}
}
