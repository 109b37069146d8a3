// Package snapshot is the wire format in which the sidecar tells the filter what it knows of the model servers.
//
// Two records carry it. A topology record holds what changes rarely: names, addresses, labels, engines, models. A load
// record holds what changes many times a second, in topology order and fixed width, so that it can be decoded on
// the request path without allocating. Every record stands alone: it has a format version, the publisher's position
// (epoch and sequence) and a checksum, and a load record names the topology that it belongs to.
//
// All integers are little endian. FORMAT.md beside this file gives the layout byte by byte.
package snapshot

// Topology is the set of model servers and the rules that come with them. The zero value is an empty pool.
type Topology struct {
	Endpoints  []Endpoint
	Objectives []Objective
	Rewrites   []Rewrite
}

// Objective gives a class of requests its priority. Below 0 it may be shed.
type Objective struct {
	Name     string
	Priority int32
}

// Rewrite replaces the model that a request names. Models are the names it applies to; none means all that no other
// rule names.
type Rewrite struct {
	Models  []string
	Targets []RewriteTarget
}

// RewriteTarget is a model that a rewrite chooses with a probability proportional to Weight.
type RewriteTarget struct {
	Model  string
	Weight uint32
}

// Endpoint is what is known of one model server apart from its load.
type Endpoint struct {
	// Name identifies the endpoint for people and for session tokens, such as "default/vllm-0". Unique in a topology.
	Name string
	// Address is ip:port, an IPv6 address in brackets without a zone.
	Address string
	// Engine is the model server's kind: vllm, sglang, trtllm, triton, or empty.
	Engine string
	// Labels are sorted by key, keys are unique.
	Labels []Label
	// Models are the names that the server answers to. Empty means unknown.
	Models []string
	// BaseModels is how many of them, the first ones, are base models; the others are LoRA adapters. 0 is unknown.
	BaseModels int
}

// Label is one Kubernetes label.
type Label struct{ Key, Value string }

// Load is the state of every endpoint of one topology at one moment.
type Load struct {
	// Topology is the ID of the topology record that Endpoints follows in order.
	Topology uint64
	// Endpoints has one entry for each endpoint of the topology.
	Endpoints []EndpointLoad
	// Adapters names the LoRA adapters that the entries refer to by index.
	Adapters []string
	// Attributes names further numbers of each endpoint, at most MaxAttributes; EndpointLoad.Attributes has one for
	// each, in their order.
	Attributes []string

	adapterIndexes []uint16
	values         []float64
}

// MaxAttributes bounds Load.Attributes.
const MaxAttributes = 16

// NoSample is the age of an endpoint that has not been scraped yet; its numbers are all zero and mean nothing.
const NoSample = ^uint32(0)

// EndpointLoad is the load of one endpoint as its last sample gave it.
type EndpointLoad struct {
	// WaitingRequests and RunningRequests count requests in the server's queue and in its batch.
	WaitingRequests, RunningRequests uint32
	// KVCacheUsage is the used part of the KV cache, 0 to 1.
	KVCacheUsage float64
	// AgeMillis is how old the sample was when the record was written, or NoSample.
	AgeMillis uint32
	// KVBlockTokens and KVBlocks size the KV cache: tokens in a block, blocks in all. 0 is unknown.
	KVBlockTokens, KVBlocks uint32
	// MaxLoRA is how many LoRA adapters the server can run at once. 0 is unknown.
	MaxLoRA uint32
	// RunningLoRA and WaitingLoRA index Load.Adapters.
	RunningLoRA, WaitingLoRA []uint16
	// Attributes are the numbers that Load.Attributes names, NaN where unknown; nil is all unknown.
	Attributes []float64
	// LoRAKnown says that the server tells which adapters run and wait, ModelsKnown that it listed its models itself.
	// The format has room for both; nobody goes by them.
	LoRAKnown, ModelsKnown bool
	// MaxRunning is how many requests the server's batch can hold. 0 is unknown.
	MaxRunning uint32
	// ProcessStart is when the server's process started by the server's own clock, milliseconds since 1970. 0 is
	// unknown. Two samples that differ by more than a clock's inaccuracy are of two processes: nothing is left of the
	// first one's cache. SomeStart after another start says as little as 0.
	ProcessStart uint64
}

// SomeStart is the ProcessStart of a server that does not say it and of which no other process has been seen: another
// start after it is another process.
const SomeStart = 1

// Position orders the records of one publisher and of its successors: by epoch, then by sequence.
type Position struct {
	// Epoch is the publisher's start, in nanoseconds since 1970.
	Epoch uint64
	// Sequence counts the publisher's records from 1.
	Sequence uint64
}

// After reports whether p is newer than q.
func (p Position) After(q Position) bool {
	if p.Epoch != q.Epoch {
		return p.Epoch > q.Epoch
	}
	return p.Sequence > q.Sequence
}

// Error is why a record was refused. Its text is a code, stable and fit for a machine to read.
type Error string

// Error implements error.
func (e Error) Error() string { return string(e) }

// The reasons for which bytes are refused.
const (
	ErrTruncated = Error("truncated")
	ErrForeign   = Error("foreign")
	ErrVersion   = Error("unsupported_version")
	ErrChecksum  = Error("checksum_mismatch")
	ErrMalformed = Error("malformed")
	ErrTooLarge  = Error("too_large")
)
