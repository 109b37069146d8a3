package main

import (
	"encoding/json"
	"encoding/xml"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/stack"
)

func TestJain(t *testing.T) {
	tests := []struct {
		name   string
		shares []float64
		want   float64
	}{
		{"even", []float64{3, 3, 3}, 1}, {"one gets all", []float64{0, 5, 0, 0}, 0.25},
		{"two to one", []float64{2, 1}, 0.9}, {"nobody", []float64{0, 0}, 0},
	}
	for _, tt := range tests {
		if got := jain(tt.shares); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The configuration compares plug-ins that are there.
func TestPluginConfig(t *testing.T) {
	text, err := json.Marshal(pluginConfig(15099))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pluginconfig.Parse(text); err != nil {
		t.Error(err)
	}
	envoy, err := envoyConfig(ports{1, 2, 3, 4, 5})
	if err != nil || !strings.Contains(envoy, "port_value: 1}") || !strings.Contains(envoy, "port_value: 2}") {
		t.Errorf("%v: %s", err, envoy)
	}
}

// sample is an answer with 100 prompt tokens.
func sample(start, ttft time.Duration, cached, output int) load.Sample {
	return load.Sample{Start: start, Status: 200, TTFT: ttft, PromptTokens: 100, CachedTokens: cached,
		OutputTokens: output}
}

func TestEvaluate(t *testing.T) {
	heavy := &load.Result{Samples: []load.Sample{sample(0, time.Hour, 100, 50), sample(warmUp, time.Minute, 50, 50),
		sample(warmUp, time.Minute, 0, 50)}}
	// 150 tokens out count as 300, so that both users get the same.
	light := &load.Result{Samples: []load.Sample{sample(warmUp, time.Second, 50, 150),
		{Start: warmUp, Status: 503, Err: "no"}, {Start: 0, Status: 503, Err: "no"}}}
	got := evaluate([]*load.Result{heavy, light}, warmUp+3*time.Second)
	want := outcome{jain: 1, hitRate: 1.0 / 3, lightTTFT: time.Second, requests: 1, failed: 2}
	if math.Abs(got.jain-want.jain) > 1e-12 || math.Abs(got.hitRate-want.hitRate) > 1e-12 ||
		got.lightTTFT != want.lightTTFT || got.requests != want.requests || got.failed != want.failed {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestPrompts: a user has another prompt for each request, more than there is time for, that no other one of any round
// has.
func TestPrompts(t *testing.T) {
	const second, answered = 8, 100 // the servers answer less than that a second
	seen := map[string]bool{}
	for _, seed := range []uint64{1, 2} {
		for user := range 2 {
			all := prompts(seed, user, second*time.Second)
			if len(all) < second*answered {
				t.Errorf("got %d prompts for %d s, want %d or more", len(all), second, second*answered)
			}
			for _, q := range all {
				if seen[string(q.Body)] {
					t.Fatalf("seed %d, user %d: a prompt comes twice", seed, user)
				}
				seen[string(q.Body)] = true
			}
		}
	}
}

// TestWhyRequestsFail: where requests failed as a process has ended the error says which, and what it logged.
func TestWhyRequestsFail(t *testing.T) {
	port, err := stack.FreePorts(1) // nobody listens there
	if err != nil {
		t.Fatal(err)
	}
	st := &stack.Stack{Root: t.TempDir(), Dir: t.TempDir()}
	defer st.Close()
	envoy, err := st.Start("envoy", "/bin/sh", "-c", "echo out of luck; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	<-envoy.Done()
	_, err = measure(t.Context(), st, ports{requests: port}, "random", 1, time.Millisecond)
	for _, want := range []string{"envoy ended unexpectedly (exit status 3)", "out of luck"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ...%s...", err, want)
		}
	}
}

func TestMedian(t *testing.T) {
	got := median([]outcome{{jain: 0.9, failed: 1}, {jain: 0.1}, {jain: 0.3, failed: 2}})
	if got.jain != 0.3 || got.failed != 3 {
		t.Errorf("got %+v, want the median 0.3 and 3 failures", got)
	}
	if got := median([]outcome{{jain: 0.2}, {jain: 0.4}}); math.Abs(got.jain-0.3) > 1e-12 {
		t.Errorf("of two: got %v, want 0.3", got.jain)
	}
}

func TestReport(t *testing.T) {
	rows := []row{{"random", outcome{0.5, 0.25, 1500 * time.Millisecond, 10, 0}}, {"vtc-basic", outcome{}}}
	var table strings.Builder
	writeTable(&table, rows)
	for _, want := range []string{"random", "0.50", "25%", "1.5s", "vtc-basic"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	if err := failures(rows); err != nil {
		t.Errorf("no request failed: got %v", err)
	}
	rows[1].failed = 3
	if err := failures(rows); err == nil || err.Error() != "vtc-basic: 3 requests failed" {
		t.Errorf("three requests failed: got %v", err)
	}
	picture := plot(rows)
	if err := xml.Unmarshal([]byte(picture), new(struct{ XMLName xml.Name })); err != nil {
		t.Errorf("the plot is no XML: %v\n%s", err, picture)
	}
	for _, want := range []string{">vtc-basic<", ">1.5s<", "prefix hit rate"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the plot lacks %q:\n%s", want, picture)
		}
	}
}

func TestParseFlags(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-seconds", "2"}, {"more"}} {
		if _, err := parseFlags(args); err == nil {
			t.Errorf("%q is taken, want an error", args)
		}
	}
}
