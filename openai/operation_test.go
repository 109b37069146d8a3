package openai

import "testing"

func TestCleanPath(t *testing.T) {
	for _, c := range []struct{ name, path, want string }{
		{"clean", "/v1/chat/completions", "/v1/chat/completions"},
		{"query", "/v1/models?a=/b%20", "/v1/models"},
		{"fragment", "/v1/models#a?b", "/v1/models"},
		{"query first", "?a", ""},
		{"root", "/", "/"},
		{"nothing", "", ""},
		{"asterisk", "*", "*"},
		{"no slash in front", "v1//%63hat", "v1//%63hat"},
		{"trailing slash", "/sleep/", "/sleep"},
		{"trailing slashes", "/sleep///", "/sleep"},
		{"double slashes", "//v1//chat///completions", "/v1/chat/completions"},
		{"dots", "/./v1/./chat/completions/.", "/v1/chat/completions"},
		{"two dots", "/a/../v1/b/c/../../chat/completions", "/v1/chat/completions"},
		{"above the root", "/../../sleep", "/sleep"},
		{"down to the root", "/a/..", "/"},
		{"hidden files are none", "/.a/..b/c..", "/.a/..b/c.."},
		{"letter", "/v1/%63hat/completions", "/v1/chat/completions"},
		{"slash", "/v1/chat%2fcompletions", "/v1/chat/completions"},
		{"all letters of numbers", "/%6a%6b%6c%6d%6e%6f", "/jklmno"},
		{"all letters of numbers in capitals", "/%4A%4B%4C%4D%4E%4F", "/JKLMNO"},
		{"digits", "/%30%31%38%39", "/0189"},
		{"the highest bytes", "/%ff%f0%0F%0a", "/\xff\xf0\x0f\n"},
		{"slash in capitals", "/v1/chat%2Fcompletions", "/v1/chat/completions"},
		{"dots and slashes", "/v1/x%2f%2e%2E/sleep", "/v1/sleep"},
		{"decoded once", "/%2563hat", "/%63hat"},
		{"question mark", "/sleep%3fx", "/sleep?x"},
		{"no hexadecimal", "/%zz/%4/%", "/%zz/%4/%"},
		{"half hexadecimal", "/%z3/%3z/%:3/%3:/%g3/%3g", "/%z3/%3z/%:3/%3:/%g3/%3g"},
		{"cut off", "/a%6", "/a%6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := CleanPath([]byte("scratch"), c.path); got != c.want {
				t.Errorf("CleanPath(%q): got %q, want %q", c.path, got, c.want)
			}
		})
	}
}

func TestOperationOf(t *testing.T) {
	inference := func(api API) Operation { return Operation{Kind: KindInference, API: api} }
	helper, form, management := Operation{Kind: KindHelper}, Operation{Kind: KindForm}, Operation{Kind: KindManagement}
	for want, paths := range map[Operation][]string{
		inference(APIChat): {"/v1/chat/completions", "/openai/deployments/gpt/chat/completions"},
		inference(APIGenerate): {"/generate", "/generate_stream", "/inference/v1/generate", "/api/generate",
			"/invocations", "/encode", "/api/chat"},
		inference(APINone): {"/v1/images/generations", "/v1/audio/speech", "/v2/embed", "/vertex_generate",
			"/v1/chat/completions/batch", "/v1/decisions", "/v1/systemone", "/cohere/v2/chat", "/generative_scoring"},
		helper: {
			"/tokenize", "/v1/tokenize", "/detokenize", "/v1/chat/completions/render", "/v1/completions/render",
			"/v1/messages/count_tokens", "/v1/responses/input_tokens", "/v1/messages/render", "/v1/responses/render",
			"/v1/chat/completions/derender", "/v1/completions/derender", "/cohere/v2/chat/render",
		},
		form: {"/v1/audio/transcriptions", "/v1/audio/translations", "/v1/images/edits", "/v1/images/variations",
			"/v1/videos", "/v1/videos/generations"},
		management: {
			"/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/load_lora_adapter", "/sleep", "/wake_up",
			"/is_sleeping", "/collective_rpc",
			"/reset_prefix_cache", "/reset_mm_cache", "/server_info", "/get_server_info", "/flush_cache",
			"/update_weights_from_disk",
			"/update_weights_from_tensor", "/update_weights", "/update_weight_version", "/start_profile",
			"/stop_profile", "/abort_request",
			"/init_weights_update_group", "/destroy_weights_update_group", "/get_weights_by_name",
			"/release_memory_occupation",
			"/pause_generation", "/configure_logging", "/set_internal_state", "/scale_elastic_ep",
			"/prefix/of/ours/sleep",
			"/v2/repository/index", "/v2/repository/models/m/unload", "/v2/logging", "/v2/trace/setting",
			"/v2/cudasharedmemory/region/x/register", "/hicache/storage-backend",
			"/inference.GRPCInferenceService/RepositoryModelLoad", "/vllm.grpc.engine.VllmEngine/Abort",
			"/load_lora_adapter_from_tensors", "/weights_checker", "/start_weight_update", "/finish_weight_update",
			"/init_weight_transfer_engine", "/release_memory", "/resume_memory", "/resume_memory_occupation",
			"/get_weight_version", "/weight_version", "/send_weights_to_remote_instance", "/update_config",
			"/pause", "/resume", "/is_paused", "/continue_generation", "/is_scaling_elastic_ep", "/slow_down",
			"/freeze_gc", "/reset_encoder_cache", "/clear_hicache_storage_backend", "/kv_event_sources",
			"/kv_cache_events", "/abort_requests", "/generate_from_file", "/get_world_size",
			"/start_expert_distribution_record", "/stop_expert_distribution_record",
			"/dump_expert_distribution_record", "/set_trace_level", "/cluster_info",
			"/v2/systemsharedmemory/status", "/v2/xpusharedmemory/status", "/fault_tolerance/apply",
			"/elastic_ep/scale", "/debug/pprof/heap", "/dumper/configure", "/logging",
			"/inference.GRPCInferenceService/RepositoryIndex", "/inference.GRPCInferenceService/RepositoryModelUnload",
			"/inference.GRPCInferenceService/SystemSharedMemoryStatus",
			"/inference.GRPCInferenceService/SystemSharedMemoryRegister",
			"/inference.GRPCInferenceService/SystemSharedMemoryUnregister",
			"/inference.GRPCInferenceService/CudaSharedMemoryStatus",
			"/inference.GRPCInferenceService/CudaSharedMemoryRegister",
			"/inference.GRPCInferenceService/CudaSharedMemoryUnregister",
			"/inference.GRPCInferenceService/TraceSetting", "/inference.GRPCInferenceService/LogSettings",
			"/vllm.grpc.engine.VllmEngine/SubscribeKvEvents",
			// vLLM 0.33
			"/release_kv_cache_memory", "/start_draft_weight_update", "/shutdown_weight_transfer_engine",
			"/weight_checker", "/weight_info", "/vllm.Control/Shutdown", "/vllm.Control/LoadLora",
			"/vllm.Control/UnloadLora", "/vllm.Control/Sleep", "/vllm.Control/WakeUp", "/vllm.Control/IsSleeping",
			"/vllm.Control/PauseGeneration", "/vllm.Control/ResumeGeneration", "/vllm.Control/IsPaused",
			"/vllm.Control/UpdateWeights", "/vllm.Control/UpdateWeightVersion", "/vllm.Control/GetWeightVersion",
			"/vllm.Control/InitWeightTransferEngine", "/vllm.Control/StartWeightUpdate",
			"/vllm.Control/StartDraftWeightUpdate", "/vllm.Control/FinishWeightUpdate",
			"/vllm.Control/GetKvEventSources", "/vllm.Control/Abort", "/vllm.Control/GetServerInfo",
			// SGLang 0.5.23
			"/pd_role_switch", "/begin_weight_update", "/end_weight_update", "/add_external_corpus",
			"/remove_external_corpus", "/list_external_corpora", "/get_hicache_l3_cache_layout",
			"/get_remote_instance_transfer_engine_info", "/remote_instance_transfer_engine_info",
			"/sglang.runtime.v1.SglangService/FlushCache", "/sglang.runtime.v1.SglangService/UpdateWeightsFromDisk",
			"/sglang.runtime.v1.SglangService/PauseGeneration", "/sglang.runtime.v1.SglangService/StartProfile",
			"/sglang.runtime.v1.SglangService/StopProfile", "/sglang.runtime.v1.SglangService/ContinueGeneration",
			// SGLang's server of images and videos
			"/v1/set_lora", "/v1/merge_lora_weights", "/v1/unmerge_lora_weights",
			// TensorRT-LLM
			"/_resource_governor/truncate", "/_control/kv_cache/truncate", "/_control/kv_cache/truncate_tokens",
			"/steady_clock_offset", "/v1/data_transceiver_state",
		},
		{Model: "org/rerank"}: {"/v1/models/org/rerank", "/openai/v1/models/org/rerank"},
		{Model: "sleep"}: {"/v1/models/sleep", "/v2/models/sleep", "/v2/models/sleep/infer",
			"/v2/models/sleep/versions/1/ready"},
		{}: {"", "/", "*", "/v1/models", "/metrics", "/health", "/version", "/ping",
			"/load", "/v1/responses/resp_1", "/asleep", "/sleeps",
			"/inference.GRPCInferenceService/ModelInfer", "/vllm.grpc.engine.VllmEngine/Generate",
			"/vllm.Inference/Generate", "/vllm.Inference/GenerateStream", "/vllm.Control/GetModelInfo",
			"/sglang.runtime.v1.SglangService/ChatComplete", "/sglang.runtime.v1.SglangService/ListModels"},
		{KindInference, APIGenerate, "m"}: {"/v2/models/m/generate", "/v2/models/m/versions/1/generate_stream"},
		{KindManagement, APINone, "m"}:    {"/v2/models/m/trace/setting"},
	} {
		for _, path := range paths {
			if got := OperationOf(path); got != want {
				t.Errorf("OperationOf(%q): got %+v, want %+v", path, got, want)
			}
		}
	}
}

// TestWhatOperationsAre: the kind says whether the body is read and whether a model computes, the API whether the model
// has to be named.
func TestWhatOperationsAre(t *testing.T) {
	for kind, want := range map[Kind][2]bool{
		KindOther: {}, KindInference: {true, true}, KindHelper: {true, false}, KindForm: {false, true},
		KindManagement: {},
	} {
		o := Operation{Kind: kind}
		if got := [2]bool{o.ReadsBody(), o.Computes()}; got != want {
			t.Errorf("kind %d: reads a body, and computes: got %v, want %v", kind, got, want)
		}
	}
	for api := APINone; api <= APIGenerate; api++ {
		if got, want := api.NeedsModel(), api != APINone && api != APIGenerate; got != want {
			t.Errorf("%s needs a model: got %v, want %v", api, got, want)
		}
	}
}

// However a path is written, cleaning it once is enough, and allocates nothing.
func FuzzCleanPath(f *testing.F) {
	for _, seed := range []string{"/v1/%63hat/completions?x", "//a/./..//%2e%2e/b/", "*", "%2f", "/%"} {
		f.Add(seed)
	}
	scratch := make([]byte, 0, 4096)
	f.Fuzz(func(t *testing.T, path string) {
		clean, _ := CleanPath(scratch, path)
		if len(clean) > len(path) {
			t.Errorf("CleanPath(%q): got the longer %q", path, clean)
		}
		if path == "" || path[0] != '/' {
			return
		}
		for i := range len(clean) {
			if clean[i] == '/' && (i+1 < len(clean) && clean[i+1] == '/' || i+1 == len(clean) && i > 0) {
				t.Errorf("CleanPath(%q): got %q, with an empty segment", path, clean)
			}
		}
		if clean != "" && hasSegment(clean[1:], "..") {
			t.Errorf("CleanPath(%q): got %q, with two dots", path, clean)
		}
	})
}
