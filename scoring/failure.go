package scoring

// Failure is why a request cannot be routed, as the client is told.
type Failure struct {
	// Status is the HTTP status.
	Status int
	// Reason is a stable code, sent as x-pintle-reason.
	Reason string
	// Message is for people.
	Message string
	// Param is the parameter of the request that it is about, empty for none.
	Param string
	// RetryAfter is in how many seconds it may be worth another try, 0 for unknown.
	RetryAfter int
}

// Reasons by which others know a Failure.
const (
	// SLOUnmet is that of a request whose objective no endpoint can meet.
	SLOUnmet = "slo_unmet"
	// ModelNotFound is that of a request for a model that no endpoint serves.
	ModelNotFound = "model_not_found"
)

// The failures of a decision.
var (
	NoEndpoints   = &Failure{Status: 503, Reason: "no_endpoints", Message: "no model server is known"}
	OutsideSubset = &Failure{Status: 503, Reason: NoEndpoints.Reason,
		Message: "no model server for this request is among those that its subset hint names"}
	FilteredOut = &Failure{Status: 503, Reason: "filtered_out",
		Message: "no model server passes the filters for this request"}
	NoParser = &Failure{Status: 400, Reason: "no_parser",
		Message: "no parser of the configuration claims the request's path"}
	Shed = &Failure{Status: 429, Reason: "shed",
		Message: "the model servers are saturated and the request's priority is below 0"}
)

// saturatedOut is FilteredOut as llm-d answers it: what its filters remove is taken for busy.
var saturatedOut = &Failure{Status: 429, Reason: FilteredOut.Reason, Message: FilteredOut.Message}
