package engine

import (
	"strings"
	"testing"
)

// TestNamed: of several series of what a configuration names requests and blocks are summed, usage is averaged, the
// first says the size of a block and the newest the adapters. Every engine's page may tell when its process started.
func TestNamed(t *testing.T) {
	const page = `my_waiting{engine="0"} 1
my_waiting{engine="1"} 2
my_running{engine="0"} 4
my_running{engine="1"} 5
my_usage{engine="0"} 0.25
my_usage{engine="1"} 0.75
my_info{block_size="16",num_gpu_blocks="3",size="32",number="7"} 2
my_info{block_size="64",num_gpu_blocks="4",size="128",number="8"} 9
my_size{engine="0"} 256
my_size{engine="1"} 512
my_blocks{engine="0"} 100
my_blocks{engine="1"} 200
my_lora{running_lora_adapters="new",waiting_lora_adapters="w",max_lora="5"} 8
my_lora{running_lora_adapters="old",waiting_lora_adapters="v",max_lora="6"} 7
process_start_time_seconds 1e6
`
	const start = 1e9
	for _, test := range []struct {
		name   string
		change Change
		want   Sample
	}{
		{"load", Change{Waiting: "my_waiting", Running: "my_running", KVCacheUsage: "my_usage"},
			Sample{WaitingRequests: 3, RunningRequests: 9, KVCacheUsage: 0.5, ProcessStart: start}},
		{"usage alone", Change{KVCacheUsage: `my_usage{engine="1"}`}, Sample{KVCacheUsage: 0.75, ProcessStart: start}},
		{"a cache by the usual labels", Change{Running: "my_running", CacheInfo: "my_info"},
			Sample{RunningRequests: 9, KVBlockTokens: 16, KVBlocks: 7, ProcessStart: start}},
		{"a cache by other labels", Change{Running: "my_running", CacheInfo: "my_info", BlockSizeLabel: "size",
			BlocksLabel: "number"},
			Sample{RunningRequests: 9, KVBlockTokens: 32, KVBlocks: 15, ProcessStart: start}},
		{"a cache by gauges", Change{Running: "my_running", BlockSize: "my_size", Blocks: "my_blocks"},
			Sample{RunningRequests: 9, KVBlockTokens: 256, KVBlocks: 300, ProcessStart: start}},
		{"adapters", Change{Running: "my_running", LoRAInfo: "my_lora"},
			Sample{RunningRequests: 9, MaxLoRA: 5, RunningLoRA: []string{"new"}, WaitingLoRA: []string{"w"},
				ProcessStart: start}},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := Known.With("mine", test.change)
			if err != nil {
				t.Fatal(err)
			}
			// What is changed once more, in nothing, stays what it was.
			again, err := set.With("mine", Change{})
			if err != nil {
				t.Fatal(err)
			}
			for of, e := range map[string]*Engine{"new": set.ByName("mine"), "changed again": again.ByName("mine")} {
				var got Sample
				if NewParser(e).Parse([]byte(page), &got); !got.Equal(&test.want) {
					t.Errorf("%s: got %+v, want %+v", of, got, test.want)
				}
			}
		})
	}
}

// TestNamedWrongly: a selector that is none is a mistake of its key.
func TestNamedWrongly(t *testing.T) {
	for key, change := range map[string]Change{
		"waiting": {Waiting: "{"}, "running": {Running: "{"}, "kvCacheUsage": {KVCacheUsage: "{"},
		"cacheInfo": {CacheInfo: "{"}, "cacheBlockSize": {BlockSize: "{"}, "cacheBlocks": {Blocks: "{"},
		"loraInfo": {LoRAInfo: "{"},
	} {
		if _, err := Known.With("vllm", change); err == nil || !strings.HasPrefix(err.Error(), key+`: "{" `) {
			t.Errorf("got %v, want a mistake of %s", err, key)
		}
	}
}

// TestFound: a page has what can be read of it, and lacks what is there and cannot.
func TestFound(t *testing.T) {
	const cache = "vllm:cache_config_info"
	for _, test := range []struct {
		name, page string
		field      Field
		want       bool
		sample     Sample
	}{
		{"a start", "process_start_time_seconds 1e6\n", ProcessStart, true, Sample{ProcessStart: 1e9}},
		{"a start in milliseconds", "process_start_time_seconds 1.7e12\n", ProcessStart, false, Sample{}},
		{"no number of adapters", "vllm:lora_requests_info{max_lora=\"None\"} 1\n", MaxLoRA, false, Sample{}},
		{"no number of blocks", cache + "{num_gpu_blocks=\"None\"} 1\n", KVBlocks, false, Sample{}},
		{"blocks of the first that has a number",
			cache + "{num_gpu_blocks=\"None\"} 1\n" + cache + "{num_gpu_blocks=\"9\"} 1\n", KVBlocks, true,
			Sample{KVBlocks: 9}},
	} {
		var got Sample
		found := NewParser(vllm).Parse([]byte(test.page), &got)
		if found.Has(test.field) != test.want || !got.Equal(&test.sample) {
			t.Errorf("%s: found %v and %+v, want %v and %+v", test.name, found.Has(test.field), got, test.want,
				test.sample)
		}
	}
}

// TestOtherNames: whoever changes an engine by another name of it changes that engine, by which endpoints are read.
func TestOtherNames(t *testing.T) {
	for _, test := range []struct {
		name   string
		change Change
		of     string
	}{
		{"tensorrt-llm", Change{Port: 8002}, "trtllm"},
		{"triton-trtllm", Change{Waiting: "my_waiting", Port: 8002}, "triton"},
		{"vllm", Change{Port: 8002}, "vllm"},
	} {
		set, err := Known.With(test.name, test.change)
		if err != nil {
			t.Errorf("%s: got %v, want it changed", test.name, err)
			continue
		}
		if e := set.ByName(test.name); e.Name() != test.of || e.Port() != 8002 || len(set) != len(Known) {
			t.Errorf("%s: got the engine %s at port %d of %q, want %s at 8002", test.name, e.Name(), e.Port(),
				set.Names(), test.of)
		}
	}
}
