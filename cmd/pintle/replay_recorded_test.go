package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/recording"
	"github.com/pintle-dev/pintle/journal"
)

// recorded writes a recording of answers by two servers and of a refusal.
func recorded(t *testing.T) (path string) {
	t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Name(recording.EndpointName, journal.EndpointID("a"), "a")
	w.Name(recording.EndpointName, journal.EndpointID("b"), "b")
	w.Name(journal.ReasonName, journal.HashName("shed"), "shed")
	const second = int64(1e9)
	for i, name := range []string{"a", "b", "a", "b"} {
		decided := journal.Event{Kind: journal.Decision, Time: int64(i+1) * second, Instance: 1, Lease: uint32(i + 1),
			Primary: journal.EndpointID(name), InputTokens: 10, OutputTokens: 2, PromptBytes: 40,
			Streamed: true}
		done := decided
		done.Kind, done.Time, done.Status = journal.Completion, decided.Time+second/2, 200
		done.TTFTMicros, done.DurationMicros, done.UsageReported = 300_000, 500_000, true
		if err := w.Event(&decided); err != nil {
			t.Fatal(err)
		}
		if err := w.Event(&done); err != nil {
			t.Fatal(err)
		}
	}
	refused := journal.Event{Kind: journal.Refused, Time: 9 * second, Instance: 1, Lease: 9, Status: 429,
		Reason: journal.HashName("shed")}
	if err := w.Event(&refused); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "recording")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReplayRecorded: before what configurations come to stands what was recorded, with its refusals. The servers are
// those of the recording unless the command says how many there are.
func TestReplayRecorded(t *testing.T) {
	path := recorded(t)
	for _, test := range []struct {
		name    string
		args    []string
		servers int
	}{
		{"its own servers", nil, 2},
		{"others", []string{"-servers", "3"}, 3},
	} {
		var out, errs bytes.Buffer
		args := append([]string{"replay", "-c", "../../internal/shipped/config.yaml", "-o", "json", path}, test.args...)
		if code := run(args, &out, &errs); code != 0 {
			t.Fatalf("%s: exit code %d: %s", test.name, code, &errs)
		}
		var got struct {
			Servers struct{ Count int }
			Reports []struct {
				Name     string
				Requests int
				Refusals map[string]int
				TTFT     struct{ P50 float64 }
			}
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Servers.Count != test.servers || len(got.Reports) != 2 {
			t.Fatalf("%s: got %d servers and %d reports, want %d and 2", test.name, got.Servers.Count, len(got.Reports),
				test.servers)
		}
		was, again := got.Reports[0], got.Reports[1]
		if was.Name != "recorded" || was.Requests != 4 || was.Refusals["shed"] != 1 || was.TTFT.P50 != 0.3 {
			t.Errorf("%s: got %+v, want 4 requests and one refused, recorded", test.name, was)
		}
		if again.Requests != 4 || len(again.Refusals) > 0 {
			t.Errorf("%s: got %+v of the configuration, want 4 requests and none refused", test.name, again)
		}
	}
}
