package engine

// vllm reads vLLM's page. With data parallelism one page has a series for each engine (label engine): requests are
// summed, KV usage is averaged, and each series of cache_config_info has the KV blocks of all engines already
// (vllm/v1/engine/core_client.py). Metric names: docs.vllm.ai, "Production Metrics".
var vllm = filtering(newEngine("vllm", []rule{
	{metric: "vllm:num_requests_waiting", field: Waiting, combine: sum},
	{metric: "vllm:num_requests_running", field: Running, combine: sum},
	{metric: "vllm:kv_cache_usage_perc", field: KVUsage, combine: mean},
	// The name before vLLM 0.10; some versions have both.
	{metric: "vllm:gpu_cache_usage_perc", field: KVUsage, combine: mean},
	{metric: "vllm:cache_config_info", label: "block_size", field: KVBlockTokens, combine: first},
	{metric: "vllm:cache_config_info", label: "num_gpu_blocks", field: KVBlocks, combine: first},
	// Only on the page once a request for an adapter has come. Old series stay on it, hence the newest.
	{metric: "vllm:lora_requests_info", label: "max_lora", field: MaxLoRA, combine: newest, optional: true},
	{metric: "vllm:lora_requests_info", label: "running_lora_adapters", field: RunningLoRA, combine: newest,
		optional: true},
	{metric: "vllm:lora_requests_info", label: "waiting_lora_adapters", field: WaitingLoRA, combine: newest,
		optional: true},
	// With several API servers the page has no start of a process.
	{metric: "vllm:prompt_tokens_total", field: Done, combine: sum, optional: true},
}))

func filtering(e *Engine) *Engine {
	e.filters = true
	return e
}
