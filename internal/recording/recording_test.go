package recording

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// events are decisions that share beginnings, and their ends.
func events() (all []journal.Event) {
	for i := range 50 {
		blocks := []uint64{1, 2, 3}
		for k := range i % 7 {
			blocks = append(blocks, uint64(100*(i%3)+10*i+k))
		}
		lease := uint32(i + 1)
		all = append(all,
			journal.Event{
				Kind: journal.Decision, Time: int64(i) * 1e6, Instance: 7, Lease: lease, Primary: 11, Model: 5, User: 6,
				Client: 99, InputTokens: 10, Fairness: 8,
				Shadowed: journal.Shadowed{Decided: true, Primary: 11},
				Chains:   []journal.Chain{{ID: 64, Blocks: blocks}, {ID: 256, Blocks: blocks[:1]}},
			},
			journal.Event{
				Kind: journal.Completion, Time: int64(i)*1e6 + 500, Instance: 7, Lease: lease, Primary: 11, Status: 200,
				InputTokens: 9, OutputTokens: 3,
				UsageReported: true, TTFTMicros: 17, DurationMicros: 400, Ended: journal.EndedWhole,
			})
	}
	return all
}

func record(t testing.TB, flushEvery int) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, 77)
	if err != nil {
		t.Fatal(err)
	}
	w.Name(EndpointName, 11, "default/vllm-0")
	w.Name(journal.ModelName, 5, "m")
	w.Name(journal.UserName, 6, "somebody")
	w.Name(journal.FairnessName, 8, "tenant")
	for i, e := range events() {
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i%flushEvery == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = w.Event(&journal.Event{Kind: journal.Missed, Missed: 12})
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

type content struct {
	events  []journal.Event
	names   []string
	missed  uint64
	damaged int
}

func readAll(t testing.TB, file []byte) (c content) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for {
		item, err := r.Next()
		if err == io.EOF {
			c.damaged = r.Damaged
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
		if item.Event != nil {
			e := *item.Event
			e.Chains, e.Encode = slices.Clone(e.Chains), nil
			c.events = append(c.events, e)
		} else if item.Name != "" {
			c.names = append(c.names, item.Name)
		}
		c.missed += item.Missed
	}
}

func TestRecording(t *testing.T) {
	for _, flushEvery := range []int{1, 3, 1000} {
		got := readAll(t, record(t, flushEvery))
		want := events()
		for i := range want {
			e := &want[i]
			e.Client, e.Shadowed = 0, journal.Shadowed{}
			e.User, e.Fairness = Salt(77).of(e.User), Salt(77).of(e.Fairness)
			for k := range e.Chains {
				e.Chains[k].Blocks = slices.Clone(e.Chains[k].Blocks)
				for j, hash := range e.Chains[k].Blocks {
					e.Chains[k].Blocks[j] = Salt(77).of(hash)
				}
			}
			if len(e.Chains) == 0 {
				got.events[i].Chains = nil
			}
			if !reflect.DeepEqual(got.events[i], *e) {
				t.Fatalf("event %d:\n%+v, want\n%+v", i, got.events[i], *e)
			}
		}
		if len(got.events) != len(want) || got.damaged != 0 || got.missed != 12 ||
			!slices.Equal(got.names, []string{"default/vllm-0", "m"}) {
			t.Errorf("%d events, %d damaged, %d missed, names %q", len(got.events), got.damaged, got.missed, got.names)
		}
	}
}

// However a file is cut off, all frames before the cut are read.
func TestTornFiles(t *testing.T) {
	file := record(t, 10)
	whole := len(readAll(t, file).events)
	last := 0
	for n := len(magic) + 1; n <= len(file); n += min(23, max(len(file)-n, 1)) {
		c := readAll(t, file[:n])
		if len(c.events) < last {
			t.Fatalf("%d bytes have %d events, one less %d", n, len(c.events), last)
		}
		if c.damaged > 1 {
			t.Fatalf("%d bytes: %d damaged places", n, c.damaged)
		}
		last = len(c.events)
	}
	if last != whole || whole != 100 {
		t.Errorf("%d of %d events", last, whole)
	}
}

// A damaged frame costs its own events alone.
func TestDamagedFiles(t *testing.T) {
	file := record(t, 10)
	whole := readAll(t, file)
	for i := len(magic) + 1; i < len(file); i += 97 {
		bad := slices.Clone(file)
		bad[i] ^= 0x10
		if c := readAll(t, bad); len(c.events) < len(whole.events)-10 || c.damaged != 1 {
			t.Fatalf("with byte %d changed: %d events, %d damaged places", i, len(c.events), c.damaged)
		}
	}
	if c := readAll(t, append(slices.Concat(file, []byte("PNRF rubbish")), file[len(magic)+1:]...)); len(
		c.events) != 200 || c.damaged != 1 {
		t.Errorf("with rubbish between: %d events, %d damaged places", len(c.events), c.damaged)
	}
}

func TestForeignFiles(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "foreign": "hello, world", "later": magic + "\x02"} {
		if _, err := NewReader(bytes.NewReader([]byte(text))); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
}

// TestRecordingsOfNothing: one that is begun again before anything has come takes the place of the one before, and of
// nothing else.
func TestRecordingsOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	for _, content := range []string{"8 bytes.", "another"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			f := &File{Path: path, Size: 2000, Keep: 3}
			if _, err := f.Writer(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, want := range map[string]string{path: magic + "\x01", path + ".1": "another", path + ".2": "8 bytes."} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: got %q and %v, want %q", filepath.Base(name), got, err, want)
		}
	}
	if _, err := os.Stat(path + ".3"); err == nil {
		t.Error("a recording of nothing is kept")
	}
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	if err := os.WriteFile(path, []byte("from an earlier run"), 0o600); err != nil {
		t.Fatal(err)
	}
	var last *Writer
	began := 0
	f := &File{Path: path, Size: 2000, Keep: 3}
	for range 10 {
		for _, e := range events() {
			w, err := f.Writer()
			if err != nil {
				t.Fatal(err)
			}
			if w != last {
				began++
				w.Name(EndpointName, 11, "default/vllm-0")
				last = w
			}
			if err := errors.Join(w.Event(&e), w.Flush()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(path + "*")
	if len(files) != 4 || began < 5 {
		t.Errorf("%q, %d begun", files, began)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil || len(text) > 3000 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		if c := readAll(t, text); len(c.events) == 0 || len(c.names) != 1 || c.damaged != 0 {
			t.Errorf("%s: %d events, names %q, %d damaged", name, len(c.events), c.names, c.damaged)
		}
	}
}

// TestFolderInPlaceOfAFile: a folder that stands where a recording shall be is neither moved nor removed.
func TestFolderInPlaceOfAFile(t *testing.T) {
	for _, keep := range []int{0, 8} {
		folder := filepath.Join(t.TempDir(), "recordings")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		f := File{Path: folder, Size: 1 << 20, Keep: keep}
		if _, err := f.Writer(); err == nil || !strings.Contains(err.Error(), "is no regular file") {
			t.Errorf("keep %d: got %v, want it said that this is no regular file", keep, err)
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			t.Errorf("keep %d: the folder is gone: %v", keep, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	file := record(f, 10)
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add([]byte(magic + "\x01PNRF"))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bytes.NewReader(file))
		if err != nil {
			return
		}
		for {
			item, err := r.Next()
			if err != nil {
				return
			}
			if item.Event != nil {
				for _, c := range item.Event.Chains {
					if len(c.Blocks) > journal.MaxBlocks {
						t.Fatalf("a chain of %d blocks", len(c.Blocks))
					}
				}
			}
		}
	})
}

// What a request of a long conversation takes in a file.
func TestSize(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, 1)
	if err != nil {
		t.Fatal(err)
	}
	const conversations, turns = 50, 20
	for turn := range turns {
		for c := range conversations {
			var blocks []uint64
			for i := range 40 + 2*turn {
				blocks = append(blocks, uint64(c)<<32|uint64(i)|1<<63)
			}
			_ = w.Event(&journal.Event{Kind: journal.Decision, Time: int64(turn), Instance: 1, Lease: uint32(c),
				Chains: []journal.Chain{{ID: 64, Blocks: blocks}}})
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if each := file.Len() / (conversations * turns); each > 100 {
		t.Errorf("a request takes %d bytes", each)
	}
}
