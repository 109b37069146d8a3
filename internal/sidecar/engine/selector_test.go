package engine

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
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
		{name: "digits and colons behind the first", text: `a:0_9{b09="c"}`, metric: "a:0_9",
			matches: []match{{"b09", "c"}}},
		{name: "colon first", text: ":a", metric: ":a"},
		{name: "9 first", text: "9a", mistake: "names no metric"},
		{name: "0 first", text: "0a", mistake: "names no metric"},
		{name: "no label", text: `a{="c"}`, mistake: "matcher other than"},
		{name: "a quote that is not closed", text: `a{b="c}`, mistake: "a quote, comma, brace or backslash"},
		{name: "a quote that is not opened", text: `a{b=c"}`, mistake: "a quote, comma, brace or backslash"},
		{name: "a quote alone", text: `a{b="}`, mistake: "a quote, comma, brace or backslash"},
		{name: "PromQL's other quotes", text: "a{b='c',d=`e`}", metric: "a", matches: []match{{"b", "c"}, {"d", "e"}}},
		{name: "another quote inside", text: `a{b="c'd"}`, metric: "a", matches: []match{{"b", "c'd"}}},
		{name: "quotes that differ", text: `a{b='c"}`, mistake: "a quote, comma, brace or backslash"},
		{name: "a single quote that is not closed", text: `a{b='c}`, mistake: "a quote, comma, brace or backslash"},
		{name: "a single quote alone", text: `a{b='}`, mistake: "a quote, comma, brace or backslash"},
		{name: "single quote inside", text: `a{b='c'd'}`, mistake: "a quote, comma, brace or backslash"},
		{name: "comma inside", text: `a{b="c,d"}`, mistake: "a quote, comma, brace or backslash"},
		{name: "quote inside", text: `a{b="c\"d"}`, mistake: "a quote, comma, brace or backslash"},
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
sglang:num_queue_reqs{priority="1"} 2
sglang:num_queue_reqs{priority="2"} 3
sglang:num_queue_reqs{priority=""} 5
sglang:num_running_reqs{tp_rank="0",priority="1"} 4
sglang:num_running_reqs{tp_rank="0",priority=""} 8
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
		{"another metric than the engine's", "sglang", Change{Waiting: "vllm:num_requests_waiting"},
			Sample{WaitingRequests: 11, RunningRequests: 8}},
		{"a new engine", "mine", Change{
			Waiting: "vllm:num_requests_waiting", Running: "my_running", KVCacheUsage: "my_usage{kind=kv}",
			CacheInfo: "my_cache", LoRAInfo: "my_lora",
		}, Sample{WaitingRequests: 11, RunningRequests: 30, KVCacheUsage: 0.5, KVBlockTokens: 32, KVBlocks: 7,
			MaxLoRA: 2, RunningLoRA: []string{"x"}}},
		{"the engine's own metrics, which have series of parts", "sglang",
			Change{Waiting: "sglang:num_queue_reqs", Running: "sglang:num_running_reqs{tp_rank=0}"},
			Sample{WaitingRequests: 5, RunningRequests: 8}},
		{"a part", "sglang", Change{Waiting: `sglang:num_queue_reqs{priority="2"}`}, Sample{WaitingRequests: 3,
			RunningRequests: 8}},
		{"a label that no value is to have", "mine", Change{Waiting: `sglang:num_queue_reqs{priority=""}`,
			Running: `my_running{priority=""}`}, Sample{WaitingRequests: 5, RunningRequests: 30}},
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
			if got, want := len(set.Names()), len(Known)+strings.Count(test.engine, "mine"); got != want {
				t.Errorf("got %d engines, want %d", got, want)
			}
			if e := set.Detect([]byte("my_running 1\n")); (e != nil) != (test.engine == "mine") {
				t.Errorf("detected %v on a page of the new engine alone", e)
			}
			if e := set.Detect(page); test.engine == "mine" && e.Name() != "mine" {
				t.Errorf("detected %s on a page of both, want the new engine", e.Name())
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

// TestAttributes: an engine has the attributes that its last change with any names, as far as a page has them now.
func TestAttributes(t *testing.T) {
	named := func(set Set, names ...string) Set {
		t.Helper()
		var c Change
		for _, name := range names {
			c.Attributes = append(c.Attributes, Gauge{name, "my_" + name})
		}
		set, err := set.With("vllm", c)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	vllmOf := func(set Set) *Engine { return set.ByName("vllm") }
	two := named(Known, "power", "heat")
	e := vllmOf(two)
	if got := e.Attributes(); !slices.Equal(got, []string{"power", "heat"}) || e.Name() != "vllm" {
		t.Fatalf("got %s with %q, want vllm with power and heat", e.Name(), got)
	}
	p := NewParser(e)
	var s Sample
	for _, test := range []struct {
		page  string
		want  [2]float64
		known uint16
	}{
		{"my_power 300\nmy_heat{gpu=\"0\"} 70\nmy_heat{gpu=\"1\"} 90\nvllm:num_requests_running 2\n",
			[2]float64{300, 70}, 3},
		{"my_heat 71\nvllm:num_requests_running 2\n", [2]float64{0, 71}, 2},
		{"vllm:num_requests_running 2\n", [2]float64{}, 0},
	} {
		p.Parse([]byte(test.page), &s)
		want := Sample{RunningRequests: 2, AttributesKnown: test.known}
		copy(want.Attributes[:], test.want[:])
		if !s.Equal(&want) {
			t.Errorf("%q: got %+v, want %+v", test.page, s, want)
		}
	}
	again := vllmOf(named(named(two), "load"))
	if got := again.Attributes(); !slices.Equal(got, []string{"load"}) {
		t.Errorf("named again: got %q, want load alone", got)
	}
	NewParser(again).Parse([]byte("my_power 300\nmy_heat 70\nmy_load 5\n"), &s)
	if s.Attributes[0] != 5 || s.AttributesKnown != 1 {
		t.Errorf("named again: got %v, known %b, want 5 as the first alone", s.Attributes[0], s.AttributesKnown)
	}
	other := vllmOf(named(two))
	NewParser(other).Parse([]byte("my_power 300\nmy_heat 70\n"), &s)
	if got := other.Attributes(); len(got) != 2 || s.AttributesKnown != 3 {
		t.Errorf("a change without attributes: got %q, known %b, want those from before", got, s.AttributesKnown)
	}
	var most Change
	for i := range MaxAttributes {
		most.Attributes = append(most.Attributes, Gauge{fmt.Sprint("a", i), "m"})
	}
	if _, err := Known.With("vllm", most); err != nil {
		t.Errorf("%d attributes: %v", MaxAttributes, err)
	}
	most.Attributes = append(most.Attributes, Gauge{"more", "m"})
	if _, err := Known.With("vllm", most); err == nil || !strings.Contains(err.Error(), "17 attributes") {
		t.Errorf("got %v, want a mistake for one attribute too many", err)
	}
	if _, err := Known.With("vllm", Change{Attributes: []Gauge{{"a", "{"}}}); err == nil ||
		!strings.Contains(err.Error(), "attribute a") {
		t.Errorf("got %v, want a mistake for an attribute's selector", err)
	}
}

// TestPlaces: a page that can be asked for less is asked so at its own path alone, and a change keeps what it does not
// name.
func TestPlaces(t *testing.T) {
	with := func(set Set, name string, c Change) Set {
		t.Helper()
		set, err := set.With(name, c)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	moved := with(Known, "trtllm", Change{Port: 9000})
	for _, test := range []struct {
		name     string
		e        *Engine
		path     string
		port     uint16
		filtered bool
	}{
		{"vLLM", vllm, "/metrics", 0, true},
		{"SGLang", sglang, "/metrics", 0, false},
		{"vLLM at another port", with(Known, "vllm", Change{Port: 1}).ByName("vllm"), "/metrics", 1, true},
		{"vLLM elsewhere", with(Known, "vllm", Change{Path: "/m"}).ByName("vllm"), "/m", 0, false},
		{"TensorRT-LLM at another port", moved.ByName("trtllm"), "/prometheus/metrics", 9000, false},
		{"and changed again", with(moved, "trtllm", Change{Running: "r"}).ByName("trtllm"), "/prometheus/metrics", 9000,
			false},
	} {
		filtered := test.e.FilteredPath()
		if test.e.Path() != test.path || test.e.Port() != test.port || (filtered != "") != test.filtered {
			t.Errorf("%s: got %s at port %d, asked for less by %q, want %s at %d, asked for less %v", test.name,
				test.e.Path(), test.e.Port(), filtered, test.path, test.port, test.filtered)
		}
	}
	query, err := url.Parse(vllm.FilteredPath())
	if err != nil || query.Path != "/metrics/" {
		t.Fatalf("got %q, %v, want a query at /metrics/", vllm.FilteredPath(), err)
	}
	want := []string{"process_start_time_seconds", "vllm:cache_config_info", "vllm:gpu_cache_usage_perc",
		"vllm:kv_cache_usage_perc", "vllm:lora_requests_info", "vllm:num_requests_running", "vllm:num_requests_waiting",
		"vllm:prompt_tokens_total"}
	if got := slices.Sorted(slices.Values(query.Query()["name[]"])); !slices.Equal(got, want) {
		t.Errorf("names asked for: got %q, want %q", got, want)
	}
}

// TestPrefer: detection begins with the engine that is preferred, and looks for the others in their order.
func TestPrefer(t *testing.T) {
	for name, want := range map[string][]string{
		"vllm": {"vllm", "sglang", "trtllm", "triton"}, "sglang": {"sglang", "vllm", "trtllm", "triton"},
		"triton": {"triton", "vllm", "sglang", "trtllm"}, "none": {"vllm", "sglang", "trtllm", "triton"},
	} {
		if got := Known.Prefer(name).Names(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
