package hostcalls

import (
	"encoding/binary"
	"slices"
	"testing"
)

func textsOf(fields []Field) (pairs [][2]string) {
	for _, f := range fields {
		pairs = append(pairs, [2]string{f.Name, f.Value})
	}
	return pairs
}

func TestAppendPairs(t *testing.T) {
	fields := []Field{{":path", "/v1/models"}, {"a", ""}, {"a", "b"}}
	got, ok := appendPairs(nil, encodePairs(textsOf(fields)))
	if !ok || !slices.Equal(got, fields) {
		t.Errorf("got %v, %v, want %v", got, ok, fields)
	}
	if got, ok := appendPairs(nil, nil); !ok || len(got) != 0 {
		t.Errorf("nothing: got %v, %v, want nothing and true", got, ok)
	}
}

// Whatever bytes come, reading them stays inside them.
func FuzzAppendPairs(f *testing.F) {
	whole := encodePairs([][2]string{{"a", "b"}, {"c", ""}})
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 'a', 0})
	f.Fuzz(func(t *testing.T, pairs []byte) {
		fields, ok := appendPairs(nil, pairs)
		if ok && len(pairs) > 0 && uint64(len(fields)) != uint64(binary.LittleEndian.Uint32(pairs)) {
			t.Errorf("got %d fields of %x", len(fields), pairs)
		}
	})
}
