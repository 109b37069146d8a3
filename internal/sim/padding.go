package sim

import (
	"fmt"
	"strings"
)

// metricsPadding renders about size bytes of families such as a Python server exports beside its own: interpreter,
// process and HTTP handlers, then histograms of request sizes. The values never change.
func metricsPadding(size int) string {
	if size == 0 {
		return ""
	}
	var b strings.Builder
	for _, name := range []string{"python_gc_objects_collected_total", "python_gc_collections_total"} {
		fmt.Fprintf(&b, "# HELP %s Python garbage collector.\n# TYPE %s counter\n", name, name)
		for generation := range 3 {
			fmt.Fprintf(&b, "%s{generation=\"%d\"} %d.0\n", name, generation, 9731>>generation)
		}
	}
	for _, gauge := range []struct {
		name  string
		value float64
	}{
		{"process_virtual_memory_bytes", 4.2949672e10}, {"process_resident_memory_bytes", 5.36870912e9},
		{"process_cpu_seconds", 271.5}, {"process_open_fds", 91},
	} {
		fmt.Fprintf(&b, "# HELP %s Process.\n# TYPE %s gauge\n%s %v\n", gauge.name, gauge.name, gauge.name, gauge.value)
	}
	handlers := []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/models", "/health",
		"/tokenize"}
	for family := 0; b.Len() < size; family++ {
		name := fmt.Sprintf("http_request_duration_seconds_%d", family)
		if family == 0 {
			name = "http_request_duration_seconds"
		}
		fmt.Fprintf(&b, "# HELP %s Latency by handler.\n# TYPE %s histogram\n", name, name)
		for i := 0; i < len(handlers) && b.Len() < size; i++ {
			padHandler(&b, name, handlers[i], family)
		}
	}
	return b.String()
}

func padHandler(b *strings.Builder, name, handler string, family int) {
	for i, bound := range ttftBounds {
		fmt.Fprintf(b, "%s_bucket{handler=%q,le=\"%v\",method=\"POST\"} %d.0\n", name, handler, bound, 17*i+family)
	}
	fmt.Fprintf(b, "%s_bucket{handler=%q,le=\"+Inf\",method=\"POST\"} %d.0\n", name, handler, 17*len(ttftBounds)+family)
	fmt.Fprintf(b, "%s_count{handler=%q,method=\"POST\"} %d.0\n", name, handler, 17*len(ttftBounds)+family)
	fmt.Fprintf(b, "%s_sum{handler=%q,method=\"POST\"} %d.25\n", name, handler, 211+family)
}
