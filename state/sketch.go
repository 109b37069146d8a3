package state

// sketch estimates how often keys were seen lately: a count-min sketch (Cormode, Muthukrishnan, 2005) of 4-bit
// counters, halved now and then, as TinyLFU (Einziger, Friedman, Manes, 2017) has it. The four counters of a key lie in
// one cache line. It counts no less than what was added since the last halving, up to 15.
type sketch struct {
	lines chunks[[sketchLine]uint64]
	added int // since the last halving
}

func newSketch() *sketch {
	s := new(sketch)
	s.lines.shift = sketchShift
	return s
}

const (
	sketchLine  = 8 // words of 16 counters
	sketchFirst = 512
	// sketchShift makes pieces of 16 KiB, as a table's heads have: TinyGo's collector hardly ever frees large ones.
	sketchShift = 8
	// sketchKeys is how many keys there are to be for each line: 16 counters for each.
	sketchKeys = 8
	// sketchLines bounds the lines, 4 MiB. With more keys than these are made for counts are too high now and then.
	sketchLines = 1 << 16
	// sketchSample is how many additions for each key come between two halvings.
	sketchSample = 16
)

// reach makes the sketch fit for so many keys. What was counted stays.
func (s *sketch) reach(keys int) {
	for n := s.lines.size(); n == 0 || int(n)*sketchKeys < keys && n < sketchLines; n = s.lines.size() {
		if n == 0 {
			s.lines.reach(sketchFirst - 1)
			continue
		}
		s.lines.reach(2*n - 1)
		// Both halves begin with what the one has: a key then finds what it left in either.
		half := len(s.lines.pieces) / 2
		for i, piece := range s.lines.pieces[:half] {
			copy(s.lines.pieces[half+i], piece)
		}
	}
}

// place returns the word and the shift of counter i of a key whose line was found by the low bits of h.
func (s *sketch) place(line *[sketchLine]uint64, h uint64, i int) (word *uint64, shift uint) {
	part := uint(h >> (32 + 7*i))
	return &line[part%sketchLine], part / sketchLine % 16 * 4
}

func (s *sketch) line(h uint64) *[sketchLine]uint64 {
	return s.lines.at(uint32(h) & (s.lines.size() - 1))
}

// add counts a key once. Only the least of its counters grow: the others are others' already.
func (s *sketch) add(key uint64) {
	h := splitMix(key)
	line := s.line(h)
	least := s.least(line, h)
	if least < 15 {
		for i := range 4 {
			if word, shift := s.place(line, h, i); *word>>shift&15 == least {
				*word += 1 << shift
			}
		}
	}
	if s.added++; s.added >= int(s.lines.size())*sketchKeys*sketchSample {
		s.halve()
	}
}

func (s *sketch) estimate(key uint64) uint64 {
	h := splitMix(key)
	return s.least(s.line(h), h)
}

// least is the estimate of the key of which h is the hash.
func (s *sketch) least(line *[sketchLine]uint64, h uint64) uint64 {
	least := uint64(15)
	for i := range 4 {
		word, shift := s.place(line, h, i)
		least = min(least, *word>>shift&15)
	}
	return least
}

// warm reads what counting each of the keys will read first, see table.warm.
func (s *sketch) warm(keys []uint64) (sum uint32) {
	for _, key := range keys {
		sum += uint32(s.line(splitMix(key))[0])
	}
	return sum
}

// halve makes every counter half of what it was.
func (s *sketch) halve() {
	for _, piece := range s.lines.pieces {
		for i := range piece {
			for j := range piece[i] {
				piece[i][j] = piece[i][j] >> 1 & 0x7777777777777777
			}
		}
	}
	s.added /= 2
}

func (s *sketch) memory() int { return s.lines.memory() }
