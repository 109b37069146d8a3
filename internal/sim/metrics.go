package sim

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pins override what /metrics shows; nil shows the truth.
type pins struct {
	Waiting *float64 `json:"waiting"`
	Running *float64 `json:"running"`
	KV      *float64 `json:"kv"`
	// Start is process_start_time_seconds, which 0 leaves out, and PromptTokens vllm:prompt_tokens_total.
	Start        *float64 `json:"start"`
	PromptTokens *float64 `json:"promptTokens"`
}

// metricsPage renders /metrics in the Prometheus text format under vLLM's names.
type metricsPage struct {
	config  Config
	labels  string
	created string
	start   float64
	head    []byte
	tail    []byte

	mu   sync.Mutex
	lora []loraSeries
	few  fewMetrics
}

// fewMetrics are the names that a scraper asked for last, with what it gets of head and tail: who asks for some metrics
// alone asks for the same ones each time, and what never changes is long.
type fewMetrics struct {
	names      []string
	head, tail []byte
}

// pages lends buffers for pages.
var pages = sync.Pool{New: func() any { return new([]byte) }}

// loraSeries is one series of vllm:lora_requests_info. A Prometheus client library keeps exporting label sets that are
// past, so several may stand on a page; the value is the time at which the series was current.
type loraSeries struct {
	labels string
	time   float64
}

const maxLoraSeries = 8

func newMetricsPage(config Config) *metricsPage {
	now := time.Now()
	padding := metricsPadding(config.MetricsPadding * 1024)
	half := len(padding) / 2
	half += strings.Index(padding[half:]+"# HELP ", "# HELP ")
	return &metricsPage{
		config: config, labels: fmt.Sprintf(`engine="0",model_name=%q`, config.Models[0]),
		created: strconv.FormatFloat(seconds(now), 'f', -1, 64), start: seconds(now),
		head: []byte(padding[:half]), tail: []byte(padding[half:]),
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()/1e3) / 1e6 }

// serve answers with the metrics called names, as vLLM does for /metrics/?name[]=..., or with all when there are none.
func (p *metricsPage) serve(w http.ResponseWriter, l load, pinned *pins, names []string) {
	lent := pages.Get().(*[]byte)
	defer pages.Put(lent)
	head, tail := p.head, p.tail
	if len(names) > 0 {
		head, tail = p.some(names)
	}
	b := append((*lent)[:0], head...)
	b = p.changing(b, l, pinned)
	if len(names) > 0 {
		b = b[:len(head)+len(only(b[len(head):], names))]
	}
	b = append(b, tail...)
	*lent = b
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b)
}

// changing appends the metrics of the server's own work.
func (p *metricsPage) changing(b []byte, l load, pinned *pins) []byte {
	b = p.gauges(b, l, pinned)
	b = p.counters(b, &l.statsSnapshot, pinned)
	b = p.histogram(b, "time_to_first_token_seconds", "Time to first token.", ttftBounds, &l.statsSnapshot.ttft)
	b = p.histogram(b, "request_time_per_output_token_seconds", "Mean time per output token of a request.", tokenBounds,
		&l.statsSnapshot.perToken)
	b = p.histogram(b, "e2e_request_latency_seconds", "Whole time of a request.", stepBounds, &l.statsSnapshot.e2e)
	b = p.histogram(b, "request_queue_time_seconds", "Time in the queue.", stepBounds, &l.statsSnapshot.queueTime)
	return p.histogram(b, "request_prefill_time_seconds", "Time from the queue to the first token.", stepBounds,
		&l.statsSnapshot.prefillTime)
}

// some is what head and tail have of the metrics called names.
func (p *metricsPage) some(names []string) (head, tail []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.few.names, names) {
		p.few = fewMetrics{names, only(slices.Clone(p.head), names), only(slices.Clone(p.tail), names)}
	}
	return p.few.head, p.few.tail
}

// only keeps the lines of a page that are about the metrics called names.
func only(page []byte, names []string) []byte {
	kept := page[:0]
	for line := range bytes.Lines(page) {
		name := bytes.TrimPrefix(bytes.TrimPrefix(line, []byte("# HELP ")), []byte("# TYPE "))
		if end := bytes.IndexAny(name, " {\n"); end >= 0 {
			name = name[:end]
		}
		if slices.Contains(names, string(name)) {
			kept = append(kept, line...)
		}
	}
	return kept
}

func (p *metricsPage) gauges(b []byte, l load, pinned *pins) []byte {
	running, waiting, kv, start := float64(l.Running), float64(l.Waiting), l.KV, p.start
	if pinned != nil {
		running, waiting, kv = deref(pinned.Running, running), deref(pinned.Waiting, waiting), deref(pinned.KV, kv)
		start = deref(pinned.Start, start)
	}
	if start != 0 {
		const name = "process_start_time_seconds"
		b = appendValue(append(appendHeader(b, name, "Start time of the process.", "gauge"), name+" "...), start)
	}
	b = p.gauge(b, "num_requests_running", "Requests in the batch.", running)
	b = p.gauge(b, "num_requests_waiting", "Requests in the queue.", waiting)
	b = p.gauge(b, "kv_cache_usage_perc", "Used part of the KV cache, 0 to 1.", kv)
	b = appendHeader(b, "vllm:cache_config_info", "Size of the KV cache.", "gauge")
	b = fmt.Appendf(b,
		"vllm:cache_config_info{block_size=\"%d\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"0\","+
			"gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"%d\",sliding_window=\"None\"} 1.0\n", p.config.BlockTokens,
		p.config.Blocks*p.config.Ranks)
	if len(p.config.Adapters) == 0 {
		return b
	}
	b = appendHeader(b, "vllm:lora_requests_info", "LoRA adapters in use.", "gauge")
	for _, series := range p.loraNow(l) {
		b = append(b, "vllm:lora_requests_info{"...)
		b = append(b, series.labels...)
		b = appendValue(append(b, "} "...), series.time)
	}
	return b
}

func deref(v *float64, fallback float64) float64 {
	if v == nil {
		return fallback
	}
	return *v
}

func (p *metricsPage) loraNow(l load) []loraSeries {
	labels := fmt.Sprintf(`max_lora="%d",running_lora_adapters=%q,waiting_lora_adapters=%q`, p.config.MaxAdapters,
		strings.Join(l.runningLoRA, ","), strings.Join(l.waitingLoRA, ","))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lora = slices.DeleteFunc(p.lora, func(s loraSeries) bool { return s.labels == labels })
	if len(p.lora) == maxLoraSeries {
		p.lora = p.lora[1:]
	}
	p.lora = append(p.lora, loraSeries{labels, seconds(time.Now())})
	shown := slices.Clone(p.lora)
	slices.SortFunc(shown, func(a, b loraSeries) int { return strings.Compare(a.labels, b.labels) })
	return shown
}

func (p *metricsPage) counters(b []byte, s *stats, pinned *pins) []byte {
	promptTokens := float64(s.promptTokens)
	if pinned != nil {
		promptTokens = deref(pinned.PromptTokens, promptTokens)
	}
	b = p.counter(b, "prefix_cache_queries", "Prompt tokens looked up in the prefix cache.", float64(s.cacheQueries))
	b = p.counter(b, "prefix_cache_hits", "Prompt tokens found in the prefix cache.", float64(s.cacheHits))
	b = p.counter(b, "num_preemptions", "Requests put back into the queue.", 0)
	b = p.counter(b, "prompt_tokens", "Prompt tokens processed.", promptTokens)
	b = p.counter(b, "generation_tokens", "Tokens generated.", float64(s.generationTokens))
	b = appendHeader(b, "vllm:request_success_total", "Finished requests by reason.", "counter")
	for _, reason := range []struct {
		name  string
		count uint64
	}{{"stop", s.stopped}, {"length", s.lengths}, {"abort", s.aborted}} {
		b = fmt.Appendf(b, "vllm:request_success_total{engine=\"0\",finished_reason=%q,model_name=%q} ", reason.name,
			p.config.Models[0])
		b = appendValue(b, float64(reason.count))
	}
	return b
}

func appendHeader(b []byte, name, help, kind string) []byte {
	return fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// appendValue writes a sample as Python's client does: whole numbers carry ".0".
func appendValue(b []byte, v float64) []byte {
	n := len(b)
	form := byte('f')
	if v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e16) {
		form = 'g'
	}
	b = strconv.AppendFloat(b, v, form, -1, 64)
	if !strings.ContainsAny(string(b[n:]), ".eIN") {
		b = append(b, ".0"...)
	}
	return append(b, '\n')
}

func (p *metricsPage) series(b []byte, name, suffix string, v float64) []byte {
	b = append(append(append(append(b, "vllm:"...), name...), suffix...), '{')
	return appendValue(append(append(b, p.labels...), "} "...), v)
}

func (p *metricsPage) gauge(b []byte, name, help string, v float64) []byte {
	return p.series(appendHeader(b, "vllm:"+name, help, "gauge"), name, "", v)
}

func (p *metricsPage) counter(b []byte, name, help string, v float64) []byte {
	b = p.series(appendHeader(b, "vllm:"+name+"_total", help, "counter"), name, "_total", v)
	b = appendHeader(b, "vllm:"+name+"_created", help, "gauge")
	return append(append(append(append(append(b, "vllm:"...), name...), "_created{"...), p.labels...),
		"} "+p.created+"\n"...)
}

func (p *metricsPage) histogram(b []byte, name, help string, bounds []float64, h *histogram) []byte {
	b = appendHeader(b, "vllm:"+name, help, "histogram")
	var below uint64
	bucket := func(bound string, count uint64) {
		b = append(append(append(b, "vllm:"...), name...), "_bucket{engine=\"0\",le=\""...)
		b = append(append(append(b, bound...), "\",model_name="...), strconv.Quote(p.config.Models[0])...)
		b = appendValue(append(b, "} "...), float64(count))
	}
	for i, bound := range bounds {
		below += h.counts[i]
		bucket(strings.TrimSuffix(string(appendValue(nil, bound)), "\n"), below)
	}
	bucket("+Inf", h.count)
	b = p.series(b, name, "_count", float64(h.count))
	return p.series(b, name, "_sum", h.sum)
}
