package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/recording"
	"github.com/pintle-dev/pintle/internal/replay"
	formats "github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	status "github.com/pintle-dev/pintle/internal/sidecar/traffic"
)

// readAccessLog reads the lines of the test's requests, of which there must be so many.
func readAccessLog(t *testing.T, file string, want int) *ledger {
	t.Helper()
	var l *ledger
	harness.WaitFor(t, 30*time.Second, "the log to be written", func() (bool, string) {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.HasSuffix(text, []byte("\n")) {
			return false, fmt.Sprint(err)
		}
		l = &ledger{}
		for line := range bytes.Lines(text) {
			var of map[string]any
			if err := json.Unmarshal(line, &of); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if len(of) != len(formats.AccessLog()) {
				t.Fatalf("%s: want %d names", line, len(formats.AccessLog()))
			}
			named := map[string]string{}
			for name, value := range of {
				if value != nil {
					named[name] = fmt.Sprint(value)
				}
			}
			l.addNamed(named)
		}
		return l.count() == want, fmt.Sprint(l.count(), " lines")
	})
	return l
}

// wantCosts: what a reporter makes of the tokens is in the log, for all requests of which tokens are known.
func wantCosts(t *testing.T, file string, requests int, told map[string]int) {
	t.Helper()
	want := 0
	for line, n := range told {
		var input, output int
		if _, tokens, found := strings.Cut(line, ", "); found {
			_, _ = fmt.Sscanf(tokens, "%d %d", &input, &output)
		}
		want += n * (input + 100*output)
	}
	got := 0
	harness.WaitFor(t, 10*time.Second, "the log of costs to be written", func() (bool, string) {
		text, err := os.ReadFile(file)
		lines := strings.Fields(string(text))
		got = 0
		for _, line := range lines {
			cost, _ := strconv.ParseFloat(line, 64) // none is a hyphen
			got += int(cost)
		}
		return len(lines) == requests, fmt.Sprint(len(lines), " lines, ", err)
	})
	if got != want || got == 0 {
		t.Errorf("the log has costs of %d, by the journal they are %d", got, want)
	}
}

// wantRecording: what was recorded can be read and has all requests.
func wantRecording(t *testing.T, recorder *recording.Recorder, told map[string]int) {
	t.Helper()
	all := 0
	harness.WaitFor(t, 10*time.Second, "all to be recorded", func() (bool, string) {
		_, missed, err := recorder.Flush()
		file, openErr := os.Open(recorder.File.Path)
		if openErr != nil {
			t.Fatal(openErr)
		}
		defer file.Close()
		trace, readErr := replay.Read(file)
		if err != nil || readErr != nil || missed > 0 {
			t.Fatalf("recording: %v, %v, %d missed", err, readErr, missed)
		}
		all = inTrace(trace)
		want := 0
		for _, n := range told {
			want += n
		}
		return all == want && trace.Unended == 0 && trace.Failed["invalid_body"] == told["refused invalid_body"],
			fmt.Sprintf("%d of %d, %+v", all, want, trace.Failed)
	})
}

// wantShadow: the shadow, which chooses at random, decided what could be decided, and sometimes otherwise. The sidecar
// tells the same of it as Envoy.
func wantShadow(t *testing.T, envoy *harness.Envoy, shown *status.Traffic, requests int) {
	t.Helper()
	stats := envoy.Stats(t, "pintle.shadow")
	of := func(name string) (n int64) {
		for full, value := range stats {
			if strings.HasSuffix(full, "pintle.shadow."+name) {
				n = value
			}
		}
		return n
	}
	if decided := of("decisions"); decided != int64(requests)*9/10 || of("agreed") == 0 || of("agreed") == decided ||
		of("refused") != 0 || of("cached_tokens_acting") <= of("cached_tokens") {
		t.Errorf("the shadow's statistics are %v", stats)
	}
	want := map[string]float64{
		"agreed": float64(of("agreed")), "differed": float64(of("decisions") - of("agreed")), "refused": 0,
		"admitted": 0, "cached_tokens shadow": float64(of("cached_tokens")),
		"cached_tokens acting": float64(of("cached_tokens_acting")), "load shadow": float64(of("load")),
		"load acting": float64(of("load_acting")),
	}
	harness.WaitFor(t, 10*time.Second, "the sidecar to tell the same of the shadow", func() (bool, string) {
		got := shadowMetrics(t, shown)
		return maps.Equal(got, want), fmt.Sprintf("%v, want %v", got, want)
	})
}

// metricsOf are those that a sidecar makes of what it follows.
func metricsOf(t *testing.T, shown *status.Traffic) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewRegistry()
	shown.Register(registry, func() *pool.Generation { return nil }, &config.Metrics{})
	families, err := shown.Gatherer(registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// shadowMetrics are what the sidecar's metrics say of a shadow.
func shadowMetrics(t *testing.T, shown *status.Traffic) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for _, f := range metricsOf(t, shown) {
		what, ok := strings.CutPrefix(f.GetName(), "pintle_shadow_")
		if !ok {
			continue
		}
		what = strings.TrimPrefix(strings.TrimSuffix(what, "_total")+" ", "decisions ")
		for _, m := range f.GetMetric() {
			got[what+m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return got
}
