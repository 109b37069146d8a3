package engine

// sglang reads SGLang's page (its server runs with --enable-metrics). With data parallelism one page has a series for
// each scheduler: requests and pages of the KV cache are summed, token usage is averaged. The server's default is that
// only the first rank of a tensor-parallel group reports; with --enable-metrics-for-all-schedulers requests would count
// once for each rank. Metric names: docs.sglang.ai, "Production Metrics"; sglang:cache_config_info as the llm-d router
// reads it.
var sglang = newEngine("sglang", []rule{
	{metric: "sglang:num_queue_reqs", field: Waiting, combine: sum},
	{metric: "sglang:num_running_reqs", field: Running, combine: sum},
	{metric: "sglang:token_usage", field: KVUsage, combine: mean},
	// Not in older versions.
	{metric: "sglang:cache_config_info", label: "page_size", field: KVBlockTokens, combine: first, optional: true},
	{metric: "sglang:cache_config_info", label: "num_pages", field: KVBlocks, combine: sum, optional: true},
	// The page is that of several processes and has no start of one. Only there once a request has come.
	{metric: "sglang:prompt_tokens_total", field: Done, combine: sum, optional: true},
})
