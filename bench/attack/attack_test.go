package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
)

// TestShippedConfig: the shipped configurations stay what they are, but for ports and the document.
func TestShippedConfig(t *testing.T) {
	ports := map[int]int{demoRequests: 21, demoIngest: 22, demoAdmin: 23, demoSims: 24}
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		for _, document := range []string{"", byFairness} {
			text, err := shippedConfig(filepath.Join("..", "..", name), ports, document)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"port_value: 21\n", "port_value: 22\n", "port_value: 23\n", `"port":22`} {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %q is missing in\n%s", name, want, text)
				}
			}
			if strings.Contains(text, "port_value: 10000\n") ||
				strings.Contains(text, "vtc-basic") != (document != "") {
				t.Errorf("%s with the document %q is\n%s", name, document, text)
			}
			if err := yaml.Unmarshal([]byte(text), new(map[string]any)); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := shippedConfig(filepath.Join("..", "..", "envoy.yaml"), map[int]int{}, ""); err == nil {
		t.Error("a configuration on ports that are unknown is taken")
	}
	for _, document := range []string{byFairness, byTenants()} {
		if _, err := pluginconfig.Parse(json.RawMessage(document)); err != nil {
			t.Error(err)
		}
	}
}

// TestOthersRepeatNothing: however long an attack takes, the well-behaved have requests enough for all of the round,
// and no two that no server has seen are the same.
func TestOthersRepeatNothing(t *testing.T) {
	for _, test := range []struct {
		name     string
		warmth   int
		duration time.Duration
	}{{"short", 6, 4 * time.Second}, {"usual", 24, 15 * time.Second}, {"long", 6, time.Minute}} {
		t.Run(test.name, func(t *testing.T) {
			requests := newOthers(test.warmth, test.duration).requests
			least := test.warmth*groups + int(3*rate*test.duration.Seconds())
			if len(requests) < least+3*coldEvery {
				t.Errorf("got %d requests, want %d and some more", len(requests), least)
			}
			seen := map[string]bool{}
			for i := coldEvery / 2; i < len(requests); i += coldEvery {
				if body := string(requests[i].Body); seen[body] {
					t.Fatalf("request %d is one that was sent before", i)
				} else {
					seen[body] = true
				}
			}
		})
	}
}

// TestJudge: each bar is missed by what is beyond it alone.
func TestJudge(t *testing.T) {
	good := figures{sent: 100, p99: 100 * time.Millisecond, hits: 0.9, share: 0.3, memory: 100, cores: 0.1}
	for _, test := range []struct {
		name   string
		change func(r *round)
		want   string
	}{
		{"nothing", func(*round) {}, ""},
		{"TTFT", func(r *round) { r.during.p99 = 151 * time.Millisecond }, "p99 TTFT during it is 1.5 times"},
		{"TTFT at the bar", func(r *round) { r.during.p99 = 150 * time.Millisecond }, ""},
		{"TTFT afterwards", func(r *round) { r.after.p99 = time.Second }, "p99 TTFT after it is 10.0 times"},
		{"hits", func(r *round) { r.during.hits = 0.84 }, "hits during it are 6 points fewer"},
		{"share", func(r *round) { r.after.share = 0.6 }, "one server has 60 % of the requests after it"},
		{"refused", func(r *round) { r.during.refused = 1 }, "1 of 100 requests fail during it"},
		{"memory", func(r *round) { r.after.memory = 140 }, "1.4 times its memory"},
		{"sidecar", func(r *round) { r.during.cores = 0.9 }, "0.90 cores"},
		{"leak", func(r *round) { r.leaks = []string{"a leak"} }, "a leak"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := round{before: good, during: good, after: good}
			test.change(&r)
			got := strings.Join(full.judge(attack{}, r), "; ")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	lossy := round{before: good, during: good, after: good}
	lossy.during.refused = 5
	if got := full.judge(attack{mayLose: 0.05}, lossy); len(got) > 0 {
		t.Errorf("what an attack may lose: got %q", got)
	}
}

func TestMedian(t *testing.T) {
	var all []round
	for _, p99 := range []time.Duration{9, 1, 5} {
		all = append(all, round{during: figures{p99: p99, hits: float64(p99), refused: int(p99)}, tried: "it"})
	}
	if got := median(all); got.during.p99 != 5 || got.during.hits != 5 || got.during.refused != 5 || got.tried != "it" {
		t.Errorf("got %+v, want the median 5", got)
	}
}

// TestSooner: what an attacker has of times is 0.5 where they tell nothing.
func TestSooner(t *testing.T) {
	for _, tc := range []struct {
		name          string
		first, second []float64
		want          float64
	}{
		{"always", []float64{1, 2}, []float64{3, 4}, 1},
		{"never", []float64{3, 4}, []float64{1, 2}, 0},
		{"equal", []float64{1, 1}, []float64{1, 1}, 0.5},
		{"now and then", []float64{1, 4}, []float64{2, 3}, 0.5},
		{"mostly", []float64{1, 2, 5}, []float64{4}, 2.0 / 3},
	} {
		if got := sooner(tc.first, tc.second); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestReport(t *testing.T) {
	var text strings.Builder
	report(&text, attacks[0], round{tried: "much"}, []string{"a fault"})
	for _, want := range []string{attacks[0].name, "FAILED: much", "before", "during", "after", "! a fault"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

// TestPageOfLies: the page is one that the sidecar reads at all, or it would be no attack.
func TestPageOfLies(t *testing.T) {
	page := []byte(pageOfLies())
	var got engine.Sample
	engine.NewParser(engine.Known.Detect(page)).Parse(page, &got)
	if got.WaitingRequests == 0 {
		t.Errorf("got %d waiting requests, want some", got.WaitingRequests)
	}
}

func TestParseFlags(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-only", "nothing"}, {"more"}, {"-duration", "1ms"}} {
		if _, err := parseFlags(args); err == nil {
			t.Errorf("%q is taken, want an error", args)
		}
	}
	o, err := parseFlags([]string{"-short", "-only", "hang,page"})
	if err != nil || len(o.names) != 2 || o.bars != generous || o.duration != 4*time.Second {
		t.Errorf("got %+v, %v", o, err)
	}
}
