package branchhints

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// counts is a function of an i32: 7 for 0, a panic for 3, and otherwise 0 after as many rounds as it says.
const counts = "\x02\x40" + // block
	"\x20\x00\x0d\x00" + // x; br_if 0
	"\x41\x07\x0f" + // return 7
	"\x0b" +
	"\x20\x00\x41\x03\x46" + // x == 3
	"\x04\x40\x00\x0b" + // if unreachable
	"\x03\x40" + // loop
	"\x20\x00\x41\x01\x6b\x22\x00\x0d\x00" + // x--; br_if 0
	"\x0b" +
	"\x20\x00"

// assemble makes a module with functions of an i32 that return one, named f0, f1 and so on. code is without the end.
func assemble(code ...string) []byte {
	n := byte(len(code))
	types, exports, bodies := []byte{n}, []byte{n}, []byte{n}
	for i, c := range code {
		types = append(types, 0)
		exports = append(appendVector(exports, fmt.Append(nil, "f", i)), 0, byte(i))
		bodies = appendVector(bodies, []byte("\x00"+c+"\x0b"))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range []section{
		{sectionCustom, append(appendVector(nil, []byte("producers")), "any"...)},
		{sectionType, []byte("\x01\x60\x01\x7f\x01\x7f")},
		{sectionFunction, types},
		{sectionGlobal, []byte("\x01\x7f\x00\x41\x05\x0b")},
		{sectionExport, exports},
		{sectionCode, bodies},
	} {
		out = appendVector(append(out, s.id), s.payload)
	}
	return out
}

func parse(t testing.TB, wasm []byte) *Module {
	t.Helper()
	m, err := Parse(wasm)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return m
}

// sides are those that hints give each branch of a module, functions apart by spaces.
func sides(t testing.TB, hinted []byte) string {
	t.Helper()
	given := map[[2]int]byte{}
	r := reader{bytes: hinted, at: 8}
	for r.more() {
		id := r.byte()
		p := reader{bytes: r.vector()}
		if id != sectionCustom || string(p.vector()) != hintsName {
			continue
		}
		for range p.uint() {
			function := p.uint()
			for range p.uint() {
				at := p.uint()
				if size := p.uint(); size != 1 {
					t.Errorf("a hint of %d bytes, want 1", size)
				}
				given[[2]int{function, at}] = '0' + p.byte()
			}
		}
		if p.err != nil || p.more() {
			t.Errorf("the section of hints: got %v at %d of %d bytes, want its end", p.err, p.at, len(p.bytes))
		}
	}
	var b strings.Builder
	m := parse(t, hinted)
	for i, f := range m.functions {
		if i > 0 {
			b.WriteByte(' ')
		}
		for _, c := range f.instructions {
			if !c.branches() {
				continue
			}
			side, ok := given[[2]int{m.imports + i, c.at}]
			if !ok {
				side = byte(Unknown)
			}
			delete(given, [2]int{m.imports + i, c.at})
			b.WriteByte(side)
		}
	}
	if len(given) > 0 {
		t.Errorf("hints at %v, where no branch is", given)
	}
	return b.String()
}

// TestPanics: what leads to unreachable alone is rare, without a profile.
func TestPanics(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"out of a block", "\x02\x40\x20\x00\x0d\x00\x41\x01\x0f\x0b\x00", "0"},
		{"out of two blocks", "\x02\x40\x02\x40\x20\x00\x0d\x01\x0b\x41\x01\x0f\x0b\x00", "0"},
		{"on within a block", "\x02\x40\x20\x00\x0d\x00\x00\x0b\x41\x01", "1"},
		{"after a call", "\x02\x40\x20\x00\x0d\x00\x41\x01\x0f\x0b\x20\x00\x10\x00\x1a\x00", "0"},
		{"by a further branch", "\x02\x40\x02\x40\x20\x00\x0d\x00\x41\x01\x0f\x0b\x0c\x00\x0b\x00", "0"},
		{"if", "\x20\x00\x04\x40\x00\x0b\x41\x01", "0"},
		{"else", "\x20\x00\x04\x40\x01\x05\x00\x0b\x41\x01", "1"},
		{"past an else", "\x20\x00\x04\x40\x20\x00\x04\x40\x00\x0b\x05\x01\x0b\x41\x01", ".0"},
		{"both sides of a later one", "\x02\x40\x20\x00\x0d\x00\x41\x01\x0f\x0b\x20\x00\x04\x40\x00\x0b\x00", "0."},
		{"neither", "\x02\x40\x20\x00\x0d\x00\x41\x01\x0f\x0b\x41\x02", "."},
		{"a return before it", "\x02\x40\x20\x00\x0d\x00\x41\x01\x0f\x0b\x41\x02\x0f\x00", "."},
		{"a loop before it", "\x02\x40\x20\x00\x0d\x00\x41\x01\x0f\x0b\x03\x40\x0b\x00", "."},
		{"after a loop's end", "\x03\x40\x20\x00\x0d\x00\x0b\x00", "1"},
		{"a table before it",
			"\x02\x40\x20\x00\x0d\x00\x41\x01\x0f\x0b\x02\x40\x20\x00\x0e\x01\x00\x00\x0b\x00", "."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hinted, _ := parse(t, assemble(test.code)).Hinted(nil)
			if got := sides(t, hinted); got != test.want {
				t.Errorf("sides of its branches: got %q, want %q", got, test.want)
			}
		})
	}
}

// TestCounting: a module that counts does as before, and tells which way it went.
func TestCounting(t *testing.T) {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { _ = runtime.Close(ctx) })
	m := parse(t, assemble(counts, "\x20\x00", counts))
	counting, err := runtime.Instantiate(ctx, m.Counting())
	if err != nil {
		t.Fatalf("Instantiate: %v", err)
	}
	for _, call := range []struct {
		name   string
		x      uint64
		result uint64
		traps  bool
	}{{"f0", 0, 7, false}, {"f0", 300, 0, false}, {"f2", 2, 0, false}, {"f0", 3, 0, true}, {"f1", 4, 4, false}} {
		result, err := counting.ExportedFunction(call.name).Call(ctx, call.x)
		if (err != nil) != call.traps || err == nil && result[0] != call.result {
			t.Errorf("%s(%d): got %v, %v, want %d, trap %v", call.name, call.x, result, err, call.result, call.traps)
		}
	}
	var got []uint64
	for i := range 12 {
		got = append(got, counting.ExportedGlobal(counterName(i)).Get())
	}
	// For each branch how often it was come to and how often its condition held, first those of f0, then of f2.
	if want := "[3 2 2 1 300 299 1 1 1 0 2 1]"; fmt.Sprint(got) != want {
		t.Errorf("counters: got %v, want %s", got, want)
	}

	// f0 and f2 are the same code, so what is known of them is summed: 0 came once of 4 times, 3 once of 3.
	counter := func(name string) uint64 { return counting.ExportedGlobal(name).Get() }
	profile := m.Profile(1000, counter)
	shape := m.functions[0].shape()
	if want := "..1"; len(profile) != 1 || profile[shape] != want {
		t.Errorf("profile: got %v, want %q for shape %x alone", profile, want, shape)
	}
	hinted, fit := m.Hinted(profile)
	if got, want := sides(t, hinted), ".01  .01"; got != want {
		t.Errorf("sides with the profile: got %q, want %q", got, want)
	}
	if want := (Fit{Branches: 6, Hints: 4, Known: 1, Found: 1}); fit != want {
		t.Errorf("fit: got %+v, want %+v", fit, want)
	}
	if _, err := runtime.Instantiate(ctx, hinted); err != nil {
		t.Errorf("the module with hints: got %v, want it to load", err)
	}
}

func TestSideOf(t *testing.T) {
	tests := []struct {
		name                   string
		held, failed, requests uint64
		want                   Side
	}{
		{"never come to", 0, 0, 1000, Unknown},
		{"never held", 0, 1000, 1000, Unlikely},
		{"always held", 1000, 0, 1000, Likely},
		{"held for one request of 101", 10, 1000, 1010, Unlikely},
		{"held for one request of 100", 10, 1000, 1000, Unknown},
		{"a loop's end", 1000, 1_000_000, 1000, Unknown},
		{"seldom come to, one way", 0, 49, 1000, Unknown},
		{"seldom come to, 50 times one way", 0, 50, 1000, Unlikely},
		{"seldom come to, both ways", 5, 51, 1000, Unknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := sideOf(test.held, test.failed, test.requests); got != test.want {
				t.Errorf("sideOf(%d, %d, %d): got %c, want %c", test.held, test.failed, test.requests, got, test.want)
			}
		})
	}
}

// TestShapes: a function is known again when what is around it changes, and not when it changes itself.
func TestShapes(t *testing.T) {
	shape := func(code ...string) uint64 {
		m := parse(t, assemble(code...))
		return m.functions[len(code)-1].shape()
	}
	want := shape("\x20\x00\x10\x00")
	if got := shape("\x20\x00", "\x20\x00\x10\x01"); got != want {
		t.Errorf("another function before it: got shape %x, want %x", got, want)
	}
	if got := shape("\x20\x00\x45"); got == want {
		t.Errorf("another instruction: got shape %x, want another", got)
	}
	block := shape("\x02\x40\x02\x40\x0c\x00\x0b\x0b\x20\x00")
	if got := shape("\x02\x40\x02\x40\x0c\x01\x0b\x0b\x20\x00"); got == block {
		t.Errorf("a branch to another block: got shape %x, want another", got)
	}
}

func TestProfileText(t *testing.T) {
	want := Profile{0x10: "..1", 0xfedcba9876543210: "0"}
	text := want.Text()
	if text != "0000000000000010 ..1\nfedcba9876543210 0\n" {
		t.Errorf("Text: got %q", text)
	}
	got, err := ReadProfile("# comment\n\n" + text)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("ReadProfile: got %v, %v, want %v", got, err, want)
	}
	for _, test := range []struct{ name, text, want string }{
		{"no sides", "10", `line 1: "10": want a shape`},
		{"not hexadecimal", "# x\nxyz 01", `line 2: "xyz 01": want a shape`},
		{"other sides", "10 012", `line 1: "10 012": want a shape`},
		{"twice", "10 0\n0010 1", "line 2: shape 0010 is there already"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := ReadProfile(test.text); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("ReadProfile: got error %v, want %q", err, test.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	const header = "\x00asm\x01\x00\x00\x00"
	whole := string(assemble(counts))
	for _, test := range []struct{ name, wasm, want string }{
		{"empty", "", "not a wasm module"},
		{"another version", "\x00asm\x02\x00\x00\x00", "not a wasm module"},
		{"nothing in it", header, "sections [6 7 10] are missing"},
		{"cut", whole[:len(whole)-1], "it ends too early"},
		{"a number without end", header + "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
			"a number is not one of 32 bits"},
		{"a type of a struct", header + "\x01\x03\x01\x5f\x00", "section 1: type 0: not a function's but 0x5f"},
		{"an imported memory", header + "\x02\x06\x01\x01a\x01b\x02\x00",
			"section 2: import a.b: not a function but of kind 2"},
		{"a function too few", header + "\x03\x02\x01\x00\x0a\x01\x00", "section 10: 0 functions where 1 are declared"},
		{"a type that is missing", header + "\x03\x02\x01\x05\x0a\x04\x01\x02\x00\x0b",
			"section 10: function 0: type 5 is missing"},
		{"a vector instruction", string(assemble("\xfd\x0c")),
			"section 10: function 0: instruction 0xfd at 1 is unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Parse([]byte(test.wasm)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("Parse: got error %v, want %q", err, test.want)
			}
		})
	}
}

// FuzzParse: whatever is read is written again with the same hints, and without them is as it was.
func FuzzParse(f *testing.F) {
	f.Add(assemble(counts, "\x20\x00"))
	f.Add(assemble("\x20\x00\x0e\x00\x00\xfc\x0a\x00\x00\x11\x00\x00\x44\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := Parse(wasm)
		if err != nil {
			return
		}
		m.Counting()
		hinted, fit := m.Hinted(nil)
		again, sameFit := parse(t, hinted).Hinted(nil)
		if string(again) != string(hinted) || sameFit != fit {
			t.Errorf("with hints: got %x, %+v, then %x, %+v", hinted, fit, again, sameFit)
		}
	})
}
