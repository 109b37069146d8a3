package engine

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// quotedName matches names written as strings, which the scanner does not read.
var quotedName = regexp.MustCompile(`[{,][ \t]*"`)

// FuzzParse compares the scanner with the reference parser on every page that the latter accepts.
func FuzzParse(f *testing.F) {
	pages, _ := filepath.Glob("testdata/vllm*.metrics")
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var short []string // long seeds make a slow fuzzer
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "vllm:") && !strings.Contains(line, "_bucket") {
				short = append(short, line)
			}
		}
		f.Add([]byte(strings.Join(short[:min(len(short), 6)], "")))
		f.Add([]byte(short[len(short)-1]))
	}
	f.Add([]byte("process_start_time_seconds 1.79526933241e+09\nvllm:num_requests_waiting 1\n"))
	f.Add([]byte("vllm:num_requests_waiting { a = \"\\\"} 9\" , } -1.5e3 17\n"))
	f.Add([]byte("vllm:kv_cache_usage_perc NaN\nvllm:gpu_cache_usage_perc{a=\"1\"} 0.5\n"))
	f.Add([]byte(`vllm:lora_requests_info{running_lora_adapters="a\\b, c\n",max_lora="2"} 1e9` + "\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		var got Sample
		NewParser(vllm).Parse(page, &got)
		if !(got.KVCacheUsage >= 0 && got.KVCacheUsage <= 1) {
			t.Fatalf("got KV usage %v, want 0 to 1", got.KVCacheUsage)
		}
		if quotedName.Match(page) {
			return
		}
		families, ok := reference(page)
		if !ok {
			return
		}
		want, ok := oracle(families)
		if !ok {
			return
		}
		if math.Abs(got.KVCacheUsage-want.KVCacheUsage) < 1e-12 {
			want.KVCacheUsage = got.KVCacheUsage
		}
		if !got.Equal(&want) {
			t.Errorf("got %+v, want %+v\npage %q", got, want, page)
		}
	})
}

// reference parses page. It panics on some pages with braces and no name before them; that counts as a refusal.
func reference(page []byte) (families map[string]*dto.MetricFamily, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	return families, err == nil
}

// oracle reads a vLLM sample off parsed families. It says no when a family's type makes it more than one number.
func oracle(families map[string]*dto.MetricFamily) (s Sample, ok bool) {
	for name, family := range families {
		if typ := family.GetType(); (strings.HasPrefix(name, "vllm:") || name == processStart) &&
			(typ == dto.MetricType_HISTOGRAM || typ == dto.MetricType_SUMMARY) {
			return s, false
		}
	}
	total, _ := gather(families["vllm:num_requests_waiting"])
	s.WaitingRequests = toCount(total)
	total, _ = gather(families["vllm:num_requests_running"])
	s.RunningRequests = toCount(total)
	for _, name := range []string{"vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"} {
		if used, count := gatherWith(families[name], func(v float64) float64 { return min(max(v, 0), 1) }); count > 0 {
			s.KVCacheUsage = min(used/float64(count), 1)
		}
	}
	config := families["vllm:cache_config_info"].GetMetric()
	for i := range config {
		if n, ok := finite(labelOf(config[len(config)-1-i], "block_size")); ok {
			s.KVBlockTokens = toCount(n)
		}
		if n, ok := finite(labelOf(config[len(config)-1-i], "num_gpu_blocks")); ok {
			s.KVBlocks = toCount(n)
		}
	}
	for _, m := range slices.Backward(families[processStart].GetMetric()) {
		if v := valueOf(m); !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.ProcessStart = toMillis(v)
		}
	}
	lora := families["vllm:lora_requests_info"].GetMetric()
	if n, ok := finite(newestLabel(lora, "max_lora"), true); ok {
		s.MaxLoRA = toCount(n)
	}
	var running, waiting adapters
	s.RunningLoRA = running.update([]byte(newestLabel(lora, "running_lora_adapters")))
	s.WaitingLoRA = waiting.update([]byte(newestLabel(lora, "waiting_lora_adapters")))
	return s, true
}

func gather(family *dto.MetricFamily) (total float64, count int) {
	return gatherWith(family, func(v float64) float64 { return v })
}

func gatherWith(family *dto.MetricFamily, clamp func(float64) float64) (total float64, count int) {
	for _, m := range family.GetMetric() {
		if v := valueOf(m); !math.IsNaN(v) && !math.IsInf(v, 0) {
			total += clamp(v)
			count++
		}
	}
	return total, count
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	case m.Counter != nil:
		return m.Counter.GetValue()
	}
	return m.Untyped.GetValue()
}

func labelOf(m *dto.Metric, name string) (value string, ok bool) {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue(), true
		}
	}
	return "", false
}

func newestLabel(metrics []*dto.Metric, name string) string {
	newest, time, found := "", 0.0, false
	for _, m := range metrics {
		value, has := labelOf(m, name)
		if v := valueOf(m); has && !math.IsNaN(v) && !math.IsInf(v, 0) && (!found || v > time) {
			newest, time, found = value, v, true
		}
	}
	return newest
}

func number(s string) (float64, error) {
	if strings.ContainsAny(s, "pP_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

func finite(s string, has bool) (float64, bool) {
	f, err := number(s)
	return f, has && err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}
