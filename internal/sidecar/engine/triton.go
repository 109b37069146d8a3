package engine

// triton reads the page of Triton Inference Server. With the TensorRT-LLM backend, requests and KV blocks are one
// family each with a label for what is counted; those of several models are summed, the used fraction is averaged. With
// other backends only the pending requests are known: nv_inference_exec_count, which the llm-d router takes for running
// requests, counts executions since the start and is no load. Triton's own HTTP port has no page; port 8002 has one,
// the OpenAI frontend too. Metric names: the documentations of Triton ("Metrics") and of its TensorRT-LLM backend
// ("Triton Metrics").
var triton = newEngine("triton", []rule{
	{metric: tritonRequests, matches: []match{{"request_type", "waiting"}}, field: Waiting, combine: sum},
	{metric: "nv_inference_pending_request_count", field: Waiting, combine: sum},
	{metric: tritonRequests, matches: []match{{"request_type", "scheduled"}}, field: Running, combine: sum,
		optional: true},
	{metric: tritonBlocks, matches: []match{{"kv_cache_block_type", "fraction"}}, field: KVUsage, combine: mean,
		optional: true},
	{metric: tritonBlocks, matches: []match{{"kv_cache_block_type", "tokens_per"}}, field: KVBlockTokens,
		combine: first, optional: true},
	{metric: tritonBlocks, matches: []match{{"kv_cache_block_type", "max"}}, field: KVBlocks, combine: sum,
		optional: true},
	{metric: tritonRequests, matches: []match{{"request_type", "max"}}, field: MaxRunning, combine: sum,
		optional: true},
	{metric: "nv_inference_request_success", field: Done, combine: sum, optional: true},
})

const (
	tritonRequests = "nv_trt_llm_request_metrics"
	tritonBlocks   = "nv_trt_llm_kv_cache_block_metrics"
)
