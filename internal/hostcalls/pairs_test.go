package hostcalls

import (
	"encoding/binary"
	"slices"
	"testing"
)

func encodePairs(fields ...Field) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(fields)))
	for _, f := range fields {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(f.Name)))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(f.Value)))
	}
	for _, f := range fields {
		out = append(append(out, f.Name...), 0)
		out = append(append(out, f.Value...), 0)
	}
	return out
}

func TestAppendPairs(t *testing.T) {
	fields := []Field{{":path", "/v1/models"}, {"a", ""}, {"a", "b"}}
	got, ok := appendPairs(nil, encodePairs(fields...))
	if !ok || !slices.Equal(got, fields) {
		t.Errorf("got %v, %v, want %v", got, ok, fields)
	}
	if got, ok := appendPairs(nil, nil); !ok || len(got) != 0 {
		t.Errorf("nothing: got %v, %v, want nothing and true", got, ok)
	}
}

// Whatever bytes come, reading them stays inside them.
func FuzzAppendPairs(f *testing.F) {
	whole := encodePairs(Field{"a", "b"}, Field{"c", ""})
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
