package openai

import (
	"math"
	"math/bits"
)

// usageDocument walks one JSON object after the other, byte by byte where it must, looking for the usage. It follows
// only the objects that can hold it; all others are skipped by counting brackets. All state fits in it, so input may
// stop and go on anywhere.
type usageDocument struct {
	step   documentStep
	nodes  [4]node // objects entered, outermost first
	depth  int8    // entries in nodes
	skip   int     // open brackets in a skipped value
	target field   // of the number being read
	number int
	word   [maxWord]byte // the key being read; its length is size, beyond maxWord when too long
	size   int

	counts      [fieldInput]int // as committed
	seen        uint8           // bit per field
	fresh       [fieldCount]int // of the usage object being read
	freshFields uint8
}

type documentStep uint8

const (
	stepStart documentStep = iota
	stepKey                // before a key, or behind a value
	stepInKey
	stepKeyEscape
	stepColon
	stepValue
	stepNumber
	stepFraction // of a number
	stepScalar
	stepSkip
	stepString
	stepEscape
	stepDone // behind the object, or lost
)

// restart drops the current object and waits for the next one.
func (d *usageDocument) restart() {
	d.step, d.depth, d.skip = stepStart, 0, 0
}

// nextLine is called at each data line. An event may spread one object over several; one that is complete or broken is
// left.
func (d *usageDocument) nextLine() {
	if d.step == stepDone {
		d.restart()
	}
}

// feed reads on. Whoever is called here returns the offset of the first byte that it leaves.
func (d *usageDocument) feed(b []byte) {
	for i := 0; i < len(b); {
		switch d.step {
		case stepString, stepEscape:
			i = d.inString(b, i)
		case stepSkip:
			i = d.inSkipped(b, i)
		case stepInKey, stepKeyEscape:
			i = d.inKey(b, i)
		case stepNumber, stepFraction, stepScalar:
			i = d.inScalar(b, i)
		case stepDone:
			return
		default:
			if b[i] > ' ' {
				d.punctuation(b[i])
			}
			i++
		}
	}
}

// inString reads on in a string whose text does not matter.
func (d *usageDocument) inString(b []byte, i int) int {
	if d.step == stepEscape {
		d.step = stepString
		i++
	}
	for {
		switch i = stretchEnd(b, i); {
		case i == len(b):
			return i
		case b[i] == '"':
			d.step = stepKey
			if d.skip > 0 {
				d.step = stepSkip
			}
			return i + 1
		case i+1 == len(b):
			d.step = stepEscape
			return i + 1
		}
		i += 2
	}
}

// stretchEnd is the offset of the first quote or backslash from i on, or the end of b.
func stretchEnd(b []byte, i int) int {
	for len(b)-i >= 8 {
		w := load64(b, i)
		m := (quoteOrLess(w) | backslash(w)) &^ w & highs
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if b[i] == '"' || b[i] == '\\' {
			return i
		}
		i++
	}
	for ; i < len(b); i++ {
		if b[i] == '"' || b[i] == '\\' {
			return i
		}
	}
	return i
}

// inSkipped counts brackets up to the end of the skipped value, past the strings between them.
func (d *usageDocument) inSkipped(b []byte, i int) int {
	for i < len(b) {
		if len(b)-i >= 8 {
			m := quoteOrBracket(load64(b, i))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		c := b[i]
		i++
		switch c {
		case '{', '[':
			d.skip++
		case '}', ']':
			if d.skip--; d.skip == 0 {
				d.step = stepKey
				return i
			}
		case '"':
			d.step = stepString
			if i = d.inString(b, i); d.step != stepSkip {
				return i
			}
		}
	}
	return i
}

// quoteOrBracket sets the high bit of every byte of w that is a quote or a bracket, of '_', 'Y', 'y' and DEL as well,
// and of others above a hit. What differs between the four brackets is set in all bytes before they are compared.
func quoteOrBracket(w uint64) uint64 {
	const brackets, differ = 0x7f, 0x26
	quote, bracket := w^'"'*ones, (w|differ*ones)^brackets*ones
	return ((quote-ones)&^quote | (bracket-ones)&^bracket) & highs
}

// inKey reads on in a key.
func (d *usageDocument) inKey(b []byte, i int) int {
	if d.step == stepKeyEscape {
		d.step = stepInKey
		i++
	}
	end := stretchEnd(b, i)
	if d.size+end-i <= maxWord {
		d.size += copy(d.word[d.size:], b[i:end])
	} else {
		d.size = maxWord + 1
	}
	if end == len(b) {
		return end
	}
	d.step = stepColon
	if b[end] == '\\' {
		// No server writes the keys looked for with escapes: the key counts as another one.
		d.size = maxWord + 1
		d.step = stepKeyEscape
	}
	return end + 1
}

// punctuation handles the bytes between tokens.
func (d *usageDocument) punctuation(c byte) {
	switch {
	case d.step == stepStart && c == '{':
		d.push(nodeRoot)
	case d.step == stepColon && c == ':':
		d.step = stepValue
	case d.step == stepKey && c == '"':
		d.step, d.size = stepInKey, 0
	case d.step == stepKey && c == ',':
	case d.step == stepKey && c == '}':
		d.pop()
	case d.step == stepValue:
		d.value(c)
	default:
		d.step = stepDone
	}
}

// value starts a value of an object that is followed.
func (d *usageDocument) value(c byte) {
	parent, key := d.nodes[d.depth-1], ""
	if d.size <= maxWord {
		key = view(d.word[:d.size])
	}
	switch c {
	case '{':
		if n := nodeOf(parent, key); n != nodeOther {
			d.push(n)
			return
		}
		d.step, d.skip = stepSkip, 1
	case '[':
		d.step, d.skip = stepSkip, 1
	case '"':
		d.step = stepString
	case '}', ']', ',', ':':
		d.step = stepDone
	default:
		d.step = stepScalar
		if d.target = fieldOf(parent, key); d.target != fieldNone && c-'0' < 10 {
			d.step, d.number = stepNumber, int(c-'0')
		}
	}
}

// inScalar reads on in a number or literal.
func (d *usageDocument) inScalar(b []byte, i int) int {
	for ; i < len(b); i++ {
		c := b[i]
		if d.step != stepScalar {
			d.inNumber(c)
		}
		switch c {
		case ',':
			d.step = stepKey
			return i + 1
		case '}':
			d.pop()
			return i + 1
		}
	}
	return i
}

// inNumber reads the next byte of a number that is looked for, or the one behind it. A fraction is cut off; a number
// with an exponent is not taken.
func (d *usageDocument) inNumber(c byte) {
	switch {
	case c-'0' < 10 && d.step == stepFraction:
	case c-'0' < 10:
		if d.number > (math.MaxInt32-9)/10 {
			d.number = math.MaxInt32
			return
		}
		d.number = d.number*10 + int(c-'0')
	case c == '.':
		d.step = stepFraction
	default:
		if c <= ' ' || c == ',' || c == '}' {
			d.fresh[d.target] = d.number
			d.freshFields |= 1 << d.target
		}
		d.step = stepScalar
	}
}

func (d *usageDocument) push(n node) {
	if n == nodeUsage {
		d.freshFields = 0
	}
	d.nodes[d.depth] = n
	d.depth++
	d.step = stepKey
}

func (d *usageDocument) pop() {
	d.depth--
	if d.nodes[d.depth] == nodeUsage {
		d.commit()
	}
	d.step = stepKey
	if d.depth == 0 {
		d.step = stepDone
	}
}
