package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"testing"
)

// forge replaces bytes in a record's payload, as many times as they are there, and seals the record again.
func forge(t *testing.T, record []byte, from, to []byte) []byte {
	t.Helper()
	if len(from) != len(to) || !bytes.Contains(record[headerBytes:], from) {
		t.Fatalf("%q cannot be replaced by %q", from, to)
	}
	forged := append([]byte(nil), record[:headerBytes]...)
	forged = append(forged, bytes.ReplaceAll(record[headerBytes:], from, to)...)
	binary.LittleEndian.PutUint64(forged[checksumAt:], checksum(forged[:checksumAt], forged[headerBytes:]))
	return forged
}

// TestForgedAddresses: an address goes into headers as it is, so what no encoder would write is refused when it is
// read.
func TestForgedAddresses(t *testing.T) {
	record, err := AppendTopology(nil, sampleTopology(), samplePosition)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"10.0.0.1:0000", "10.0.0.1:8\r\nx", "vllm-000:8000", "10.0.0.1,8000",
		"10.0.0.1.8000", "[fe8::1%1]:80"} {
		forged := forge(t, record, []byte("10.0.0.1:8000"), []byte(address))
		r, _, err := Next(forged)
		if err != nil {
			t.Fatalf("%q: %v", address, err)
		}
		if _, err := DecodeTopology(r.Payload); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: got %v, want %v", address, err, ErrMalformed)
		}
	}
}

// TestForgedUsage: a KV cache usage outside of 0 to 1 is refused when it is read.
func TestForgedUsage(t *testing.T) {
	load := sampleLoad()
	record, err := AppendLoad(nil, load, samplePosition)
	if err != nil {
		t.Fatal(err)
	}
	bits := func(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }
	for _, tc := range []struct {
		usage float64
		want  error
	}{
		{0, nil}, {1, nil}, {math.Nextafter(1, 2), ErrMalformed}, {-math.SmallestNonzeroFloat64, ErrMalformed},
		{-1, ErrMalformed},
		{math.NaN(), ErrMalformed}, {math.Inf(1), ErrMalformed}, {math.Inf(-1), ErrMalformed},
	} {
		forged := forge(t, record, bits(load.Endpoints[0].KVCacheUsage), bits(tc.usage))
		r, _, err := Next(forged)
		if err != nil {
			t.Fatalf("%v: %v", tc.usage, err)
		}
		var decoded Load
		if err := decoded.Decode(r.Payload); !errors.Is(err, tc.want) {
			t.Errorf("%v: Decode got %v, want %v", tc.usage, err, tc.want)
		}
		if _, err := Split(forged); !errors.Is(err, tc.want) {
			t.Errorf("%v: Split got %v, want %v", tc.usage, err, tc.want)
		}
	}
}

// TestForgedTexts: labels out of order, and text that is no UTF-8, are refused when they are read.
func TestForgedTexts(t *testing.T) {
	record, err := AppendTopology(nil, sampleTopology(), samplePosition)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, from, to string }{
		{"a key behind a greater one", "app", "zpp"},
		{"no UTF-8 in a label", "decode", "dec\xffde"},
		{"no UTF-8 in a model", "m1-lora", "m1-l\xc3(a"},
	} {
		r, _, err := Next(forge(t, record, []byte(tc.from), []byte(tc.to)))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if _, err := DecodeTopology(r.Payload); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want %v", tc.name, err, ErrMalformed)
		}
	}
	r, _, err := Next(forge(t, record, []byte("app"), []byte("apq")))
	if err == nil {
		_, err = DecodeTopology(r.Payload)
	}
	if err != nil {
		t.Errorf("another key in its place: got %v, want none", err)
	}
}

// TestForgedEnds: what is wrong with an endpoint is not made up for by a payload that ends where that was seen.
func TestForgedEnds(t *testing.T) {
	endpoint := func(address string, keys ...string) []byte {
		w := writer{dst: []byte{1, 0, 0, 0}}
		for _, text := range []string{"a", address, ""} {
			w.string(text)
		}
		if len(keys) > 0 {
			w.count(len(keys))
		}
		for _, key := range keys {
			w.string(key)
			w.string("")
		}
		return w.dst
	}
	none := []byte{0, 0} // labels, models or rules
	for _, tc := range []struct {
		name    string
		payload []byte
		want    error
	}{
		{"no labels", append(endpoint("10.0.0.1:80"), bytes.Repeat(none, 4)...), nil},
		{"labels", append(endpoint("10.0.0.1:80", "a", "b"), bytes.Repeat(none, 3)...), nil},
		{"no address", append(endpoint("x"), bytes.Repeat(none, 2)...), ErrMalformed},
		{"labels out of order", append(endpoint("10.0.0.1:80", "b", "a"), bytes.Repeat(none, 2)...), ErrMalformed},
		{"a label twice", append(endpoint("10.0.0.1:80", "a", "a"), bytes.Repeat(none, 3)...), ErrMalformed},
	} {
		if _, err := DecodeTopology(tc.payload); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
	}
}

// TestForgedAdapters: an endpoint cannot have an adapter that is not in the list.
func TestForgedAdapters(t *testing.T) {
	load := sampleLoad()
	load.Endpoints[0].RunningLoRA, load.Endpoints[0].WaitingLoRA = []uint16{1}, nil
	record, err := AppendLoad(nil, load, samplePosition)
	if err != nil {
		t.Fatal(err)
	}
	indexes := func(i byte) []byte { return []byte{i, 0, 1, 0, 'a'} } // followed by the first adapter's name
	for _, index := range []byte{0, 1, 2} {
		r, _, err := Next(forge(t, record, indexes(1), indexes(index)))
		if err != nil {
			t.Fatal(err)
		}
		var decoded Load
		if err := decoded.Decode(r.Payload); (err != nil) != (int(index) >= len(load.Adapters)) {
			t.Errorf("adapter %d of %d: got %v", index, len(load.Adapters), err)
		}
	}
}

// TestForgedSums: as many adapters as no payload has are refused, also where an int has 32 bits, as in the module.
func TestForgedSums(t *testing.T) {
	const most = 0xffff
	for _, entries := range []int{2, 32769} { // of the latter the sum begins anew in 32 bits
		payload := make([]byte, 16+entries*leastEntryBytes+2*most)
		binary.LittleEndian.PutUint32(payload[8:], uint32(entries))
		binary.LittleEndian.PutUint16(payload[12:], 1)
		binary.LittleEndian.PutUint16(payload[14:], leastEntryBytes)
		for i := range entries {
			entry := payload[16+i*leastEntryBytes:]
			binary.LittleEndian.PutUint16(entry[32:], most)
			binary.LittleEndian.PutUint16(entry[34:], most)
		}
		var decoded Load
		if err := decoded.Decode(payload); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d entries of %d adapters: got %v, want %v", entries, 2*most, err, ErrMalformed)
		}
	}
}

// TestForgedNames: two endpoints of one name are refused when they are read, also where the load fits them.
func TestForgedNames(t *testing.T) {
	record, err := AppendTopology(nil, sampleTopology(), samplePosition)
	if err != nil {
		t.Fatal(err)
	}
	record = forge(t, record, []byte("vllm-1"), []byte("vllm-0"))
	load := sampleLoad()
	load.Topology = PayloadID(record[headerBytes:])
	if _, err := DecodeTopology(record[headerBytes:]); !errors.Is(err, ErrMalformed) {
		t.Errorf("DecodeTopology: got %v, want %v", err, ErrMalformed)
	}
	if _, err := Split(append(record, message(t, nil, load, samplePosition)...)); !errors.Is(err, ErrMalformed) {
		t.Errorf("Split: got %v, want %v", err, ErrMalformed)
	}
}

// TestForgedAdapterBeforeGoodOnes: one index that is not in the list is enough, wherever it stands.
func TestForgedAdapterBeforeGoodOnes(t *testing.T) {
	load := sampleLoad()
	load.Endpoints[0].RunningLoRA, load.Endpoints[0].WaitingLoRA = []uint16{0, 1, 0}, nil
	good := loadPayload(t, load)
	from := []byte{0, 0, 1, 0, 0, 0}
	at := bytes.LastIndex(good, append(from, 1, 0, 'a'))
	for i := range load.Endpoints[0].RunningLoRA {
		forged := bytes.Clone(good)
		forged[at+2*i] = 2
		var decoded Load
		if err := decoded.Decode(forged); !errors.Is(err, ErrMalformed) {
			t.Errorf("the adapter at %d is none: got %v, want %v", i, err, ErrMalformed)
		}
	}
	// The adapter 1 of 1, the adapter 0, and a name that is missing: the adapter's two bytes are as many.
	forged := make([]byte, 16+leastEntryBytes, 16+leastEntryBytes+4)
	forged[8], forged[12], forged[14], forged[16+32] = 1, 1, leastEntryBytes, 2
	var decoded Load
	if err := decoded.Decode(append(forged, 1, 0, 0, 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("an adapter that is none, and no name: got %v, want %v", err, ErrMalformed)
	}
}

// TestCutPayloads: of a payload that is cut anywhere nothing is read.
func TestCutPayloads(t *testing.T) {
	load := sampleLoad()
	whole := loadPayload(t, load)
	load.Attributes = []string{"queue"}
	load.Endpoints[0].Attributes, load.Endpoints[1].Attributes = []float64{1}, []float64{2}
	longer := loadPayload(t, load)
	for n := range longer {
		var decoded Load
		// What lacks all of the section is a load without it.
		if err := decoded.Decode(longer[:n]); (err == nil) != (n == len(whole)) {
			t.Errorf("%d of %d bytes of a load: got %v", n, len(longer), err)
		}
		if _, ok := LoadTopology(longer[:n]); ok != (n >= 8) {
			t.Errorf("the topology of %d bytes of a load: got %v", n, ok)
		}
	}
	if id, ok := LoadTopology(whole); id != load.Topology || !ok {
		t.Errorf("LoadTopology: got %x %v, want %x", id, ok, load.Topology)
	}
	topology, err := sampleTopology().appendPayload(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range topology {
		if _, err := DecodeTopology(topology[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes of a topology: got %v, want %v", n, len(topology), err, ErrMalformed)
		}
	}
}

// TestForgedCounts: a payload of a few bytes cannot have its reader take memory for as many items as it claims to have.
func TestForgedCounts(t *testing.T) {
	none := bytes.Repeat([]byte{0}, 8) // no endpoints, no objectives, no rewrites
	rewrites := append(bytes.Clone(none[:6]), 0xff, 0xff)
	objectives := append(bytes.Clone(none[:4]), 0xff, 0xff)
	endpoints := []byte{0xff, 0xff, 0xff, 0x7f}
	for _, tc := range []struct {
		name   string
		decode func() error
	}{
		{"endpoints", func() error { _, err := DecodeTopology(endpoints); return err }},
		{"objectives", func() error { _, err := DecodeTopology(objectives); return err }},
		{"rewrites", func() error { _, err := DecodeTopology(rewrites); return err }},
		{"adapters", func() error {
			return new(Load).Decode(append(make([]byte, 12), 0xff, 0xff, entryBytes, 0))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const most = 64 << 10
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := tc.decode()
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrMalformed) || took > most {
				t.Errorf("got %v and %d bytes taken, want %v and at most %d", err, took, ErrMalformed, most)
			}
		})
	}
}
