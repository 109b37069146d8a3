package shared

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/journal/journaltest"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestReader(t *testing.T) {
	ab, c := topologyOf("a", "b"), topologyOf("c")
	data := journaltest.New(0)
	store := data.Store()
	r := &Reader{Store: data.Store()}
	steps := []struct {
		name    string
		message []byte
		news    News
		seen    string
	}{
		{"nothing stored", nil, Nothing, "nothing"},
		{"first", message(t, ab, 1, 1, true), NewTopology, "a1b1"},
		{"no change", nil, Nothing, "a1b1"},
		{"load", message(t, ab, 1, 2, false), NewLoad, "a2b2"},
		{"the same topology again", message(t, ab, 1, 3, true), NewLoad, "a3b3"},
		{"another topology", message(t, c, 1, 4, true), NewTopology, "c4"},
		{"and back", message(t, ab, 1, 5, true), NewTopology, "a5b5"},
	}
	for i, step := range steps {
		if step.message != nil {
			if _, err := Put(store, step.message, someTime+int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if news := r.Poll(); news != step.news || copyOf(r) != step.seen {
			t.Errorf("%s: got news %d and %s, want %d and %s", step.name, news, copyOf(r), step.news, step.seen)
		}
		if news := r.Poll(); news != Nothing {
			t.Errorf("%s: got news %d the second time", step.name, news)
		}
	}
	if want := someTime + int64(len(steps)-1); r.ReceivedAt != want {
		t.Errorf("received at %d, want %d", r.ReceivedAt, want)
	}
}

// values are those of a stored snapshot.
func values(t *testing.T, m []byte) map[string][]byte {
	t.Helper()
	store := journaltest.New(0).Store()
	put(t, store, m)
	all := map[string][]byte{}
	for _, key := range []string{KeyTopology, KeyLoad, KeyVersion} {
		value, _, _ := store.Get(key)
		all[key] = bytes.Clone(value)
	}
	return all
}

// reseal gives a record the checksum of what is in it, see FORMAT.md.
func reseal(record []byte) {
	const checksumAt, headerBytes = 32, 40
	content := append(bytes.Clone(record[:checksumAt]), record[headerBytes:]...)
	binary.LittleEndian.PutUint64(record[checksumAt:], xxhash.Sum64(content))
}

// TestHalves has readers meet values that do not belong together, or that are damaged. What is of one snapshot is
// taken, a load of another topology never.
func TestHalves(t *testing.T) {
	ab, c := topologyOf("a", "b"), topologyOf("c", "d")
	first, second := values(t, message(t, ab, 1, 1, true)), values(t, message(t, c, 1, 2, true))
	flipped := bytes.Clone(second[KeyLoad])
	flipped[70] ^= 1
	unreadable := bytes.Clone(second[KeyTopology])
	unreadable[len(unreadable)-1] = 1 // a rewrite that is not there
	reseal(unreadable)
	tests := []struct {
		name                    string
		topology, load, version []byte
		news                    News
		// seen is what a reader sees that has read the first snapshot, fresh what one sees that has read none.
		seen, fresh string
	}{
		{"all of the second", second[KeyTopology], second[KeyLoad], second[KeyVersion], NewTopology, "c2d2", "c2d2"},
		{"the second with an old version", second[KeyTopology], second[KeyLoad], first[KeyVersion], NewTopology, "c2d2",
			"c2d2"},
		{"topology alone", second[KeyTopology], first[KeyLoad], second[KeyVersion], NewTopology, "cd", "cd"},
		{"topology alone, old version", second[KeyTopology], first[KeyLoad], first[KeyVersion], NewLoad, "a1b1", "cd"},
		{"load alone", first[KeyTopology], second[KeyLoad], second[KeyVersion], Nothing, "a1b1", "ab"},
		{"load alone, old version", first[KeyTopology], second[KeyLoad], first[KeyVersion], Nothing, "a1b1", "ab"},
		{"version alone", first[KeyTopology], first[KeyLoad], second[KeyVersion], NewLoad, "a1b1", "a1b1"},
		{"a damaged load", second[KeyTopology], flipped, second[KeyVersion], NewTopology, "cd", "cd"},
		{"a damaged topology", second[KeyTopology][1:], second[KeyLoad], second[KeyVersion], Nothing, "a1b1",
			"nothing"},
		{"a topology that is whole and cannot be read", unreadable, second[KeyLoad], second[KeyVersion], Nothing,
			"a1b1", "nothing"},
		{"a load as topology", second[KeyLoad][8:], second[KeyLoad], second[KeyVersion], Nothing, "a1b1", "nothing"},
		{"a topology as load", second[KeyTopology], append(make([]byte, 8), second[KeyTopology]...), second[KeyVersion],
			NewTopology, "cd", "cd"},
		{"a version that is none", second[KeyTopology], second[KeyLoad], []byte("x"), Nothing, "a1b1", "nothing"},
		{"empty values", nil, nil, second[KeyVersion], Nothing, "a1b1", "nothing"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			store := data.Store()
			put(t, store, message(t, ab, 1, 1, true))
			r := &Reader{Store: data.Store()}
			r.Poll()
			store.Set(KeyTopology, tc.topology, 0)
			store.Set(KeyLoad, tc.load, 0)
			store.Set(KeyVersion, tc.version, 0)
			if news := r.Poll(); news != tc.news || copyOf(r) != tc.seen {
				t.Errorf("got news %d and %s, want %d and %s", news, copyOf(r), tc.news, tc.seen)
			}
			if again := r.Poll(); again != Nothing || copyOf(r) != tc.seen {
				t.Errorf("looked at again: got news %d and %s, want %d and %s", again, copyOf(r), Nothing, tc.seen)
			}
			fresh, wantNews := &Reader{Store: data.Store()}, NewTopology
			if tc.fresh == "nothing" {
				wantNews = Nothing
			}
			if news := fresh.Poll(); news != wantNews || copyOf(fresh) != tc.fresh {
				t.Errorf("a fresh reader: got news %d and %s, want %d and %s", news, copyOf(fresh), wantNews, tc.fresh)
			}
			put(t, store, message(t, c, 1, 9, true))
			r.Poll()
			if copyOf(r) != "c9d9" || seen(data.Store()) != "c9d9" {
				t.Errorf("after the next message: got %s and %s, want c9d9", copyOf(r), seen(data.Store()))
			}
		})
	}
}

// TestShortLoad has a load with a right checksum that names the topology but has fewer endpoints.
func TestShortLoad(t *testing.T) {
	ab := topologyOf("a", "b")
	data := journaltest.New(0)
	put(t, data.Store(), message(t, ab, 1, 1, true))
	old := &Reader{Store: data.Store()}
	old.Poll()
	short := &snapshot.Load{Topology: ab.ID(), Endpoints: make([]snapshot.EndpointLoad, 1)}
	load, err := snapshot.AppendLoad(make([]byte, receivedBytes), short, snapshot.Position{Epoch: 1, Sequence: 2})
	if err != nil {
		t.Fatal(err)
	}
	data.Store().Set(KeyLoad, load, 0)
	data.Store().Set(KeyVersion, make([]byte, 8), 0)
	if got := seen(data.Store()); got != "ab" {
		t.Errorf("got %s, want the endpoints without a load", got)
	}
	if news := old.Poll(); news != Nothing || copyOf(old) != "ab" {
		t.Errorf("a reader that had a load: got news %d and %s, want %d and ab", news, copyOf(old), Nothing)
	}
	data.Store().Set(KeyLoad, values(t, message(t, ab, 1, 3, true))[KeyLoad], 0)
	if news := old.Poll(); news != NewLoad || copyOf(old) != "a3b3" {
		t.Errorf("with a load: got news %d and %s, want %d and a3b3", news, copyOf(old), NewLoad)
	}
}

func TestPollAllocatesNothing(t *testing.T) {
	data := journaltest.New(0)
	ab := topologyOf("a", "b")
	put(t, data.Store(), message(t, ab, 1, 1, true))
	r := &Reader{Store: data.Store()}
	version, _, _ := data.Store().Get(KeyVersion)
	version = bytes.Clone(version)
	var store journal.Store = data.Store()
	round := func() {
		store.Set(KeyVersion, version, 0)
		if r.Poll() == Nothing {
			t.Fatal("nothing is new")
		}
		r.Poll()
	}
	round()
	if got := testing.AllocsPerRun(100, round); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
