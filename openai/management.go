package openai

import "strings"

// manages reports whether a path is one by which the engines are steered, or which tells how they are configured. It
// goes by names and not by their place, as proxies may put prefixes before them.
func manages(path string) bool {
	last := lastSegment(path)
	for _, name := range managing {
		if last == name {
			return true
		}
	}
	for _, prefix := range managingPrefixes {
		if strings.HasPrefix(last, prefix) {
			return true
		}
	}
	for _, name := range managingFolders {
		if hasSegment(path, name) {
			return true
		}
	}
	return strings.HasSuffix(last, "_weights_update_group")
}

// managing are the last segments of such paths, in vLLM, SGLang, TensorRT-LLM and Triton.
var managing = [...]string{
	// Adapters and weights.
	"load_lora_adapter", "unload_lora_adapter", "load_lora_adapter_from_tensors", "weights_checker", "weight_checker",
	"set_lora", "merge_lora_weights", "unmerge_lora_weights",
	"start_weight_update", "start_draft_weight_update", "finish_weight_update", "begin_weight_update",
	"end_weight_update", "init_weight_transfer_engine", "shutdown_weight_transfer_engine", "release_memory",
	"release_memory_occupation", "release_kv_cache_memory", "resume_memory", "resume_memory_occupation",
	"get_remote_instance_transfer_engine_info", "remote_instance_transfer_engine_info", "data_transceiver_state",
	// Sleep, pauses, size.
	"sleep", "wake_up", "is_sleeping", "pause", "resume", "is_paused", "pause_generation", "continue_generation",
	"scale_elastic_ep", "is_scaling_elastic_ep", "slow_down", "freeze_gc", "pd_role_switch", "steady_clock_offset",
	// Caches.
	"reset_prefix_cache", "reset_mm_cache", "reset_encoder_cache", "flush_cache", "clear_hicache_storage_backend",
	"kv_event_sources", "kv_cache_events", "get_hicache_l3_cache_layout",
	// What speculative decoding looks things up in.
	"add_external_corpus", "remove_external_corpus", "list_external_corpora",
	// Anything at all, and requests of others.
	"collective_rpc", "abort_request", "abort_requests", "generate_from_file",
	// What is recorded, and how the server is set up.
	"start_profile", "stop_profile", "configure_logging", "set_internal_state", "server_info", "get_server_info",
	"get_world_size", "get_weight_version", "weight_version", "weight_info",
	"start_expert_distribution_record", "stop_expert_distribution_record", "dump_expert_distribution_record",
	"set_trace_level", "cluster_info", "logging",
	// The same by gRPC, where the last segment is the method: Triton's (GRPCInferenceService), vLLM's (VllmEngine,
	// Control) and SGLang's (SglangScheduler, SglangService).
	"RepositoryIndex", "RepositoryModelLoad", "RepositoryModelUnload", "SystemSharedMemoryStatus",
	"SystemSharedMemoryRegister", "SystemSharedMemoryUnregister", "CudaSharedMemoryStatus",
	"CudaSharedMemoryRegister", "CudaSharedMemoryUnregister", "TraceSetting", "LogSettings", "Abort",
	"GetServerInfo", "SubscribeKvEvents", "GetKvEventSources", "FlushCache", "Shutdown", "LoadLora", "UnloadLora",
	"PauseGeneration", "ResumeGeneration", "ContinueGeneration", "IsPaused", "Sleep", "WakeUp", "IsSleeping",
	"InitWeightTransferEngine", "StartWeightUpdate", "StartDraftWeightUpdate", "FinishWeightUpdate",
	"GetWeightVersion", "StartProfile", "StopProfile",
}

// managingPrefixes begin the last segments of families of paths.
var managingPrefixes = [...]string{"update_weight", "init_weights_", "send_weights_", "get_weights_",
	"destroy_weights_", "update_config", "UpdateWeight"}

// managingFolders are segments below which everything manages.
var managingFolders = [...]string{
	"repository", "systemsharedmemory", "cudasharedmemory", "xpusharedmemory", "trace", "hicache", "fault_tolerance",
	"elastic_ep", "debug", "dumper", "_control", "_resource_governor",
}
