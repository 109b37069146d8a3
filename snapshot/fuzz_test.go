package snapshot

import (
	"encoding/binary"
	"fmt"
	"testing"
)

func FuzzSplit(f *testing.F) {
	full := message(f, sampleTopology(), sampleLoad(), samplePosition)
	f.Add(full, uint16(0), byte(0))
	f.Add(message(f, nil, sampleLoad(), samplePosition), uint16(50), byte(1))
	f.Fuzz(func(t *testing.T, m []byte, at uint16, with byte) {
		_, _ = Split(m)
		// Behind a checksum that fits, the payload decoders meet bytes that no encoder wrote.
		if len(m) > headerBytes {
			m[headerBytes+int(at)%(len(m)-headerBytes)] = with
			binary.LittleEndian.PutUint32(m[8:], uint32(len(m)-headerBytes))
			binary.LittleEndian.PutUint64(m[checksumAt:], checksum(m[:checksumAt], m[headerBytes:]))
			_, _ = Split(m)
			_, _ = DecodeTopology(m[headerBytes:])
		}
		message, err := Split(m)
		if err != nil {
			return
		}
		r, _, _ := Next(message.LoadRecord)
		var load Load
		if err := load.Decode(r.Payload); err != nil {
			t.Fatalf("Split accepted what Decode refuses: %v", err)
		}
		// Of a later version's record some bytes are lost, but nothing that was decoded.
		again, err := AppendLoad(nil, &load, r.Position)
		if err != nil {
			t.Fatalf("the load cannot be encoded again: %v", err)
		}
		r, _, _ = Next(again)
		var decoded Load
		if err := decoded.Decode(r.Payload); err != nil || fmt.Sprint(decoded) != fmt.Sprint(load) {
			t.Fatalf("load changes when encoded again (error %v)", err)
		}
	})
}

func BenchmarkDecodeLoad(b *testing.B) {
	for _, n := range []int{4, 64, 1000} {
		_, load := largePool(n)
		record, _, err := Next(message(b, nil, load, samplePosition))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var decoded Load
			for b.Loop() {
				if err := decoded.Decode(record.Payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
