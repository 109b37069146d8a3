package replicate

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/pintle-dev/pintle/journal"
)

// around is an entry around anything in the place of a packed batch, by one who has the key.
func around(c *codec, size uint32, packed []byte) []byte {
	text := slices.Clone(c.seal(&entry{gateway: "x"}))
	text = append(text[:entryHeadBytes+1], packed...)
	binary.LittleEndian.PutUint32(text[4:], size)
	return append(text, c.mac(text)...)
}

func TestEntryComesBack(t *testing.T) {
	c := newCodec(stream, func() string { return token })
	for _, n := range []int{0, 1, 3, 60} {
		want := entry{gateway: "one", sent: 5, end: journal.Position{Epoch: 1, Page: 2, Seq: 3, Offset: 4},
			batch: requests(n, 30)}
		got, err := c.open(slices.Clone(c.seal(&want)))
		if err == nil {
			err = c.unpack(&got)
		}
		if err != nil || got.gateway != want.gateway || got.sent != want.sent || got.end != want.end ||
			!slices.Equal(got.batch, want.batch) {
			t.Errorf("%d requests: got %+v, %v, want %+v", n, got, err, want)
		}
	}
}

// TestPackedLies: a batch that says that it is another size than it is, or too large, takes no memory.
func TestPackedLies(t *testing.T) {
	c := newCodec(stream, func() string { return token })
	packed := s2.Encode(nil, make([]byte, 1000))
	large := s2.Encode(nil, make([]byte, mostBatchBytes+1))
	tests := []struct {
		name   string
		size   uint32
		packed []byte
		ok     bool
	}{
		{"as it is", 1000, packed, true},
		{"less than it is", 999, packed, false},
		{"more than it is", 1001, packed, false},
		{"too large", mostBatchBytes + 1, large, false},
		{"too large in its own words alone", 1000, large, false},
		{"nothing", 0, nil, false},
		{"cut", 1000, packed[:len(packed)-1], false},
		{"a length without an end", 1000, slices.Repeat([]byte{0xff}, 20), false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			e, err := c.open(around(c, tc.size, tc.packed))
			if err == nil {
				err = c.unpack(&e)
			}
			if ok := err == nil; ok != tc.ok {
				t.Errorf("got error %v, want one: %v", err, !tc.ok)
			}
		})
	}
}

// FuzzEntry reads what somebody with the key may have written.
func FuzzEntry(f *testing.F) {
	f.Add(uint32(0), []byte{})
	batch := requests(2, 5)
	f.Add(uint32(len(batch)), s2.Encode(nil, batch))
	c := newCodec(stream, func() string { return token })
	f.Fuzz(func(t *testing.T, size uint32, packed []byte) {
		e, err := c.open(around(c, size, packed))
		if err != nil {
			return
		}
		if c.unpack(&e) == nil {
			if len(e.batch) != int(size) {
				t.Fatalf("got %d bytes, want the %d that were said", len(e.batch), size)
			}
			eachEvent(e.batch, new(journal.Event), func(uint64, *journal.Event) {})
		}
	})
}
