package branchhints

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Side is what is known of a branch. Its value is how a profile writes it.
type Side byte

const (
	// Unknown is a branch that was not seen, or that goes both ways.
	Unknown Side = '.'
	// Unlikely is one whose condition hardly ever holds.
	Unlikely Side = '0'
	// Likely is one whose condition nearly always holds.
	Likely Side = '1'
)

// Profile is what is known of the branches of functions, one Side for each in their order, by the functions' shapes. So
// what it says of a function holds as long as that one is compiled to the same instructions, whatever else changes.
// Those of which nothing is known are not in it.
type Profile map[uint64]string

// shape sums up a function's instructions without the numbers of functions, variables and addresses, which change with
// the rest of the module.
func (f *function) shape() uint64 {
	sum := fnv.New64a()
	for _, i := range f.instructions {
		sum.Write(binary.AppendUvarint([]byte{i.op}, uint64(i.depth)))
	}
	return sum.Sum64()
}

// ReadProfile reads what Text wrote.
func ReadProfile(text string) (Profile, error) {
	p := Profile{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		shape, sides, _ := strings.Cut(line, " ")
		key, err := strconv.ParseUint(shape, 16, 64)
		if err != nil || sides == "" || strings.Trim(sides, ".01") != "" {
			return nil, fmt.Errorf("line %d: %q: want a shape in hexadecimal and sides of '.', '0' and '1'", number,
				line)
		}
		if _, twice := p[key]; twice {
			return nil, fmt.Errorf("line %d: shape %s is there already", number, shape)
		}
		p[key] = sides
	}
	return p, nil
}

// Text writes a profile, a line for each function, in an order of their shapes.
func (p Profile) Text() string {
	var b strings.Builder
	for _, shape := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%016x %s\n", shape, p[shape])
	}
	return b.String()
}
