package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"reflect"
	"strings"
	"testing"
)

// golden reads bytes as a writer of that name wrote them. They must be read for ever: do not change them, add others
// beside them.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".hex")
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// extendedLoad is sampleLoad with all that was added since version 1.
func extendedLoad() *Load {
	l := sampleLoad()
	e := &l.Endpoints[0]
	e.LoRAKnown, e.MaxRunning, e.ProcessStart = true, 256, 1_800_000_000_123
	l.Endpoints[1].ModelsKnown = true
	return l
}

func TestLayout(t *testing.T) {
	got := message(t, sampleTopology(), extendedLoad(), samplePosition)
	if want := golden(t, "v2"); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

// record makes a record of any kind and payload.
func record(version byte, kind Kind, payload []byte) []byte {
	r := append(appendHeader(nil, kind, samplePosition), payload...)
	r[4] = version
	r, _ = seal(r, 0)
	return r
}

// TestVersionsReadEachOther has messages of writers that know less, and of such that know more.
func TestVersionsReadEachOther(t *testing.T) {
	var topology, load []byte
	if m, err := Split(golden(t, "v2")); err != nil {
		t.Fatal(err)
	} else {
		topology, load = m.TopologyRecord[headerBytes:], m.LoadRecord[headerBytes:]
	}
	section := []byte{9, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c'}
	laterTopology := append(append(bytes.Clone(topology), section...), 10, 0, 0, 0, 0, 0, 0, 0)
	laterTopology = append(laterTopology, tagAttributes, 0, 0, 0, 1, 0, 0, 0, 'a') // of a topology it is none
	laterLoad := withEntries(load, 64)
	laterLoad[16+36+3], laterLoad[16+7] = 0x80, 0
	laterLoad = append(laterLoad, section...)
	binary.LittleEndian.PutUint64(laterLoad, PayloadID(laterTopology))
	unknown := append(record(formatVersion, KindLoad+1, []byte("of a later version")),
		record(formatVersion, 7, nil)...)
	join := func(records ...[]byte) []byte { return bytes.Join(records, nil) }
	reserved := bytes.Clone(golden(t, "v2"))
	reserved[6], reserved[12] = 1, 1
	reserved, _ = reseal(reserved)
	tests := []struct {
		name    string
		message []byte
		want    *Load
	}{
		{"version 1", golden(t, "v1"), sampleLoad()},
		{"version 2", golden(t, "v2"), extendedLoad()},
		{
			"longer entries, unknown flags and sections",
			join(record(2, KindTopology, laterTopology), record(2, KindLoad, laterLoad)), extendedLoad(),
		},
		{
			"records of unknown kinds",
			join(unknown, record(2, KindTopology, topology), unknown, record(2, KindLoad, load), unknown),
			extendedLoad(),
		},
		{"fields that are zero today", reserved, extendedLoad()},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			gotTopology, got := decode(t, tc.message)
			if want := sampleTopology(); !reflect.DeepEqual(gotTopology, want) {
				t.Errorf("topology: got %+v, want %+v", gotTopology, want)
			}
			tc.want.Topology = got.Topology
			if again, want := message(t, nil, got, samplePosition), message(t, nil, tc.want,
				samplePosition); !bytes.Equal(again, want) {
				t.Errorf("load: got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// withEntries widens the entries of a load payload.
func withEntries(payload []byte, width int) []byte {
	n := int(binary.LittleEndian.Uint32(payload[8:]))
	wide := bytes.Clone(payload[:16])
	binary.LittleEndian.PutUint16(wide[14:], uint16(width))
	for i := range n {
		wide = append(wide, payload[16+i*entryBytes:16+(i+1)*entryBytes]...)
		wide = append(wide, bytes.Repeat([]byte{0xee}, width-entryBytes)...)
	}
	return append(wide, payload[16+n*entryBytes:]...)
}

// reseal gives the first record of a message its checksum.
func reseal(m []byte) ([]byte, error) {
	size := headerBytes + int(binary.LittleEndian.Uint32(m[8:]))
	binary.LittleEndian.PutUint64(m[checksumAt:], checksum(m[:checksumAt], m[headerBytes:size]))
	return m, nil
}

func decode(t *testing.T, m []byte) (*Topology, *Load) {
	t.Helper()
	split, err := Split(m)
	if err != nil {
		t.Fatalf("Split: %v", err)
	}
	r, _, _ := Next(split.TopologyRecord)
	topology, err := DecodeTopology(r.Payload)
	if err != nil {
		t.Fatalf("DecodeTopology: %v", err)
	}
	r, _, _ = Next(split.LoadRecord)
	// What was decoded into the same memory before must not show.
	load := extendedLoad()
	load.Endpoints[1] = load.Endpoints[0]
	if err := load.Decode(r.Payload); err != nil {
		t.Fatalf("Decode: %v", err)
	}
	return topology, load
}

// TestExtensionsAreVerified has later versions' records that are torn.
func TestExtensionsAreVerified(t *testing.T) {
	m, err := Split(golden(t, "v2"))
	if err != nil {
		t.Fatal(err)
	}
	topology, load := m.TopologyRecord[headerBytes:], m.LoadRecord[headerBytes:]
	narrow := bytes.Clone(load)
	narrow[14] = leastEntryBytes - 1
	bare := make([]byte, 16+leastEntryBytes-1) // one endpoint, all zeros
	bare[8], bare[14] = 1, leastEntryBytes-1
	wide := bytes.Clone(load)
	wide[15] = 0xff
	noKind := record(2, 0, nil)
	tests := []struct {
		name    string
		message []byte
	}{
		{"part of a section's head", record(2, KindLoad, append(bytes.Clone(load), 1, 0, 0))},
		{"part of a section", record(2, KindLoad, append(bytes.Clone(load), 1, 0, 0, 0, 2, 0, 0, 0, 'a'))},
		{"a section of 4 GiB", record(2, KindLoad, append(bytes.Clone(load), 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff))},
		{"a topology with part of a section",
			append(record(2, KindTopology, append(bytes.Clone(topology), 1)), m.LoadRecord...)},
		{"entries that are too short", record(2, KindLoad, narrow)},
		{"an entry that is too short and lacks nothing else", record(2, KindLoad, bare)},
		{"entries beyond the end", record(2, KindLoad, wide)},
		{"kind 0", append(noKind, m.LoadRecord...)},
		{"topology behind the load", append(bytes.Clone(m.LoadRecord), m.TopologyRecord...)},
		{"two topologies", append(bytes.Clone(m.TopologyRecord), golden(t, "v2")...)},
		{"nothing but records of unknown kinds", record(2, 9, nil)},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Split(tc.message); err != ErrMalformed && err != ErrTruncated {
				t.Errorf("got error %v, want %v or %v", err, ErrMalformed, ErrTruncated)
			}
		})
	}
}

// TestBaseModels: what is told of base models is read as it was written, and no more of them than there are models.
func TestBaseModels(t *testing.T) {
	topology := sampleTopology()
	topology.Endpoints[0].BaseModels = 1
	load := extendedLoad()
	load.Topology = topology.ID()
	written := message(t, topology, load, samplePosition)
	if want := golden(t, "v2-base-models"); !bytes.Equal(written, want) {
		t.Errorf("got  %x\nwant %x", written, want)
	}
	if got, _ := decode(t, written); !reflect.DeepEqual(got, topology) {
		t.Errorf("got %+v, want %+v", got, topology)
	}
	payload, err := topology.appendPayload(nil)
	if err != nil {
		t.Fatal(err)
	}
	counts := len(payload) - 2*len(topology.Endpoints)
	payload[counts] = 9
	models := len(topology.Endpoints[0].Models)
	if got, err := DecodeTopology(payload); err != nil || got.Endpoints[0].BaseModels != models {
		t.Errorf("nine base models: got %+v, %v, want as many as there are models", got, err)
	}
	binary.LittleEndian.PutUint32(payload[counts-4:], uint32(2*len(topology.Endpoints)-2))
	if got, err := DecodeTopology(payload[:len(payload)-2]); err == nil {
		t.Errorf("a number too few: got %+v, want %v", got, ErrMalformed)
	}
	for _, n := range []int{-1, models + 1} {
		topology.Endpoints[0].BaseModels = n
		if _, err := topology.appendPayload(nil); err != ErrMalformed {
			t.Errorf("%d base models: got %v, want %v", n, err, ErrMalformed)
		}
	}
}
