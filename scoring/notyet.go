package scoring

import "strconv"

// former are the types of plug-ins that endpoint pickers had before, and what does the same today, or comes nearest.
var former = map[string]string{
	"decision-tree-filter":         nearestTree,
	"header-phase-profile-handler": "it is header-profile-handler today",
	"lora-affinity-filter":         "lora-placement-filter keeps the servers that have an adapter",
	"low-queue-filter":             "utilization-filter with the metric waiting-queue keeps the same servers",
	"least-queue-filter":           "queue-scorer prefers the servers that it kept",
	"least-kv-cache-filter":        "kv-cache-utilization-scorer prefers the servers that it kept",
	"sheddable-capacity-filter":    "the key saturationDetector says when requests of a priority below 0 are refused",

	"slo-aware-profile-handler": "single-profile-handler is enough for predicted-latency-scorer",
	"slo-request-tracker":       "predicted-latency-scorer learns by itself: leave it out",
	"slo-scorer":                "it is predicted-latency-scorer today",
}

// notYet are the types of plug-ins that llm-d's router has and Pintle does not have yet, and what comes nearest. A type
// that the registry knows is not looked up here.
var notYet = map[string]string{
	"k8s-notification-source": "the sidecar watches Kubernetes by itself: leave it out",

	"global-strict-fairness-policy":            nearestFlow,
	"round-robin-fairness-policy":              nearestFlow,
	"program-aware-fairness":                   "vtc-basic shares servers fairly among users",
	"fcfs-ordering-policy":                     nearestFlow,
	"edf-ordering-policy":                      nearestFlow,
	"slo-deadline-ordering-policy":             nearestFlow,
	"static-usage-limit-policy":                nearestFlow,
	"priority-holdback-policy":                 nearestFlow,
	"soft-reflective-ceiling-policy":           nearestFlow,
	"sheddable-eviction-filter":                nearestFlow,
	"priority-then-time-eviction-order-policy": nearestFlow,
	"concurrency-detector":                     "utilization-detector goes by the servers' metrics",

	"latency-observation-scorer-hub": nearestCluster,
	"latency-observer-producer-hub":  nearestCluster,
	"lmetric-scorer": "token-load-scorer and active-request-scorer go by what is not cached and by the requests " +
		"there",
	"lora-residency-filter": "lora-placement-filter keeps the servers that have an adapter loaded",
	"models-responder":      "GET /v1/models goes to one of the servers: leave it out",
	"outlen-bucket":         "how long an answer will be is not guessed: leave it out",
	"served-model-filter": "with models-data-source and models-data-extractor no request goes to a server that does " +
		"not list its model: leave it out",

	"multicluster-approx-prefix-cache-producer": nearestCluster,
	"multicluster-file-discovery":               nearestCluster,
	"multicluster-kv-cache-utilization-scorer":  nearestCluster,
	"multicluster-metrics-data-source":          nearestCluster,
	"multicluster-metrics-extractor":            nearestCluster,
	"multicluster-prefix-cache-scorer":          nearestCluster,
	"multicluster-queue-scorer":                 nearestCluster,
	"multicluster-session-affinity-filter":      nearestCluster,

	"vertexai-parser": nearestParser,
	"vllmgrpc-parser": "there is no substitute: requests over gRPC are not read",
}

const (
	nearestFlow    = "requests are not queued in the proxy; vtc-basic shares servers fairly among users"
	nearestCluster = "servers of all clusters may stand in one pool"
	nearestTree    = "scorers with weights choose among all servers, where it tried one filter after the other"
	nearestParser  = "the API is told by the path: leave it out"
)

// notHere says why a type that is known elsewhere is none here, and what comes nearest; empty for any other.
func notHere(kind string) string {
	if instead := notYet[kind]; instead != "" {
		return strconv.Quote(kind) + " is known, but not here yet: " + instead
	}
	if instead := former[kind]; instead != "" {
		return strconv.Quote(kind) + " is a type of the past: " + instead
	}
	return ""
}
