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

	counts      [fieldCount]int // as committed
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
	stepScalar
	stepSkip
	stepString
	stepEscape
	stepDone // behind the object, or lost
)

// restart drops the current object and waits for the next one.
func (d *usageDocument) restart() {
	d.step, d.depth, d.skip, d.freshFields = stepStart, 0, 0, 0
}

// nextLine is called at each data line. An event may spread one object over several; one that is complete or broken is
// left.
func (d *usageDocument) nextLine() {
	if d.step == stepDone {
		d.restart()
	}
}

func (d *usageDocument) feed(b []byte) {
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch d.step {
		case stepString:
			i = d.inString(b, i)
		case stepEscape:
			d.step = stepString
		case stepSkip:
			i = d.skipRun(b, i)
		case stepInKey, stepKeyEscape:
			d.inKey(c)
		case stepNumber, stepScalar:
			d.inScalar(c)
		case stepDone:
			return
		default:
			if c > ' ' {
				d.punctuation(c)
			}
		}
	}
}

// inString moves to the quote or backslash that ends this stretch of a string and returns its offset.
func (d *usageDocument) inString(b []byte, i int) int {
	for len(b)-i >= 8 {
		w := load64(b, i)
		if m := (quoteOrLess(w) | backslash(w)) &^ w & highs; m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			break
		}
		i += 8
	}
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			d.step = stepKey
			if d.skip > 0 {
				d.step = stepSkip
			}
			return i
		case '\\':
			d.step = stepEscape
			return i
		}
	}
	return i
}

// skipRun counts brackets up to the start of a string or the end of the skipped value and returns the offset of that
// byte.
func (d *usageDocument) skipRun(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			d.skip++
		case '}', ']':
			if d.skip--; d.skip == 0 {
				d.step = stepKey
				return i
			}
		case '"':
			d.step = stepString
			return i
		}
	}
	return i
}

func (d *usageDocument) inKey(c byte) {
	switch {
	case d.step == stepKeyEscape:
		d.step = stepInKey
	case c == '"':
		d.step = stepColon
	case c == '\\':
		// No server writes the keys looked for with escapes: the key counts as another one.
		d.size = maxWord + 1
		d.step = stepKeyEscape
	case d.size < maxWord:
		d.word[d.size] = c
		d.size++
	default:
		d.size = maxWord + 1
	}
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

// inScalar reads on in a number or literal. A fraction is cut off; a number with an exponent is not taken.
func (d *usageDocument) inScalar(c byte) {
	if d.step == stepNumber {
		if c-'0' < 10 {
			if d.number > (math.MaxInt32-9)/10 {
				d.number = math.MaxInt32
				return
			}
			d.number = d.number*10 + int(c-'0')
			return
		}
		d.step = stepScalar
		if c <= ' ' || c == ',' || c == '}' || c == '.' {
			d.fresh[d.target] = d.number
			d.freshFields |= 1 << d.target
		}
	}
	switch c {
	case ',':
		d.step = stepKey
	case '}':
		d.pop()
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

// commit takes over the fields of a usage object that ended. A total belongs to the counts it came with, so one that
// came without is computed anew.
func (d *usageDocument) commit() {
	if d.freshFields == 0 {
		return
	}
	for f := range d.fresh {
		if d.freshFields>>f&1 == 1 {
			d.counts[f] = d.fresh[f]
		}
	}
	d.seen = d.seen&^(1<<fieldTotal) | d.freshFields
}
