package shared

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/journal/journaltest"
	"github.com/pintle-dev/pintle/snapshot"
)

const someTime = 1_800_000_000_000_000_000

// topologyOf is a topology whose endpoints have the given names.
func topologyOf(names ...string) *snapshot.Topology {
	t := &snapshot.Topology{}
	for i, name := range names {
		t.Endpoints = append(t.Endpoints, snapshot.Endpoint{Name: name, Address: fmt.Sprintf("10.0.0.%d:8000", i+1)})
	}
	return t
}

// message is a snapshot of t at a position in which every endpoint has as many requests waiting as the sequence says;
// it has the topology only if whole is set.
func message(t testing.TB, topology *snapshot.Topology, epoch, sequence uint64, whole bool) []byte {
	t.Helper()
	at := snapshot.Position{Epoch: epoch, Sequence: sequence}
	var m []byte
	var err error
	if whole {
		if m, err = snapshot.AppendTopology(m, topology, at); err != nil {
			t.Fatal(err)
		}
	}
	load := &snapshot.Load{Topology: topology.ID()}
	for range topology.Endpoints {
		load.Endpoints = append(load.Endpoints, snapshot.EndpointLoad{WaitingRequests: uint32(sequence)})
	}
	if m, err = snapshot.AppendLoad(m, load, at); err != nil {
		t.Fatal(err)
	}
	return m
}

// seen is what a new worker makes of what is stored: the names of the endpoints, and how many wait at each.
func seen(store journal.Store) string {
	r := &Reader{Store: store}
	r.Poll()
	return copyOf(r)
}

func copyOf(r *Reader) string {
	if r.Topology == nil {
		return "nothing"
	}
	all := ""
	for i, e := range r.Topology.Endpoints {
		all += e.Name
		if i < len(r.Load.Endpoints) {
			all += fmt.Sprint(r.Load.Endpoints[i].WaitingRequests)
		}
	}
	return all
}

func put(t testing.TB, store journal.Store, m []byte) {
	t.Helper()
	if _, err := Put(store, m, someTime); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

func TestPut(t *testing.T) {
	ab, c := topologyOf("a", "b"), topologyOf("c")
	tests := []struct {
		name    string
		message []byte
		err     error
		current *snapshot.Position
		seen    string
	}{
		{"newer load", message(t, ab, 7, 10, false), nil, nil, "a10b10"},
		{"newer whole", message(t, c, 7, 10, true), nil, nil, "c10"},
		{"newer epoch", message(t, c, 8, 1, true), nil, nil, "c1"},
		{"the same position", message(t, ab, 7, 9, true), ErrOlder, &snapshot.Position{Epoch: 7, Sequence: 9}, "a9b9"},
		{"an older sequence", message(t, c, 7, 8, true), ErrOlder, &snapshot.Position{Epoch: 7, Sequence: 9}, "a9b9"},
		{"an older epoch", message(t, ab, 6, 99, false), ErrOlder, &snapshot.Position{Epoch: 7, Sequence: 9}, "a9b9"},
		{"load of another topology", message(t, c, 7, 10, false), ErrUnknownTopology,
			&snapshot.Position{Epoch: 7, Sequence: 9}, "a9b9"},
		{"damaged", message(t, ab, 7, 10, true)[1:], snapshot.ErrForeign, nil, "a9b9"},
		{"as far ahead as may be", message(t, ab, someTime+MaxAhead, 1, true), nil, nil, "a1b1"},
		{"too far ahead", message(t, ab, someTime+MaxAhead+1, 1, true), ErrAhead, nil, "a9b9"},
		{"as far ahead as can be", message(t, ab, ^uint64(0), 1, true), ErrAhead, nil, "a9b9"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			store := data.Store()
			put(t, store, message(t, ab, 7, 9, true))
			current, err := Put(store, tc.message, someTime)
			if !errors.Is(err, tc.err) || (current == nil) != (tc.current == nil) || current != nil &&
				*current != *tc.current {
				t.Errorf("got %v and %v, want %v and %v", current, err, tc.current, tc.err)
			}
			if got := seen(data.Store()); got != tc.seen {
				t.Errorf("stored: got %s, want %s", got, tc.seen)
			}
		})
	}
}

func TestFirstMessage(t *testing.T) {
	ab := topologyOf("a", "b")
	store := journaltest.New(0).Store()
	if current, err := Put(store, message(t, ab, 7, 1, false), someTime); err != ErrUnknownTopology || current != nil {
		t.Errorf("load alone: got %v and %v, want %v", current, err, ErrUnknownTopology)
	}
	if got := seen(store); got != "nothing" {
		t.Errorf("got %s, want nothing", got)
	}
	put(t, store, message(t, ab, 7, 2, true))
	if got := seen(store); got != "a2b2" {
		t.Errorf("got %s, want a2b2", got)
	}
}

// TestRoomAbove: whatever a publisher was allowed, its successor a moment later gets above it.
func TestRoomAbove(t *testing.T) {
	store := journaltest.New(0).Store()
	put(t, store, message(t, topologyOf("a"), someTime+MaxAhead, ^uint64(0), true))
	if _, err := Put(store, message(t, topologyOf("b"), someTime+MaxAhead+1, 1, true), someTime+1000); err != nil {
		t.Errorf("the successor is refused: %v", err)
	}
	if got := seen(store); got != "b1" {
		t.Errorf("got %s, want b1", got)
	}
}

// between runs meanwhile before the nth change through a store, as another worker would in that moment.
type between struct {
	journal.Store
	n         int
	meanwhile func()
}

func (b *between) Set(key string, value []byte, change uint32) bool {
	b.n--
	if b.n == 0 {
		b.meanwhile()
	}
	return b.Store.Set(key, value, change)
}

// TestTwoAtOnce has another worker put a message between any two steps of the first one. The newer one is what is seen
// in the end, and a load alone that was in time at worst has to be sent again with its topology.
func TestTwoAtOnce(t *testing.T) {
	for _, known := range []bool{false, true} {
		for _, one := range kinds {
			for _, other := range kinds {
				if !known && (!one.whole || !other.whole) {
					continue
				}
				for _, sequences := range [][2]uint64{{2, 3}, {3, 2}} {
					for step := 1; step <= 3; step++ {
						name := fmt.Sprintf("known %v, %s %d, %s %d before step %d", known, one.name, sequences[0],
							other.name, sequences[1], step)
						t.Run(name, func(t *testing.T) { atOnce(t, known, one, other, sequences, step) })
					}
				}
			}
		}
	}
}

type kind struct {
	name     string
	topology *snapshot.Topology
	whole    bool
}

var kinds = []kind{
	{"load", topologyOf("a", "b"), false}, {"same topology", topologyOf("a", "b"), true},
	{"other topology", topologyOf("c"), true},
}

var errNotPut = errors.New("not put, as there is no such step")

func atOnce(t *testing.T, known bool, one, other kind, sequences [2]uint64, step int) {
	data := journaltest.New(0)
	if known {
		put(t, data.Store(), message(t, kinds[0].topology, 1, 1, true))
	}
	old := &Reader{Store: data.Store()}
	old.Poll()
	errs := [2]error{nil, errNotPut}
	meanwhile := func() {
		_, errs[1] = Put(data.Store(), message(t, other.topology, 1, sequences[1], other.whole), someTime)
	}
	first := message(t, one.topology, 1, sequences[0], one.whole)
	_, errs[0] = Put(&between{data.Store(), step, meanwhile}, first, someTime)
	for i, k := range []kind{one, other} {
		if k.whole && sequences[i] > sequences[1-i] && errs[i] != nil && errs[i] != errNotPut {
			t.Errorf("the newer message, whole, was refused: %v", errs[i])
		}
	}
	judge(t, data, old, one.topology, other.topology, sequences, errs)
}

// judge wants the newest of what was taken to be seen, by a new worker and by one that read before.
func judge(t *testing.T, data *journaltest.Data, old *Reader, one, other *snapshot.Topology, sequences [2]uint64,
	errs [2]error) {
	t.Helper()
	newest, sequence := (*snapshot.Topology)(nil), uint64(0)
	for i, topology := range []*snapshot.Topology{one, other} {
		if errs[i] == nil && sequences[i] > sequence {
			newest, sequence = topology, sequences[i]
		}
	}
	if newest == nil {
		t.Fatalf("none was taken: %v", errs)
	}
	want := ""
	for _, e := range newest.Endpoints {
		want += fmt.Sprint(e.Name, sequence)
	}
	old.Poll()
	if got := []string{seen(data.Store()), copyOf(old)}; !slices.Equal(got, []string{want, want}) {
		t.Errorf("seen by a new and an old worker: %q, want %s; errors %v", got, want, errs)
	}
}

// TestOlderTopologyBetween: an older message's topology that comes between a newer one's load and topology makes way.
func TestOlderTopologyBetween(t *testing.T) {
	data := journaltest.New(0)
	put(t, data.Store(), message(t, topologyOf("a"), 1, 1, true))
	older, err := snapshot.Split(message(t, topologyOf("b"), 1, 2, true))
	if err != nil {
		t.Fatal(err)
	}
	meanwhile := func() { data.Store().Set(KeyTopology, older.TopologyRecord, 0) }
	put(t, &between{data.Store(), 2, meanwhile}, message(t, topologyOf("c"), 1, 3, true))
	if got := seen(data.Store()); got != "c3" {
		t.Errorf("got %s, want c3", got)
	}
}

// TestGivesUp has stores that do not take one of the keys, as where others are always faster.
func TestGivesUp(t *testing.T) {
	m := message(t, topologyOf("a"), 1, 1, true)
	for _, key := range []string{KeyLoad, KeyTopology, KeyVersion} {
		if _, err := Put(refusing{journaltest.New(0).Store(), key}, m, someTime); err != ErrStore {
			t.Errorf("%s: got %v, want %v", key, err, ErrStore)
		}
	}
}

type refusing struct {
	journal.Store
	key string
}

func (r refusing) Set(key string, value []byte, change uint32) bool {
	return key != r.key && r.Store.Set(key, value, change)
}

// TestDamagedLoad: what is no load counts as none. The topology's position counts then, and what loads may follow is
// for the topology to say.
func TestDamagedLoad(t *testing.T) {
	ab := topologyOf("a", "b")
	stored := values(t, message(t, ab, 7, 9, true))
	flipped := bytes.Clone(stored[KeyLoad])
	flipped[70] ^= 1
	for name, load := range map[string][]byte{
		"something else": []byte("something else"), "nothing": nil, "a time": make([]byte, receivedBytes),
		"a flipped byte": flipped, "a topology": append(make([]byte, receivedBytes), stored[KeyTopology]...),
	} {
		t.Run(name, func(t *testing.T) {
			store := journaltest.New(0).Store()
			put(t, store, message(t, ab, 7, 9, true))
			store.Set(KeyLoad, load, 0)
			current, err := Put(store, message(t, ab, 7, 8, true), someTime)
			if want := (snapshot.Position{Epoch: 7, Sequence: 9}); err != ErrOlder || current == nil ||
				*current != want {
				t.Errorf("got %v and %v, want %v and %v", current, err, want, ErrOlder)
			}
			current, err = Put(store, message(t, topologyOf("c"), 7, 10, false), someTime)
			if err != ErrUnknownTopology || current != nil {
				t.Errorf("another topology's load: got %v and %v, want %v", current, err, ErrUnknownTopology)
			}
			put(t, store, message(t, ab, 7, 10, false))
			if got := seen(store); got != "a10b10" {
				t.Errorf("got %s, want a10b10", got)
			}
		})
	}
}

func TestTopology(t *testing.T) {
	store := journaltest.New(0).Store()
	if got := Topology(store); got != 0 {
		t.Errorf("nothing stored: got %x, want 0", got)
	}
	put(t, store, message(t, topologyOf("a"), 1, 1, true))
	if got, want := Topology(store), topologyOf("a").ID(); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
	store.Set(KeyVersion, []byte("seven b"), 0)
	if got := Topology(store); got != 0 {
		t.Errorf("something else stored: got %x, want 0", got)
	}
}
