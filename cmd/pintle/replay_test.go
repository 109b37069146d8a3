package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const traceFile = "../../internal/replay/testdata/mooncake.jsonl"

func TestReplay(t *testing.T) {
	random := filepath.Join(t.TempDir(), "random.yaml")
	if err := os.WriteFile(random, []byte(`plugins: [{type: random-picker}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	shipped := "../../internal/shipped/config.yaml"
	var out, errs bytes.Buffer
	code := run([]string{"replay", "-c", shipped, traceFile, "-c", random, "-o", "json", "-slo-ttft", "1s", "-servers",
		"3"}, &out, &errs)
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	var got struct {
		Servers struct{ Count int }
		Reports []struct {
			Name     string
			Requests int
			Hits     float64
			TTFT     struct{ P50 float64 }
			Good     float64
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Reports) != 2 || got.Reports[0].Name != shipped || got.Reports[1].Name != random ||
		got.Servers.Count != 3 {
		t.Fatalf("%+v", got)
	}
	for _, r := range got.Reports {
		if r.Requests != 18 || r.TTFT.P50 <= 0 || r.Good <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if got.Reports[0].Hits <= got.Reports[1].Hits {
		t.Errorf("hits %v with prefixes, %v at random", got.Reports[0].Hits, got.Reports[1].Hits)
	}
	for _, format := range []string{"text", "html"} {
		out.Reset()
		if code := run([]string{"replay", "-c", random, "-o", format, traceFile}, &out, &errs); code != 0 ||
			!strings.Contains(out.String(), random) {
			t.Errorf("%s: exit code %d: %s%s", format, code, &out, &errs)
		}
	}
}

func TestReplayMistakes(t *testing.T) {
	config := "../../internal/shipped/config.yaml"
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no configuration", []string{traceFile}, "flag -c is missing"},
		{"no trace", []string{"-c", config}, "the trace is missing"},
		{"two traces", []string{"-c", config, traceFile, "other"}, `argument "other" is unknown`},
		{"no such trace", []string{"-c", config, "nowhere.jsonl"}, "nowhere.jsonl: no such file"},
		{"no trace inside", []string{"-c", config, config}, config + ": is no recording"},
		{"output", []string{"-c", config, "-o", "xml", traceFile}, `flag -o: "xml" is not text, json or html`},
		{"scale", []string{"-c", config, "-scale", "0", traceFile}, "flag -scale 0: want a number above 0"},
		{"servers", []string{"-c", config, "-servers", "0", traceFile}, "flag -servers 0: want 1 to 4096"},
		{"blocks", []string{"-c", config, "-num-blocks", "-1", traceFile}, "flag -num-blocks -1: want 1 to"},
		{"limit", []string{"-c", config, "-slo-ttft", "0s", traceFile}, "want a time above 0"},
		{"configuration", []string{"-c", traceFile, traceFile}, "mooncake.jsonl"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(append([]string{"replay"}, tc.args...), &out, &errs); code != 2 ||
				!strings.Contains(errs.String(), tc.want) {
				t.Errorf("exit code %d: %s; want 2 and %q", code, &errs, tc.want)
			}
		})
	}
}
