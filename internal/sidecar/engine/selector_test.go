package engine

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseSelector(t *testing.T) {
	tests := []struct {
		name, text, metric string
		matches            []match
		mistake            string
	}{
		{name: "name", text: "vllm:num_requests_waiting", metric: "vllm:num_requests_waiting"},
		{name: "blanks", text: " a { b = \"c\" , } ", metric: "a", matches: []match{{"b", "c"}}},
		{name: "two labels", text: `a{b="c",d=e}`, metric: "a", matches: []match{{"b", "c"}, {"d", "e"}}},
		{name: "empty braces", text: "a{}", metric: "a"},
		{name: "empty value", text: `a{b=""}`, metric: "a", matches: []match{{"b", ""}}},
		{name: "no name", text: `{b="c"}`, mistake: "names no metric"},
		{name: "blank in the name", text: "a b", mistake: "names no metric"},
		{name: "digit first", text: "1a", mistake: "names no metric"},
		{name: "open", text: `a{b="c"`, mistake: "no closing brace"},
		{name: "regular expression", text: `a{b=~"c"}`, mistake: "matcher other than"},
		{name: "not equal", text: `a{b!="c"}`, mistake: "matcher other than"},
		{name: "no value", text: `a{b}`, mistake: "matcher other than"},
		{name: "quote inside", text: `a{b="c\"d"}`, mistake: "a quote, brace or backslash"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			metric, matches, err := parseSelector(test.text)
			if test.mistake != "" {
				if err == nil || !strings.Contains(err.Error(), test.mistake) {
					t.Errorf("got %v, want a mistake with %q", err, test.mistake)
				}
				return
			}
			if err != nil || metric != test.metric || !reflect.DeepEqual(matches, test.matches) {
				t.Errorf("got %q %q %v, want %q %q", metric, matches, err, test.metric, test.matches)
			}
		})
	}
}

func FuzzParseSelector(f *testing.F) {
	f.Add(`a{b="c",d=e}`)
	f.Add(`a{b=~"c"}`)
	f.Fuzz(func(t *testing.T, text string) {
		metric, matches, err := parseSelector(text)
		if err != nil {
			return
		}
		again := metric + "{"
		for _, m := range matches {
			again += m.name + `="` + m.value + `",`
		}
		gotMetric, gotMatches, err := parseSelector(again + "}")
		if err != nil || gotMetric != metric || len(gotMatches) != len(matches) {
			t.Errorf("%q: got %q %q %v when written again as %q, want %q %q", text, gotMetric, gotMatches, err, again,
				metric, matches)
		}
	})
}

func TestWith(t *testing.T) {
	page := []byte(`vllm:num_requests_waiting{model_name="a"} 1
vllm:num_requests_waiting{model_name="b"} 10
vllm:num_requests_running 2
my_running 30
my_usage{kind="kv"} 0.5
my_usage{kind="gpu"} 0.9
my_cache{block_size="32",num_gpu_blocks="7"} 1
my_lora{running_lora_adapters="x",max_lora="2"} 5
vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="900"} 1
vllm:cache_config_info{engine="1",block_size="16",num_gpu_blocks="900"} 1
`)
	tests := []struct {
		name, engine string
		change       Change
		want         Sample
	}{
		{"a series of a known engine", "vllm", Change{Waiting: `vllm:num_requests_waiting{model_name="b"}`},
			Sample{WaitingRequests: 10, RunningRequests: 2, KVBlockTokens: 16, KVBlocks: 900}},
		{"the engine's own metric of its cache", "vllm", Change{CacheInfo: "vllm:cache_config_info"},
			Sample{WaitingRequests: 11, RunningRequests: 2, KVBlockTokens: 16, KVBlocks: 900}},
		{"a new engine", "mine", Change{
			Waiting: "vllm:num_requests_waiting", Running: "my_running", KVCacheUsage: "my_usage{kind=kv}",
			CacheInfo: "my_cache", LoRAInfo: "my_lora",
		}, Sample{WaitingRequests: 11, RunningRequests: 30, KVCacheUsage: 0.5, KVBlockTokens: 32, KVBlocks: 7,
			MaxLoRA: 2, RunningLoRA: []string{"x"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set, err := Known.With(test.engine, test.change)
			if err != nil {
				t.Fatal(err)
			}
			var got Sample
			NewParser(set.ByName(test.engine)).Parse(page, &got)
			if !got.Equal(&test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if e := set.Detect([]byte("my_running 1\n")); (e != nil) != (test.engine == "mine") {
				t.Errorf("detected %v on a page of the new engine alone", e)
			}
		})
	}
	if _, err := Known.With("mine", Change{CacheInfo: "x"}); err == nil ||
		!strings.Contains(err.Error(), "mine has no load") {
		t.Errorf("got %v for an engine without load, want a mistake", err)
	}
	set, err := Known.With("triton", Change{Port: 8002})
	if e := set.ByName("triton"); err != nil || e.Port() != 8002 || e.Path() != "/metrics" ||
		Known.ByName("triton").Port() != 0 {
		t.Errorf("got %+v %v, want port 8002 in the new set alone", e, err)
	}
}
