package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
)

func loadPayload(t *testing.T, l *Load) []byte {
	t.Helper()
	r, _, err := Next(message(t, nil, l, samplePosition))
	if err != nil {
		t.Fatal(err)
	}
	return r.Payload
}

// withAttributes is a load of as many endpoints as there are values, of these names.
func withAttributes(names []string, values ...[]float64) *Load {
	l := &Load{Attributes: names}
	for _, v := range values {
		l.Endpoints = append(l.Endpoints, EndpointLoad{Attributes: v})
	}
	return l
}

// TestAttributes reads loads one after the other into the same memory, as workers do: each has its own attributes
// alone.
func TestAttributes(t *testing.T) {
	unknown := math.NaN()
	sixteen := make([]string, MaxAttributes)
	numbers := make([]float64, MaxAttributes)
	for i := range sixteen {
		sixteen[i], numbers[i] = string(rune('a'+i)), float64(i)
	}
	var got Load
	for _, tc := range []struct {
		name string
		load *Load
		want [][]float64
	}{
		{"two of each endpoint", withAttributes([]string{"queue", "power"}, []float64{1, 2}, []float64{3, 4}),
			[][]float64{{1, 2}, {3, 4}}},
		{"another name, and one in its place", withAttributes([]string{"queue", "heat"}, []float64{5, 6}),
			[][]float64{{5, 6}}},
		{"unknown ones", withAttributes([]string{"queue", "heat"}, nil, []float64{unknown, 7}),
			[][]float64{{unknown, unknown}, {unknown, 7}}},
		{"none", withAttributes(nil, nil, nil), [][]float64{nil, nil}},
		{"as many as there may be", withAttributes(sixteen, numbers), [][]float64{numbers}},
		{"fewer", withAttributes([]string{"b"}, []float64{8}), [][]float64{{8}}},
		{"no endpoints", withAttributes([]string{"b"}), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := got.Decode(loadPayload(t, tc.load)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Attributes, tc.load.Attributes) {
				t.Errorf("got the names %q, want %q", got.Attributes, tc.load.Attributes)
			}
			if len(got.Endpoints) != len(tc.want) {
				t.Fatalf("got %d endpoints, want %d", len(got.Endpoints), len(tc.want))
			}
			same := func(a, b float64) bool { return a == b || a != a && b != b }
			for i, want := range tc.want {
				if got := got.Endpoints[i].Attributes; !slices.EqualFunc(got, want, same) {
					t.Errorf("endpoint %d: got %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestAttributesAllocateNothingAfterWarmUp(t *testing.T) {
	payload := loadPayload(t, withAttributes([]string{"queue", "power"}, []float64{1, 2}, []float64{3, 4}))
	var l Load
	var err error
	if got := testing.AllocsPerRun(100, func() { err = l.Decode(payload) }); got != 0 || err != nil {
		t.Errorf("Decode: %v allocations and error %v, want none", got, err)
	}
}

// TestAttributesTwice: of two sections with attributes the last one counts, also where it has none.
func TestAttributesTwice(t *testing.T) {
	payload := loadPayload(t, withAttributes([]string{"queue", "power"}, []float64{1, 2}))
	for _, n := range []byte{0, 1} {
		section := append([]byte{tagAttributes, 0, 0, 0, 2 + 10*n, 0, 0, 0, n, 0}, make([]byte, 10*n)...)
		var l Load
		if err := l.Decode(append(bytes.Clone(payload), section...)); err != nil {
			t.Fatal(err)
		}
		if names, values := len(l.Attributes), len(l.Endpoints[0].Attributes); names != int(n) || values != int(n) {
			t.Errorf("got %d names and %d numbers, want %d", names, values, n)
		}
	}
}

func TestAttributesThatAreRefused(t *testing.T) {
	many := make([]string, MaxAttributes+1)
	full := withAttributes([]string{"a"}, []float64{1})
	full.Endpoints[0].KVCacheUsage = 2
	for _, tc := range []struct {
		name string
		load *Load
	}{
		{"more than there may be", withAttributes(many, make([]float64, len(many)))},
		{"an endpoint with too few", withAttributes([]string{"a", "b"}, []float64{1})},
		{"an endpoint with too many", withAttributes([]string{"a"}, []float64{1, 2}, []float64{1})},
		{"a name that is not UTF-8", withAttributes([]string{"\xff", "a"}, []float64{1, 2})},
		{"right ones of an endpoint that is not", full},
	} {
		t.Run("written: "+tc.name, func(t *testing.T) {
			if got, err := AppendLoad([]byte("x"), tc.load, samplePosition); !errors.Is(err, ErrMalformed) ||
				string(got) != "x" {
				t.Errorf("got %d bytes and error %v, want what was there and %v", len(got), err, ErrMalformed)
			}
		})
	}
	plain := loadPayload(t, withAttributes(nil, nil, nil))
	section := func(n int, rest []byte) []byte {
		s := binary.LittleEndian.AppendUint32(bytes.Clone(plain), tagAttributes)
		s = binary.LittleEndian.AppendUint32(s, uint32(2+len(rest)))
		return append(binary.LittleEndian.AppendUint16(s, uint16(n)), rest...)
	}
	empty := func(n, values int) []byte { return make([]byte, 2*n+8*values) } // names without letters
	for _, tc := range []struct {
		name    string
		payload []byte
		want    error
	}{
		{"as many as there may be", section(MaxAttributes, empty(MaxAttributes, 2*MaxAttributes)), nil},
		{"more", section(MaxAttributes+1, empty(MaxAttributes+1, 2*MaxAttributes+2)), ErrMalformed},
		{"numbers of one endpoint of two", section(1, empty(1, 1)), ErrMalformed},
		{"numbers of three endpoints", section(1, empty(1, 3)), ErrMalformed},
		{"a name behind the end", section(1, []byte{0xff, 0xff}), ErrMalformed},
		{"a name that is not UTF-8", section(1, append([]byte{1, 0, 0xff}, empty(0, 2)...)), ErrMalformed},
		// Sixteen bytes are left of what a name that does not fit was read from, as many as the numbers take.
		{"a name that is cut", section(1, append([]byte{17, 0}, empty(0, 2)...)), ErrMalformed},
		{"nothing", append(section(0, nil)[:len(plain)+4], 0, 0, 0, 0), ErrMalformed},
	} {
		t.Run("read: "+tc.name, func(t *testing.T) {
			var l Load
			if err := l.Decode(tc.payload); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}
