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

// TestReplaySpeeds: slower servers answer later.
func TestReplaySpeeds(t *testing.T) {
	full, slow := replayed(t), replayed(t, "-speeds", "0.5")
	if slow.TTFT.P50 < 1.5*full.TTFT.P50 {
		t.Errorf("time to first token at half the speed: got %v s, want some twice %v s", slow.TTFT.P50, full.TTFT.P50)
	}
}

// TestReplayAsks: requests that ask for what no server reaches are refused, if the configuration says so, and are not
// if nobody asks.
func TestReplayAsks(t *testing.T) {
	asked, unasked := replayed(t, "-slo-ttft", "1us", "-ask"), replayed(t, "-slo-ttft", "1us")
	if asked.Refusals["slo_unmet"] == 0 || len(unasked.Refusals) > 0 {
		t.Errorf("refusals: got %v, and %v where nothing is asked for; want slo_unmet, and none", asked.Refusals,
			unasked.Refusals)
	}
}

type replayReport struct {
	TTFT     struct{ P50 float64 }
	Refusals map[string]int
}

// replayed is the report of a replay with one server, whose latencies are predicted.
func replayed(t *testing.T, args ...string) replayReport {
	t.Helper()
	config := filepath.Join(t.TempDir(), "latency.yaml")
	const text = `plugins: [{type: predicted-latency-scorer, parameters: {unmet: refuse}}]`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args = append(append([]string{"replay", "-c", config, "-o", "json", "-servers", "1"}, args...), traceFile)
	if code := run(args, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	var got struct{ Reports []replayReport }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Reports) != 1 {
		t.Fatalf("%v: %s", err, &out)
	}
	return got.Reports[0]
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
		{"scale", []string{"-c", config, "-scale", "0", traceFile}, "flag -scale 0: want 0.001 to 1e6"},
		{"the least scale", []string{"-c", config, "-scale", "1e-12", traceFile},
			"flag -scale 1e-12: want 0.001 to 1e6"},
		{"the greatest scale", []string{"-c", config, "-scale", "1000001", traceFile},
			"flag -scale 1.000001e+06: want 0.001 to 1e6"},
		{"prefill", []string{"-c", config, "-prefill-tokens-per-second", "0", traceFile},
			"flag -prefill-tokens-per-second 0: want a number above 0"},
		{"no prefill", []string{"-c", config, "-prefill-tokens-per-second", "NaN", traceFile},
			"flag -prefill-tokens-per-second NaN: want a number above 0"},
		{"prefill without end", []string{"-c", config, "-prefill-tokens-per-second", "inf", traceFile},
			"flag -prefill-tokens-per-second +Inf: want a number above 0, at most 1e12"},
		{"a time for a token", []string{"-c", config, "-time-per-output-token", "-1ns", traceFile},
			"flag -time-per-output-token -1ns: want 0s or more"},
		{"a slowdown", []string{"-c", config, "-batch-slowdown", "-0.1", traceFile},
			"flag -batch-slowdown -0.1: want 0 to 1e6"},
		{"a slowdown without end", []string{"-c", config, "-batch-slowdown", "inf", traceFile},
			"flag -batch-slowdown +Inf: want 0 to 1e6"},
		{"no slowdown", []string{"-c", config, "-batch-slowdown", "NaN", traceFile},
			"flag -batch-slowdown NaN: want 0 to 1e6"},
		{"servers", []string{"-c", config, "-servers", "0", traceFile}, "flag -servers 0: want 1 to 4096"},
		{"reported blocks", []string{"-c", config, "-reported-blocks", "-1", traceFile},
			"flag -reported-blocks -1: want 0 to"},
		{"blocks", []string{"-c", config, "-num-blocks", "-1", traceFile}, "flag -num-blocks -1: want 1 to"},
		{"limit", []string{"-c", config, "-slo-ttft", "0s", traceFile}, "want a time above 0"},
		{"speeds", []string{"-c", config, "-speeds", "1,0", traceFile}, `"0": want 0.001 to 1000`},
		{"too many speeds", []string{"-c", config, "-servers", "2", "-speeds", "1,1,1", traceFile},
			"flag -speeds: names 3 servers, and there are 2"},
		{"lag", []string{"-c", config, "-gateways", "2", "-lag", "-1s", traceFile}, `"-1s": want a time such as 250ms`},
		{"a lag alone", []string{"-c", config, "-lag", "1s", traceFile}, "flag -lag: there is one gateway only"},
		{"gateways", []string{"-c", config, "-gateways", "0", traceFile}, "flag -gateways 0: want 1 to 64"},
		{"room for no adapters", []string{"-c", config, "-max-lora", "2", traceFile},
			"flags -max-lora and -lora-load: want -lora, too"},
		{"no room for adapters", []string{"-c", config, "-lora", "a", "-max-lora", "0", traceFile},
			"flag -max-lora 0: want 1 to 65536"},
		{"a load in no time", []string{"-c", config, "-lora", "a", "-lora-load", "-1s", traceFile},
			"flag -lora-load -1s: want 0s or more"},
		{"nothing to ask for", []string{"-c", config, "-ask", traceFile}, "flag -ask: there is nothing to ask for"},
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
