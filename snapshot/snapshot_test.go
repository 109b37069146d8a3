package snapshot

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var samplePosition = Position{Epoch: 7, Sequence: 9}

func sampleTopology() *Topology {
	return &Topology{Endpoints: []Endpoint{
		{
			Name: "default/vllm-0", Address: "10.0.0.1:8000", Engine: "vllm",
			Labels: []Label{{"app", "vllm"}, {"mif.moreh.io/role", "decode"}}, Models: []string{"m1", "m1-lora"},
		},
		{Name: "default/vllm-1", Address: "[fd00::1]:8000"},
	}, Objectives: []Objective{{"batch", -10}, {"chat", 5}}, Rewrites: []Rewrite{
		{Models: []string{"m"}, Targets: []RewriteTarget{{"m1", 90}, {"m1-lora", 10}}},
		{Targets: []RewriteTarget{{"m1", 0}}},
	}}
}

func sampleLoad() *Load {
	t := sampleTopology()
	return &Load{
		Topology: t.ID(),
		Adapters: []string{"a", "b"},
		Endpoints: []EndpointLoad{
			{
				WaitingRequests: 3, RunningRequests: 5, KVCacheUsage: 0.4, AgeMillis: 20, KVBlockTokens: 16,
				KVBlocks: 1000,
				MaxLoRA:  4, RunningLoRA: []uint16{1}, WaitingLoRA: []uint16{0, 1},
			},
			{AgeMillis: NoSample},
		},
	}
}

func message(t testing.TB, topology *Topology, load *Load, p Position) []byte {
	t.Helper()
	var m []byte
	var err error
	if topology != nil {
		if m, err = AppendTopology(m, topology, p); err != nil {
			t.Fatalf("AppendTopology: %v", err)
		}
	}
	if m, err = AppendLoad(m, load, p); err != nil {
		t.Fatalf("AppendLoad: %v", err)
	}
	return m
}

func TestRoundTrip(t *testing.T) {
	encoded := message(t, sampleTopology(), sampleLoad(), samplePosition)
	m, err := Split(encoded)
	if err != nil {
		t.Fatalf("Split: %v", err)
	}
	if m.Position != samplePosition || m.TopologyID != sampleTopology().ID() {
		t.Errorf("got position %v topology %x, want %v and %x", m.Position, m.TopologyID, samplePosition,
			sampleTopology().ID())
	}
	record, _, err := Next(m.TopologyRecord)
	if err != nil {
		t.Fatalf("Next(topology): %v", err)
	}
	topology, err := DecodeTopology(record.Payload)
	if err != nil {
		t.Fatalf("DecodeTopology: %v", err)
	}
	if want := sampleTopology(); !reflect.DeepEqual(topology, want) {
		t.Errorf("topology:\n got %+v\nwant %+v", topology, want)
	}
	if record, _, err = Next(m.LoadRecord); err != nil {
		t.Fatalf("Next(load): %v", err)
	}
	var load Load
	for range 2 { // the second time into used memory
		if err := load.Decode(record.Payload); err != nil {
			t.Fatalf("Decode: %v", err)
		}
	}
	want := sampleLoad()
	if load.Topology != want.Topology || !reflect.DeepEqual(load.Adapters, want.Adapters) {
		t.Errorf("load: got %x %v, want %x %v", load.Topology, load.Adapters, want.Topology, want.Adapters)
	}
	for i := range want.Endpoints {
		if got, want := fmt.Sprint(load.Endpoints[i]), fmt.Sprint(want.Endpoints[i]); got != want {
			t.Errorf("endpoint %d: got %v, want %v", i, got, want)
		}
	}
}

// TestAdaptersOfEach: the adapters of all endpoints stand in one list, of which each has its own part.
func TestAdaptersOfEach(t *testing.T) {
	want := [][2][]uint16{{{2}, {0, 1}}, {nil, nil}, {{1, 0}, nil}, {nil, {2}}}
	load := &Load{Adapters: []string{"a", "b", "c"}}
	for _, w := range want {
		load.Endpoints = append(load.Endpoints, EndpointLoad{RunningLoRA: w[0], WaitingLoRA: w[1]})
	}
	var got Load
	if err := got.Decode(loadPayload(t, load)); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		e := got.Endpoints[i]
		if !slices.Equal(e.RunningLoRA, w[0]) || !slices.Equal(e.WaitingLoRA, w[1]) {
			t.Errorf("endpoint %d: got %v running and %v waiting, want %v and %v", i, e.RunningLoRA, e.WaitingLoRA,
				w[0], w[1])
		}
	}
}

// TestSmallestItems: items of as few bytes as there can be, at the end of a payload, are read again.
func TestSmallestItems(t *testing.T) {
	for name, want := range map[string]*Topology{
		"objectives": {Objectives: make([]Objective, 5)},
		"rewrites":   {Rewrites: make([]Rewrite, 5)},
		"models":     {Rewrites: []Rewrite{{Models: make([]string, 5)}}},
		"targets":    {Rewrites: []Rewrite{{Targets: make([]RewriteTarget, 5)}}},
	} {
		want.Endpoints = []Endpoint{{Name: "a", Address: "10.0.0.1:80"}}
		payload, err := want.appendPayload(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeTopology(payload); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v and %v, want %+v", name, got, err, want)
		}
	}
}

func TestLabelsAreSortedOnTheWire(t *testing.T) {
	a, b := sampleTopology(), sampleTopology()
	b.Endpoints[0].Labels[0], b.Endpoints[0].Labels[1] = b.Endpoints[0].Labels[1], b.Endpoints[0].Labels[0]
	if a.ID() != b.ID() {
		t.Errorf("IDs differ by the order of labels: %x and %x", a.ID(), b.ID())
	}
}

func TestAppendRefuses(t *testing.T) {
	long := strings.Repeat("x", 0x10000)
	topologies := []struct {
		name string
		edit func(*Topology)
	}{
		{"repeated name", func(t *Topology) { t.Endpoints[1].Name = t.Endpoints[0].Name }},
		{"empty name", func(t *Topology) { t.Endpoints[1].Name = "" }},
		{"repeated label", func(t *Topology) { t.Endpoints[0].Labels[0].Key = t.Endpoints[0].Labels[1].Key }},
		{"long string", func(t *Topology) { t.Endpoints[0].Engine = long }},
		{"no address", func(t *Topology) { t.Endpoints[0].Address = "" }},
		{"host name", func(t *Topology) { t.Endpoints[0].Address = "vllm-0:8000" }},
		{"header in the address", func(t *Topology) { t.Endpoints[0].Address = "10.0.0.1:80\r\nx-a: b" }},
		{"port 0", func(t *Topology) { t.Endpoints[0].Address = "10.0.0.1:0" }},
		{"not UTF-8", func(t *Topology) { t.Endpoints[0].Engine = "\xff" }},
	}
	for _, tc := range topologies {
		t.Run("topology "+tc.name, func(t *testing.T) {
			topology := sampleTopology()
			tc.edit(topology)
			if got, err := AppendTopology([]byte("x"), topology, samplePosition); !errors.Is(err, ErrMalformed) ||
				string(got) != "x" {
				t.Errorf("got %d bytes and error %v, want what was there and %v", len(got), err, ErrMalformed)
			}
			if id := topology.ID(); id != 0 {
				t.Errorf("got the ID %x, want 0", id)
			}
		})
	}
	loads := []struct {
		name string
		edit func(*Load)
	}{
		{"adapter index", func(l *Load) { l.Endpoints[0].RunningLoRA = []uint16{2} }},
		{"usage above 1", func(l *Load) { l.Endpoints[0].KVCacheUsage = 1.5 }},
		{"usage NaN", func(l *Load) { l.Endpoints[0].KVCacheUsage = nan() }},
	}
	for _, tc := range loads {
		t.Run("load "+tc.name, func(t *testing.T) {
			load := sampleLoad()
			tc.edit(load)
			if got, err := AppendLoad([]byte("x"), load, samplePosition); !errors.Is(err, ErrMalformed) ||
				string(got) != "x" {
				t.Errorf("got %d bytes and error %v, want what was there and %v", len(got), err, ErrMalformed)
			}
		})
	}
}

// TestLargest: what takes just as much as a message may is written and read, one byte more is not.
func TestLargest(t *testing.T) {
	const longest = 0xffff
	topology := &Topology{}
	for i := range 63 {
		topology.Endpoints = append(topology.Endpoints, Endpoint{Name: fmt.Sprint(i), Address: "10.0.0.1:80",
			Engine: strings.Repeat("x", longest)})
	}
	record, err := AppendTopology(nil, topology, samplePosition)
	if err != nil {
		t.Fatalf("strings of %d bytes: %v", longest, err)
	}
	last := &topology.Endpoints[len(topology.Endpoints)-1]
	last.Models = []string{strings.Repeat("m", MaxMessageBytes-len(record)-2)}
	if record, err = AppendTopology(nil, topology, samplePosition); err != nil || len(record) != MaxMessageBytes {
		t.Fatalf("got %d bytes and %v, want %d", len(record), err, MaxMessageBytes)
	}
	if r, size, err := Next(record); err != nil || size != len(record) || PayloadID(r.Payload) != topology.ID() {
		t.Errorf("read again: got %d bytes and %v, want all %d", size, err, len(record))
	}
	last.Models[0] += "m"
	if got, err := AppendTopology([]byte("x"), topology, samplePosition); !errors.Is(err, ErrTooLarge) ||
		string(got) != "x" {
		t.Errorf("one byte more: got %d bytes and error %v, want what was there and %v", len(got), err, ErrTooLarge)
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

func TestSplitRefuses(t *testing.T) {
	full := message(t, sampleTopology(), sampleLoad(), samplePosition)
	loadOnly := message(t, nil, sampleLoad(), samplePosition)
	topologyOnly := full[:len(full)-len(loadOnly)]
	edited := func(at int, b byte) []byte {
		m := append([]byte(nil), full...)
		m[at] = b
		return m
	}
	otherTopology := sampleTopology()
	otherTopology.Endpoints[0].Engine = "sglang"
	fewer := sampleLoad()
	fewer.Endpoints = fewer.Endpoints[:1]
	tests := []struct {
		name    string
		message []byte
		want    error
	}{
		{"nothing", nil, ErrTruncated},
		{"a header cut short", full[:39], ErrTruncated},
		{"a payload cut short", full[:60], ErrTruncated},
		{"a second record cut short", full[:len(full)-1], ErrTruncated},
		{"other bytes", []byte(strings.Repeat("GET / ", 20)), ErrForeign},
		{"an unknown version", edited(4, 3), ErrVersion},
		{"version 0", edited(4, 0), ErrVersion},
		{"another kind", edited(5, 3), ErrChecksum},
		{"a flipped byte in the payload", edited(60, full[60]^1), ErrChecksum},
		{"a flipped byte in the sequence", edited(24, full[24]^1), ErrChecksum},
		{"a flipped byte in the header", edited(6, 1), ErrChecksum},
		{"a length beyond the limit", edited(11, 1), ErrTooLarge},
		{"topology without load", topologyOnly, ErrTruncated},
		{"two loads", append(append([]byte(nil), loadOnly...), loadOnly...), ErrMalformed},
		{"bytes after the end", append(append([]byte(nil), full...), 0), ErrTruncated},
		{"a load of another topology", message(t, otherTopology, sampleLoad(), samplePosition), ErrMalformed},
		{"a load of fewer endpoints", message(t, sampleTopology(), fewer, samplePosition), ErrMalformed},
		{"positions that differ", append(append([]byte(nil), topologyOnly...),
			message(t, nil, sampleLoad(), Position{1, 1})...), ErrMalformed},
		{"as much as a message may hold", record(formatVersion, KindLoad+1, make([]byte, MaxMessageBytes-headerBytes)),
			ErrTruncated},
		{"more than a message may hold", make([]byte, MaxMessageBytes+1), ErrTooLarge},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Split(tc.message); !errors.Is(err, tc.want) {
				t.Errorf("got error %v, want %v", err, tc.want)
			}
		})
	}
}

func TestPositionAfter(t *testing.T) {
	ordered := []Position{{1, 1}, {1, 2}, {2, 1}, {2, 5}}
	for i, p := range ordered {
		for j, q := range ordered {
			if got, want := p.After(q), i > j; got != want {
				t.Errorf("%v.After(%v): got %v, want %v", p, q, got, want)
			}
		}
	}
}

func largePool(n int) (*Topology, *Load) {
	topology := &Topology{}
	load := &Load{Adapters: []string{"lora-a", "lora-b", "lora-c"}}
	for i := range n {
		e := Endpoint{Name: fmt.Sprintf("inference/vllm-%d-rank-0", i),
			Address: fmt.Sprintf("10.1.%d.%d:8000", i/250, i%250), Engine: "vllm"}
		for j := range 12 {
			e.Labels = append(e.Labels, Label{fmt.Sprintf("example.com/label-%02d", j), "value"})
		}
		topology.Endpoints = append(topology.Endpoints, e)
		load.Endpoints = append(load.Endpoints, EndpointLoad{WaitingRequests: uint32(i), RunningLoRA: []uint16{0, 2}})
	}
	load.Topology = topology.ID()
	return topology, load
}

func TestThousandEndpointsFit(t *testing.T) {
	topology, load := largePool(1000)
	full := message(t, topology, load, samplePosition)
	if _, err := Split(full); err != nil {
		t.Fatalf("Split: %v", err)
	}
	if got, most := len(message(t, nil, load, samplePosition)), 64<<10; got > most {
		t.Errorf("load record of 1,000 endpoints takes %d bytes, want at most %d", got, most)
	}
	if len(full) > MaxMessageBytes/2 {
		t.Errorf("message of 1,000 endpoints takes %d bytes, want at most %d", len(full), MaxMessageBytes/2)
	}
}

func TestDecodeAllocatesNothingAfterWarmUp(t *testing.T) {
	_, load := largePool(64)
	record, _, err := Next(message(t, nil, load, samplePosition))
	if err != nil {
		t.Fatal(err)
	}
	var decoded Load
	if got := testing.AllocsPerRun(100, func() { err = decoded.Decode(record.Payload) }); got != 0 || err != nil {
		t.Errorf("Decode: %v allocations and error %v, want none", got, err)
	}
}
