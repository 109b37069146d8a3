package branchhints

import "encoding/binary"

// Fit says how far hints go.
type Fit struct {
	// Branches are the module's, Hints those of them that have one.
	Branches, Hints int
	// Known are the functions in the profile, Found those of them that the module has.
	Known, Found int
}

// Hinted returns the module with hints, by the profile and by what leads to panics.
func (m *Module) Hinted(p Profile) ([]byte, Fit) {
	fit := Fit{Known: len(p)}
	found := map[uint64]bool{}
	var functions []byte
	hinted := 0
	for i := range m.functions {
		f := &m.functions[i]
		shape := f.shape()
		if p[shape] != "" {
			found[shape] = true
		}
		hints, n := f.hints(p[shape], &fit)
		if n == 0 {
			continue
		}
		hinted++
		fit.Hints += n
		functions = binary.AppendUvarint(functions, uint64(m.imports+i))
		functions = binary.AppendUvarint(functions, uint64(n))
		functions = append(functions, hints...)
	}
	fit.Found = len(found)

	payload := appendVector(nil, []byte(hintsName))
	payload = binary.AppendUvarint(payload, uint64(hinted))
	payload = append(payload, functions...)
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range m.sections {
		if s.id == sectionCode { // which the hints have to precede
			out = appendVector(append(out, sectionCustom), payload)
		}
		out = appendVector(append(out, s.id), s.payload)
	}
	return out, fit
}

// hints returns those of a function, and how many. sides is what the profile says of it, if anything.
func (f *function) hints(sides string, fit *Fit) (hints []byte, n int) {
	flow := newFlow(f.instructions)
	branch := 0
	for i, c := range f.instructions {
		if !c.branches() {
			continue
		}
		side := flow.panicking(i)
		if side == Unknown && branch < len(sides) {
			side = Side(sides[branch])
		}
		branch++
		if side == Unknown {
			continue
		}
		hints = binary.AppendUvarint(hints, uint64(c.at))
		hints = append(hints, 1, byte(side-Unlikely))
		n++
	}
	fit.Branches += branch
	return hints, n
}
