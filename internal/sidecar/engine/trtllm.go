package engine

// trtllm reads the page of TensorRT-LLM's own server, trtllm-serve. The page is at /prometheus/metrics: what that
// server has at /metrics is JSON. Series of several models are summed, KV cache utilization is averaged. Metric names:
// as the llm-d router reads them; which of them are there depends on the version, so the sizes of the cache may be
// missing.
var trtllm = servedAt("/prometheus/metrics", newEngine("trtllm", []rule{
	{metric: "trtllm_num_requests_waiting", field: Waiting, combine: sum},
	{metric: "trtllm_num_requests_running", field: Running, combine: sum},
	{metric: "trtllm_kv_cache_utilization", field: KVUsage, combine: mean},
	{metric: "trtllm_kv_cache_tokens_per_block", field: KVBlockTokens, combine: first, optional: true},
	{metric: "trtllm_kv_cache_max_blocks", field: KVBlocks, combine: sum, optional: true},
	{metric: "trtllm_request_success_total", field: Done, combine: sum, optional: true},
}))

func servedAt(path string, e *Engine) *Engine {
	e.path = path
	return e
}
