package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/recording"
	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/journal"
)

// TestRequestsOfARecording: requests that were no streams when they were recorded are streams in both that are
// compared, so that both have times to first tokens of them.
func TestRequestsOfARecording(t *testing.T) {
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, 1)
	if err != nil {
		t.Fatal(err)
	}
	e := journal.Event{Kind: journal.Decision, Time: 1e9, Instance: 1, Lease: 1, Primary: 1, PromptBytes: 400}
	done := journal.Event{Kind: journal.Completion, Time: 2e9, Instance: 1, Lease: 1, Primary: 1, Status: 200}
	path := filepath.Join(t.TempDir(), "recording")
	if err := errors.Join(w.Event(&e), w.Event(&done), w.Flush()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options{trace: path, seconds: 1, speed: 1, scale: 1, seeds: 1, servers: replay.DefaultServers()}
	requests, err := o.requests()
	if err != nil || len(requests) != 1 || requests[0].Recorded != nil {
		t.Fatalf("got %+v, %v, want one request, of which nothing is known to have become", requests, err)
	}
	all, err := o.replay(t.Context(), requests)
	if err != nil || math.IsNaN(all[0].TTFT.P50) {
		t.Errorf("got a TTFT of %v, %v, want one", all[0].TTFT.P50, err)
	}
}

// TestWrong: the bars are of the medians of the replays, and what cannot be compared keeps none.
func TestWrong(t *testing.T) {
	report := func(hits, half, ninety float64) *replay.Report {
		return &replay.Report{Hits: hits, TTFT: replay.Quantiles{P50: half, P90: ninety}}
	}
	replays := []*replay.Report{report(0.1, 1, 2), report(0.2, 1, 2), report(0.9, 9, 9)}
	for _, test := range []struct {
		name string
		real *replay.Report
		want []string
	}{
		{"the same", report(0.2, 1, 2), nil},
		{"within the bars", report(0.215, 1.1, 1.8), nil},
		{"hits", report(0.23, 1, 2), []string{"found in caches differ by 3.0 points"}},
		{"p50", report(0.2, 1.25, 2), []string{"TTFT p50 s differs by 20 %"}},
		{"p90", report(0.2, 1, 1.6), []string{"TTFT p90 s differs by 25 %"}},
		{"no usage", report(math.NaN(), 1, 2), []string{"found in caches differ by NaN"}},
		{"no times", report(0.2, math.NaN(), math.NaN()), []string{"TTFT p50 s", "TTFT p90 s"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := wrong(test.real, replays)
			if (err == nil) != (len(test.want) == 0) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want ...%s...", err, want)
				}
			}
		})
	}
}
