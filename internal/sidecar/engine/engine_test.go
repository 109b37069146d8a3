package engine

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func readPage(t testing.TB, name string) []byte {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// The pages of vllm-0.32 are real ones, of vLLM 0.32.0 for CPU; the others follow their engines' documentation and
// source.
func TestGoldenPages(t *testing.T) {
	tests := []struct {
		name    string
		want    Sample
		missing []string
	}{
		{name: "vllm-idle.metrics", want: Sample{KVBlockTokens: 16, KVBlocks: 27644, Done: 1 << 20}},
		{name: "vllm-lora.metrics", want: Sample{
			WaitingRequests: 3, RunningRequests: 17, KVCacheUsage: 0.42318, KVBlockTokens: 16, KVBlocks: 27644,
			MaxLoRA: 4, RunningLoRA: []string{"sql", "chat"}, WaitingLoRA: []string{"legal"},
			Done: 1 << 20,
		}},
		{name: "vllm-0.32-lora-idle.metrics",
			want: Sample{KVBlockTokens: 128, KVBlocks: 8192, ProcessStart: 1795269332410}},
		{name: "vllm-0.32-lora.metrics", want: Sample{
			WaitingRequests: 7, RunningRequests: 16, KVCacheUsage: 0.015993163227933094, KVBlockTokens: 128,
			KVBlocks: 8192,
			MaxLoRA:  2, RunningLoRA: []string{"adapter-1", "adapter-2"},
			WaitingLoRA:  []string{"adapter-1", "adapter-2"},
			ProcessStart: 1795269332410, Done: 23431,
		}},
		{name: "vllm-data-parallel.metrics", want: Sample{
			WaitingRequests: 7, RunningRequests: 24, KVCacheUsage: 0.5, KVBlockTokens: 16, KVBlocks: 2200,
			Done: 2 << 20,
		}},
		{name: "vllm-0.32-idle.metrics", want: Sample{KVBlockTokens: 128, KVBlocks: 8192, ProcessStart: 1795269332410}},
		{name: "vllm-0.32-data-parallel.metrics", want: Sample{
			RunningRequests: 5, KVCacheUsage: (0.0001220852154804053 + 0.0008545965083628371) / 2, KVBlockTokens: 128,
			KVBlocks:     16384,
			ProcessStart: 1795273524930, Done: 4668,
		}},
		{
			name: "vllm-0.8.metrics",
			want: Sample{WaitingRequests: 1, RunningRequests: 2, KVCacheUsage: 0.0625, KVBlockTokens: 16,
				Done: 1 << 20},
			missing: []string{"vllm:cache_config_info"},
		},
		{name: "sglang-tp.metrics", want: Sample{WaitingRequests: 2, RunningRequests: 9, KVCacheUsage: 0.28}},
		{name: "sglang-dp.metrics", want: Sample{
			WaitingRequests: 5, RunningRequests: 30, KVCacheUsage: 0.5, KVBlockTokens: 64, KVBlocks: 3000,
		}},
		{name: "sglang-all.metrics", want: Sample{ // with --enable-metrics-for-all-schedulers
			WaitingRequests: 5, RunningRequests: 30, KVCacheUsage: 0.5, KVBlockTokens: 64, KVBlocks: 3000,
		}},
		{name: "sglang-priorities.metrics", want: Sample{ // of 0.5.11, with --enable-priority-scheduling and a pipeline
			WaitingRequests: 2, RunningRequests: 9, KVCacheUsage: 0.28, KVBlockTokens: 64, KVBlocks: 15499, Done: 4711,
		}},
		{name: "sglang-decode.metrics", want: Sample{ // of 0.5.23, with --disaggregation-mode decode
			WaitingRequests: 13, RunningRequests: 30, KVCacheUsage: 0.75, KVBlockTokens: 64, KVBlocks: 2000,
		}},
		{name: "trtllm-serve.metrics", want: Sample{
			WaitingRequests: 4, RunningRequests: 12, KVCacheUsage: 0.375, KVBlockTokens: 32, KVBlocks: 4096,
			Done: 31,
		}},
		{
			name: "trtllm-old.metrics", want: Sample{KVCacheUsage: 0.25, Done: 3},
			missing: []string{"trtllm_num_requests_waiting", "trtllm_num_requests_running"},
		},
		{name: "triton-trtllm.metrics", want: Sample{
			WaitingRequests: 3, RunningRequests: 7, KVCacheUsage: 0.5, KVBlockTokens: 64, KVBlocks: 6239,
			MaxRunning: 512, Done: 120,
		}},
		{name: "triton-python.metrics", want: Sample{WaitingRequests: 6, Done: 120}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page, e := readPage(t, test.name), Known.ByName(test.name[:strings.IndexByte(test.name, '-')])
			if detected := Known.Detect(page); detected != e {
				t.Fatalf("got engine %v, want %v", detected, e)
			}
			var got Sample
			found := NewParser(e).Parse(page, &got)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v\nwant %+v", got, test.want)
			}
			if missing := e.Missing(found); !slices.Equal(missing, test.missing) {
				t.Errorf("missing: got %q, want %q", missing, test.missing)
			}
		})
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, page string
		want       Sample
	}{
		{name: "no labels", page: "vllm:num_requests_waiting 3\n", want: Sample{WaitingRequests: 3}},
		{name: "no newline at the end", page: "vllm:num_requests_waiting 3", want: Sample{WaitingRequests: 3}},
		{name: "exponent", page: "vllm:num_requests_waiting 1.2e+01\n", want: Sample{WaitingRequests: 12}},
		{name: "blank lines", page: "\n\nvllm:num_requests_waiting 3\n\n", want: Sample{WaitingRequests: 3}},
		{name: "a digit more in the name", page: "vllm:num_requests_waiting2 3\n"},
		{name: "timestamp", page: "vllm:num_requests_running{} 3 1732345600123\n", want: Sample{RunningRequests: 3}},
		{name: "bad timestamp", page: "vllm:num_requests_running 3 x\n"},
		{name: "more than a timestamp", page: "vllm:num_requests_running 3 17 x\n"},
		{name: "blanks", page: " \tvllm:num_requests_running { a = \"b\" , c=\"d\" , }\t3 \n",
			want: Sample{RunningRequests: 3}},
		{name: "brace and quote in a value", page: `vllm:num_requests_running{a="} 9 \" ",b="x"} 3`,
			want: Sample{RunningRequests: 3}},
		{name: "any letters and digits in a label's name", page: "vllm:num_requests_running{AZ_09az=\"b\"} 3\n",
			want: Sample{RunningRequests: 3}},
		{name: "no label's name", page: "vllm:num_requests_running{=\"b\"} 3\n"},
		{name: "cut off behind a label's name", page: "vllm:num_requests_running{a"},
		{name: "cut off behind an equals sign", page: "vllm:num_requests_running{a="},
		{name: "cut off in a value", page: "vllm:num_requests_running{a=\"b"},
		{name: "cut off in an escape", page: "vllm:num_requests_running{a=\"\\"},
		{name: "cut off behind a value", page: "vllm:num_requests_running{a=\"b\""},
		{name: "a blank alone", page: "vllm:num_requests_running \nvllm:num_requests_waiting 2\n",
			want: Sample{WaitingRequests: 2}},
		{name: "no equals sign", page: "vllm:num_requests_running{a\"b\"} 3\n"},
		{name: "no opening quote", page: "vllm:num_requests_running{a=bc\"} 3\n"},
		{name: "a colon in a label's name", page: "vllm:num_requests_running{a:b=\"c\"} 3\n"},
		{name: "a bracket in a label's name", page: "vllm:num_requests_running{a[=\"c\"} 3\n"},
		{name: "a timestamp of letters", page: "vllm:num_requests_running 3 1a\n"},
		{name: "name alone", page: "vllm:num_requests_running\nvllm:num_requests_waiting 2\n",
			want: Sample{WaitingRequests: 2}},
		{name: "an exponent of another case, and all digits", page: "vllm:num_requests_running 1.0E+9\n",
			want: Sample{RunningRequests: 1e9}},
		{name: "a family beside it", page: "vllm:num_requests_running:mean 3\n"},
		{name: "value at once", page: "vllm:num_requests_running+01\n vllm:num_requests_waiting-2\n",
			want: Sample{RunningRequests: 1}},
		{name: "longer name", page: "vllm:num_requests_waiting_total 3\n"},
		{name: "comment", page: "# vllm:num_requests_waiting 3\n"},
		{name: "NaN is no number", page: "vllm:num_requests_waiting NaN\nvllm:num_requests_running 2\n",
			want: Sample{RunningRequests: 2}},
		{name: "infinity is no number", page: "vllm:kv_cache_usage_perc +Inf\nvllm:num_requests_waiting 1e999\n"},
		{name: "negative", page: "vllm:num_requests_waiting -4\n"},
		{name: "usage below 0",
			page: "vllm:kv_cache_usage_perc{engine=\"0\"} -3\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.5\n",
			want: Sample{KVCacheUsage: 0.25}},
		{name: "all usages below 0", page: "vllm:kv_cache_usage_perc -0.5\n"},
		{name: "one usage far over 1",
			page: "vllm:kv_cache_usage_perc{engine=\"0\"} 7\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.5\n",
			want: Sample{KVCacheUsage: 0.75}},
		{name: "usage over 1", page: "vllm:kv_cache_usage_perc 1.0000001\n", want: Sample{KVCacheUsage: 1}},
		{name: "count over 32 bits", page: "vllm:num_requests_waiting 1e300\n",
			want: Sample{WaitingRequests: 1<<32 - 1}},
		{name: "new name before old", page: "vllm:gpu_cache_usage_perc 0.9\nvllm:kv_cache_usage_perc 0.1\n",
			want: Sample{KVCacheUsage: 0.1}},
		{name: "old name when the new is broken", page: "vllm:gpu_cache_usage_perc 0.9\nvllm:kv_cache_usage_perc NaN\n",
			want: Sample{KVCacheUsage: 0.9}},
		{name: "no value", page: "vllm:num_requests_waiting{a=\"b\"}\nvllm:num_requests_waiting{\n"},
		{name: "bad escape", page: `vllm:num_requests_waiting{a="\t"} 3`},
		{name: "unquoted value", page: `vllm:num_requests_waiting{a=b} 3`},
		{name: "no comma", page: `vllm:num_requests_waiting{a="b" c="d"} 3`},
		{
			name: "escapes in adapter names",
			page: `vllm:lora_requests_info{running_lora_adapters="a\"b, c\\d,,c\\d",waiting_lora_adapters="x\ny"} 1`,
			want: Sample{RunningLoRA: []string{`a"b`, `c\d`}, WaitingLoRA: []string{"x\ny"}},
		},
		{name: "adapter name is not UTF-8", page: "vllm:lora_requests_info{running_lora_adapters=\"\xff,a\"} 1",
			want: Sample{RunningLoRA: []string{"a"}}},
		{
			name: "first of equal times",
			page: "vllm:lora_requests_info{running_lora_adapters=\"a\"} " +
				"5\nvllm:lora_requests_info{running_lora_adapters=\"b\"} 5\n",
			want: Sample{RunningLoRA: []string{"a"}},
		},
		{
			name: "newest has no adapters",
			page: "vllm:lora_requests_info{running_lora_adapters=\"a\"} " +
				"5\nvllm:lora_requests_info{running_lora_adapters=\"\"} 6\n",
		},
		{
			name: "newest says nothing of running ones",
			page: "vllm:lora_requests_info{running_lora_adapters=\"a\",waiting_lora_adapters=\"b\"} 5\n" +
				"vllm:lora_requests_info{waiting_lora_adapters=\"c\"} 6\n",
			want: Sample{RunningLoRA: []string{"a"}, WaitingLoRA: []string{"c"}},
		},
		{name: "adapters before 1970", page: "vllm:lora_requests_info{running_lora_adapters=\"a\"} -1\n",
			want: Sample{RunningLoRA: []string{"a"}}},
		{name: "adapters at no time",
			page: "vllm:lora_requests_info{running_lora_adapters=\"a\"} 1\n" +
				"vllm:lora_requests_info{running_lora_adapters=\"b\"} NaN\n" +
				"vllm:lora_requests_info{running_lora_adapters=\"c\"} +Inf\n",
			want: Sample{RunningLoRA: []string{"a"}}},
		{name: "adapters without end", page: "vllm:lora_requests_info{max_lora=\"Inf\"} 1\n"},
		{name: "no number of adapters", page: "vllm:lora_requests_info{max_lora=\"None\"} 1\n"},
		{name: "a start", page: "process_start_time_seconds 1e6\n", want: Sample{ProcessStart: 1e9}},
		{name: "a late start", page: "process_start_time_seconds 1e11\n", want: Sample{ProcessStart: 1e14}},
		{name: "a start before that of clocks", page: "process_start_time_seconds 999999\n"},
		{name: "a start in milliseconds", page: "process_start_time_seconds 1.7e12\n"},
		{name: "HTML", page: "<html>\n<body>vllm:num_requests_waiting 3</body>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got Sample
			NewParser(vllm).Parse([]byte(test.page), &got)
			if !got.Equal(&test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestMoreWaiting: queues beside the usual one count where that is there; what the configuration names counts alone.
func TestMoreWaiting(t *testing.T) {
	const more = "sglang:num_decode_prealloc_queue_reqs 3\n"
	named, err := Known.With("sglang", Change{Waiting: "sglang:num_queue_reqs"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, page string
		engine     *Engine
		want       uint32
		found      bool
	}{
		{"both", more + "sglang:num_queue_reqs 2\n", sglang, 5, true},
		{"a gap", more, sglang, 9, false},
		{"named", more + "sglang:num_queue_reqs 2\n", named.ByName("sglang"), 2, true},
	} {
		s := Sample{WaitingRequests: 9}
		found := NewParser(test.engine).Parse([]byte(test.page), &s)
		if s.WaitingRequests != test.want || found.Has(Waiting) != test.found {
			t.Errorf("%s: got %d waiting, found %v, want %d, %v", test.name, s.WaitingRequests, found.Has(Waiting),
				test.want, test.found)
		}
	}
}

func TestGapKeepsLoadAndForgetsTheRest(t *testing.T) {
	p := NewParser(vllm)
	var s Sample
	p.Parse(readPage(t, "vllm-lora.metrics"), &s)
	found := p.Parse([]byte("vllm:num_requests_running 5\n"), &s)
	want := Sample{WaitingRequests: 3, RunningRequests: 5, KVCacheUsage: 0.42318}
	if !s.Equal(&want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
	missing := []string{"vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:cache_config_info"}
	if got := vllm.Missing(found); !slices.Equal(got, missing) {
		t.Errorf("missing: got %q, want %q", got, missing)
	}
	if !found.HasLoad() || p.Parse([]byte("up 1\n"), &s).HasLoad() {
		t.Error("HasLoad: want true for a page with a load metric and false for one without")
	}
}

func TestParseAllocatesNothingAfterWarmUp(t *testing.T) {
	pages, _ := filepath.Glob("testdata/*.metrics")
	for _, path := range pages {
		name := filepath.Base(path)
		page, s := readPage(t, name), Sample{}
		p := NewParser(Known.Detect(page))
		p.Parse(page, &s)
		if got := testing.AllocsPerRun(100, func() { p.Parse(page, &s) }); got != 0 {
			t.Errorf("%s: got %v allocations a page, want 0", name, got)
		}
	}
}

func TestByName(t *testing.T) {
	for name, want := range map[string]*Engine{
		"vllm": vllm, "sglang": sglang, "trtllm": trtllm, "triton": triton, "tensorrt-llm": trtllm,
		"triton-tensorrt-llm": triton, "trtllm-serve": trtllm, "triton-trtllm": triton, "none": nil,
	} {
		if got := Known.ByName(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if got, want := Known.Names(), []string{"vllm", "sglang", "trtllm", "triton"}; !slices.Equal(got, want) {
		t.Errorf("names: got %q, want %q", got, want)
	}
	elsewhere, err := Known.With("triton", Change{Port: 8002})
	if err != nil {
		t.Fatal(err)
	}
	want := []Page{{"/metrics", 0}, {"/prometheus/metrics", 0}, {"/metrics", 8002}}
	if got := Known.Pages(); !slices.Equal(got, want[:2]) {
		t.Errorf("pages: got %v, want %v", got, want[:2])
	}
	if got := elsewhere.Pages(); !slices.Equal(got, want) {
		t.Errorf("pages with one at a port of its own: got %v, want %v", got, want)
	}
	if e := Known.Detect([]byte("<html>vllm:num_requests_waiting 3</html>")); e != nil {
		t.Errorf("got %s for a page without metrics, want none", e.Name())
	}
}
