package responses

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFilesOfOthers: a file that something else has written, or another release, stays as it is; what a crash may have
// left of one is begun anew.
func TestFilesOfOthers(t *testing.T) {
	linked := func(kind, version byte, previous string, put ...string) []byte {
		j := &journalFile{}
		var file bytes.Buffer
		for _, id := range put {
			e := &Entry{ID: id, Previous: previous, Expires: time.Now().Add(time.Hour), Response: []byte("{}")}
			record := e.encode(j.begin(kind))
			record[recordHead+1] = version
			if err := j.write(&file, record); err != nil {
				t.Fatal(err)
			}
		}
		return file.Bytes()
	}
	written := func(version byte, put ...string) []byte { return linked(recordPut, version, "", put...) }
	own := written(entryVersion, "a", "b")
	rotten := bytes.Clone(own)
	rotten[len(rotten)-1]++
	tests := []struct {
		name    string
		file    []byte
		entries int
		refused string // empty for a file that is taken
	}{
		{"none yet", nil, 0, ""},
		{"its own", own, 2, ""},
		{"torn in its second entry", own[:len(own)-1], 1, ""},
		{"torn in its first entry", own[:20], 0, ""},
		{"torn in the length of its second entry", own[:len(own)/2+3], 1, ""},
		{"rotten in its second entry", rotten, 1, ""},
		{"with one that goes on with another", slices.Concat(own, linked(recordLinked, entryVersion, "b", "c")), 3, ""},
		{"with one that goes on with none", slices.Concat(own, linked(recordLinked, entryVersion, "x", "c"),
			written(entryVersion, "d")), 3, ""},
		{"lost by the machine", make([]byte, 4096), 0, ""},
		{"an archive", append([]byte("PK\x03\x04\x14\x00\x00\x00\x08\x00"), make([]byte, 100)...), 0,
			"holds something else than stored responses"},
		{"a text", []byte("envoy: {token: x}\n"), 0, "holds something else than stored responses"},
		{"of another release", written(entryVersion+1, "a"), 0, "version 2; this pintle reads version 1"},
		{"with an entry of another release", slices.Concat(own, written(entryVersion+1, "c")), 0,
			"version 2; this pintle reads version 1"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			config := memoryOf(100, 1<<20).Memory
			config.File = filepath.Join(t.TempDir(), "responses")
			if err := os.WriteFile(config.File, tc.file, 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := newMemory(config, newMetrics(), slog.New(slog.DiscardHandler))
			if tc.refused == "" {
				if err != nil || len(m.nodes) != tc.entries {
					t.Fatalf("got %v, %v, want %d entries", m, err, tc.entries)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "inMemoryConfig.file: "+config.File) ||
				!strings.Contains(err.Error(), tc.refused) {
				t.Errorf("got %v, want an error with %q", err, tc.refused)
			}
			if left, err := os.ReadFile(config.File); err != nil || !bytes.Equal(left, tc.file) {
				t.Errorf("left %q, %v, want the file as it was", left, err)
			}
		})
	}
}

// TestFileThatCannotBeRead: what the system does not let read is no torn end, in whose place a new file may come.
func TestFileThatCannotBeRead(t *testing.T) {
	config := memoryOf(100, 1<<20).Memory
	folder := t.TempDir()
	config.File = filepath.Join(folder, "responses")
	if err := os.Mkdir(config.File, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := newMemory(config, newMetrics(), slog.New(slog.DiscardHandler))
	if want := "inMemoryConfig.file: read " + config.File + ": is a directory"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("got %v, %v beside it, want nothing", left, err)
	}
}

// TestFileThatCannotBeWrittenAnew: a file for whose copy there is no room takes what comes all the same, and is not
// copied in vain with each entry.
func TestFileThatCannotBeWrittenAnew(t *testing.T) {
	config := memoryOf(100, 1<<20).Memory
	config.File = filepath.Join(t.TempDir(), "responses")
	var log bytes.Buffer
	m, err := newMemory(config, newMetrics(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	inTheWay := config.File + ".new"
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	e := &Entry{ID: "a", Expires: time.Now().Add(time.Hour), Response: bytes.Repeat([]byte(" "), 1<<20)}
	put := func() {
		t.Helper()
		if err := m.Put(t.Context(), e); err != nil {
			t.Fatalf("with a file of %d bytes: %v, want the entry kept", m.journal.written, err)
		}
	}
	for m.journal.written < leastRewrite+4<<20 {
		put()
	}
	if n := strings.Count(log.String(), "cannot be written anew"); n != 1 {
		t.Errorf("got %d warnings, want 1:\n%s", n, log.String())
	}
	if trouble := m.Trouble(); !strings.Contains(trouble, inTheWay) {
		t.Errorf("got the trouble %q, want %s in it", trouble, inTheWay)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	for m.journal.written > leastRewrite {
		put()
	}
	if trouble := m.Trouble(); trouble != "" || len(m.nodes) != 1 {
		t.Errorf("got %d entries and the trouble %q, want one and none", len(m.nodes), trouble)
	}
}

// TestFileOnTheDisk: a file that is written anew takes the place of the old one when it is on the disk, with what came
// meanwhile; nobody waits for the disk to look something up.
func TestFileOnTheDisk(t *testing.T) {
	config := memoryOf(100, 1<<20).Memory
	config.File = filepath.Join(t.TempDir(), "responses")
	m, err := newMemory(config, newMetrics(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	entry := func(id, previous string) *Entry {
		return &Entry{ID: id, Previous: previous, Expires: time.Now().Add(time.Hour),
			Response: bytes.Repeat([]byte(" "), 1<<20)}
	}
	put := func(e *Entry) {
		if err := m.Put(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
	put(entry("gone", ""))
	put(entry("gone meanwhile", ""))
	var synced []string
	m.journal.sync = func(f *os.File) error {
		synced = append(synced, f.Name())
		if f.Name() != config.File+".new" {
			return nil
		}
		if old, err := os.Stat(config.File); err != nil || old.Size() < leastRewrite {
			t.Errorf("the file in use is %v, %v, want the old one", old, err)
		}
		if _, err := m.Get(t.Context(), "a:"); err != nil {
			t.Errorf("looking an entry up: %v", err)
		}
		put(entry("meanwhile", "a"))
		if err := m.Delete(t.Context(), "gone meanwhile:"); err != nil {
			t.Error(err)
		}
		return nil
	}
	if err := m.Delete(t.Context(), "gone:"); err != nil {
		t.Fatal(err)
	}
	for len(synced) == 0 {
		put(entry("a", ""))
	}
	if want := []string{config.File + ".new", filepath.Dir(config.File)}; !slices.Equal(synced, want) {
		t.Errorf("on the disk are %q, want %q", synced, want)
	}
	put(entry("later", "meanwhile"))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(config.File); err != nil || info.Size() != m.journal.written || info.Size() > leastRewrite {
		t.Errorf("the file is %v, %v, want one of %d bytes", info, err, m.journal.written)
	}
	if m, err = newMemory(config, newMetrics(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	for _, id := range []string{"a", "meanwhile", "later"} {
		if _, err := m.Get(t.Context(), id+":"); err != nil {
			t.Errorf("%s: %v, want it kept", id, err)
		}
	}
	if len(m.nodes) != 3 {
		t.Errorf("%d entries, want 3", len(m.nodes))
	}
}
