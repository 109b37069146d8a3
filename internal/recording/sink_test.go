package recording

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// TestFullDisk: what a full disk says is said once, and no recording that is kept is pushed out by files which cannot
// be begun.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "r")
	if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &File{Path: path, Size: 1 << 20, Keep: 3, file: full}
	if f.writer, err = NewWriter(&strings.Builder{}, 1); err != nil {
		t.Fatal(err)
	}
	f.writer.to = f
	r := &Recorder{File: f}
	take := func() {
		r.Take(&follow.Event{Event: &journal.Event{Kind: journal.Missed, Missed: 1}, Names: &follow.Names{}})
	}
	take()
	if _, _, err := r.Flush(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v, want that there is no space", err)
	}
	f.written = f.Size
	take()
	if err := r.Close(); err == nil || strings.Count(err.Error(), syscall.ENOSPC.Error()) != 1 {
		t.Errorf("got %q, want it said once that there is no space", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "kept" {
		t.Errorf("the file is %q, %v, want it where it was", text, err)
	}
}

// TestNames: a recording has the names behind all hashes that its events have, in each of its files, but for those of
// people, of whom it can be told in all files of one recording who is the same.
func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	f := &File{Path: path, Size: 1, Keep: 3} // a file for each event
	r := &Recorder{File: f}
	names := follow.NamesOf(map[journal.NameKind][]string{journal.ModelName: {"asked", "served"},
		journal.ProfileName: {"decode"}, journal.ReasonName: {"shed"}, journal.UserName: {"somebody"}},
		[]string{"ns/primary", "ns/prefill", "ns/tried", "ns/encode-0", "ns/encode-1"})
	for range 2 {
		e := journal.Event{Kind: journal.Decision, Instance: 1, Lease: 1, Primary: journal.EndpointID("ns/primary"),
			Prefill: journal.EndpointID("ns/prefill"), Tried: journal.EndpointID("ns/tried"),
			Encode: []uint64{journal.EndpointID("ns/encode-0"), journal.EndpointID("ns/encode-1")},
			Model:  journal.HashName("served"), Asked: journal.HashName("asked"), Profile: journal.HashName("decode"),
			Reason: journal.HashName("shed"), User: journal.HashName("somebody")}
		r.Take(&follow.Event{Event: &e, Names: names})
		if _, _, err := r.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var users []uint64
	for _, name := range []string{path, path + ".1"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := readAll(t, text)
		told := slices.Sorted(slices.Values(c.names))
		want := []string{"asked", "decode", "ns/encode-0", "ns/encode-1", "ns/prefill", "ns/primary", "ns/tried",
			"served", "shed"}
		if !slices.Equal(told, want) || len(c.events) != 1 {
			t.Fatalf("%s: %d events and the names %q, want one and %q", filepath.Base(name), len(c.events), told, want)
		}
		users = append(users, c.events[0].User)
	}
	if users[0] != users[1] || users[0] == 0 || users[0] == journal.HashName("somebody") {
		t.Errorf("one user is %x in one file and %x in the other, want the same, which tells nobody that it is %x",
			users[0], users[1], journal.HashName("somebody"))
	}
}
