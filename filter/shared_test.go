package main_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/snapshot"
)

const (
	keyTopology = "pintle/v1/topology"
	keyLoad     = "pintle/v1/load"
	keyVersion  = "pintle/v1/version"
	keyNames    = "pintle/v1/names"
)

// records are the three values that a snapshot is stored as.
type records struct{ topology, load, version []byte }

func (g *gateway) records() records {
	var r records
	r.topology, _, _ = g.host.SharedData(keyTopology)
	r.load, _, _ = g.host.SharedData(keyLoad)
	r.version, _, _ = g.host.SharedData(keyVersion)
	return r
}

// TestHalfWrittenSnapshots has workers meet every mixture of two snapshots, as when they read while another worker
// writes. A request always leaves for an endpoint of one of them, and once the snapshot is whole, for the right one.
func TestHalfWrittenSnapshots(t *testing.T) {
	old, replacement := newPool(5, 0, 5), newPool(9, 9, 9, 0)
	for i := range replacement.Topology.Endpoints {
		replacement.Topology.Endpoints[i].Address = fmt.Sprintf("10.9.9.%d:8000", i)
	}
	old.Adapters, old.Load.Endpoints[1].RunningLoRA = []string{"a"}, []uint16{0}
	replacement.Adapters, replacement.Load.Endpoints[0].WaitingLoRA = []string{"b", "c", "d"}, []uint16{2, 1, 0}
	var known []string
	for _, e := range append(slices.Clone(old.Topology.Endpoints), replacement.Topology.Endpoints...) {
		known = append(known, e.Address)
	}
	const document = `{"plugins":[{"type":"queue-scorer"},{"type":"lora-affinity-scorer"},{"type":"context-length-aware"},{"type":"kv-cache-utilization-scorer"}]}`
	m := modes[2]
	for mixture := range 8 {
		for _, warm := range []bool{true, false} {
			t.Run(fmt.Sprintf("%03b, warm %v", mixture, warm), func(t *testing.T) {
				g := newGateway(t, m, 2, m.configuration(document, ""))
				g.publish(replacement)
				after := g.records()
				g.publish(old)
				before := g.records()
				if warm {
					g.wantRanked(g.workers[1].ask(), address(1))
				}
				pick := func(bit int, a, b []byte) []byte {
					if mixture&bit != 0 {
						return b
					}
					return a
				}
				g.host.SetSharedData(keyTopology, pick(1, before.topology, after.topology))
				g.host.SetSharedData(keyLoad, pick(2, before.load, after.load))
				g.host.SetSharedData(keyVersion, pick(4, before.version, after.version))
				for range 5 {
					if got := g.ranked(g.workers[1].ask()); !slices.Contains(known, got) {
						t.Errorf("endpoint: got %q, want one of %q", got, known)
					}
				}
				g.host.SetSharedData(keyTopology, after.topology)
				g.host.SetSharedData(keyLoad, after.load)
				g.host.SetSharedData(keyVersion, after.version)
				g.wantRanked(g.workers[1].ask(), "10.9.9.3:8000")
			})
		}
	}
}

// TestForeignValues puts values under the filter's keys that it never wrote, as any other plug-in of the proxy can.
// Routing goes on, and the next whole snapshot mends everything.
func TestForeignValues(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 2, m.configuration(byQueue, ""))
	g.publish(newPool(3, 0, 3))
	for _, w := range g.workers {
		g.wantRanked(w.ask(), address(1))
	}
	whole := g.records()
	received := whole.load[:8]
	other := newPool(1, 1).label(0, "a", "b")
	values := map[string][]byte{
		"nothing": {}, "one byte": {0}, "eight bytes": []byte("abcdefgh"),
		"text":  []byte(strings.Repeat("not ours ", 50)),
		"zeros": make([]byte, 4096), "topology": whole.topology, "load": whole.load,
		"load without its time": whole.load[8:], "version": whole.version,
		"topology cut short": whole.topology[:len(whole.topology)-3], "load cut short": whole.load[:50],
		"time alone":                  received,
		"topology with a flipped bit": flip(whole.topology, 70), "load with a flipped bit": flip(whole.load, 70),
		"another topology": other.message(t, snapshot.Position{Epoch: 1, Sequence: 1}),
		"load of another topology": slices.Concat(received,
			other.loadMessage(t, snapshot.Position{Epoch: 1, Sequence: 1})),
		"a topology as load":       slices.Concat(received, whole.topology),
		"a huge count":             sealed(snapshot.KindTopology, bytes.Repeat([]byte{0xff}, 64)),
		"a load with a huge count": slices.Concat(received, sealed(snapshot.KindLoad, bytes.Repeat([]byte{0xff}, 64))),
		"a load with nothing":      slices.Concat(received, sealed(snapshot.KindLoad, nil)),
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	random := rand.New(rand.NewPCG(1, 2))
	check := func(t *testing.T) {
		t.Helper()
		// The version changes too, else nobody would look.
		version, _, _ := g.host.SharedData(keyVersion)
		g.host.SetSharedData(keyVersion, version)
		for _, w := range g.workers {
			for range 2 {
				s := w.ask()
				if got := g.ranked(s); got == "" {
					t.Errorf("endpoint: got %q (%v), want one of the pool's", got, s.ResponseHeaders())
				}
				s.Finish()
			}
			w.Tick()
			if err := w.Failed(); err != nil {
				t.Fatalf("the VM is dead: %v", err)
			}
		}
		g.publish(newPool(3, 0, 3))
		for _, w := range g.workers {
			g.wantRanked(w.ask(), address(1))
		}
	}
	keys := []string{keyTopology, keyLoad, keyVersion}
	for _, key := range keys {
		for _, name := range names {
			t.Run(key+" "+name, func(t *testing.T) {
				g.host.SetSharedData(key, values[name])
				check(t)
			})
		}
	}
	for i := range 60 {
		t.Run(fmt.Sprintf("mixture %d", i), func(t *testing.T) {
			for _, key := range keys {
				if random.IntN(4) > 0 {
					g.host.SetSharedData(key, values[names[random.IntN(len(names))]])
				}
			}
			check(t)
		})
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// sealed is a record with a right checksum around any payload.
func sealed(kind snapshot.Kind, payload []byte) []byte {
	m, err := snapshot.AppendLoad(nil, &snapshot.Load{}, snapshot.Position{Epoch: 1, Sequence: 1})
	if err != nil {
		panic(err)
	}
	m = append(m[:40:40], payload...)
	m[5] = byte(kind)
	binary.LittleEndian.PutUint32(m[8:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(m[32:], checksum(m[:32], payload))
	return m
}

// TestKeysAreFew: guests cannot delete keys, so their number must not grow.
func TestKeysAreFew(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 2, m.configuration(byQueue, ""))
	for i := range 50 {
		g.publish(newPool(make([]uint32, 1+i%7)...))
		g.workers[i%2].ask().Finish()
	}
	var keys []string
	for _, key := range g.host.SharedDataKeys() {
		// The journal has keys of its own, a bounded number, see its package.
		if !strings.HasPrefix(key, "pintle/v2/journal/") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if want := []string{keyLoad, keyNames, keyTopology, keyVersion}; !slices.Equal(keys, want) {
		t.Errorf("keys: got %q, want %q", keys, want)
	}
}

func checksum(parts ...[]byte) uint64 {
	d := xxhash.New()
	for _, part := range parts {
		_, _ = d.Write(part)
	}
	return d.Sum64()
}
