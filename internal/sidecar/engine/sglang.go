package engine

// SGLang is the name of SGLang.
const SGLang = "sglang"

// sglang reads SGLang's page (its server runs with --enable-metrics). The page has series of several schedulers, each
// with its dp_rank, tp_rank and pp_rank: requests and pages of the KV cache are summed over the data-parallel ranks,
// token usage is averaged. The stages of a pipeline all tell their requests, every shard tells the same pages, and with
// --enable-metrics-for-all-schedulers requests, too: one series of each dp_rank counts. With priorities there is a
// series for each beside that of all, which has an empty one. Where prefill and decode run apart requests wait in
// queues of their own, which SGLang itself (get_loads) counts as waiting, too: for the other side, for room, for the
// transfer of their cache. Metric names: metrics_collector.py of SGLang; sglang:cache_config_info is what versions
// before 0.5.11 have, as the llm-d router reads it.
var sglang = newEngine(SGLang, []rule{
	{metric: "sglang:num_queue_reqs", part: "priority", field: Waiting, combine: ranks},
	waitingToo("sglang:num_prefill_bootstrap_queue_reqs"),
	waitingToo("sglang:num_decode_prealloc_queue_reqs"),
	waitingToo("sglang:num_decode_transfer_queue_reqs"),
	{metric: "sglang:num_running_reqs", part: "priority", field: Running, combine: ranks},
	{metric: "sglang:token_usage", field: KVUsage, combine: mean},
	{metric: "sglang:page_size", field: KVBlockTokens, combine: first, optional: true},
	{metric: "sglang:num_pages", field: KVBlocks, combine: ranks, optional: true},
	// Not in older versions.
	{metric: "sglang:cache_config_info", label: "page_size", field: KVBlockTokens, combine: first, optional: true},
	{metric: "sglang:cache_config_info", label: "num_pages", field: KVBlocks, combine: ranks, optional: true},
	// The page is that of several processes and has no start of one. Only there once a request has come.
	{metric: "sglang:prompt_tokens_total", field: Done, combine: sum, optional: true},
})

func waitingToo(metric string) rule {
	return rule{metric: metric, part: "priority", field: Waiting, combine: ranks, optional: true, waitsToo: true}
}
