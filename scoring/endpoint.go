package scoring

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// Endpoint is one model server as a decision sees it.
type Endpoint struct {
	// Index is the endpoint's place in its pool.
	Index int
	// Name identifies the endpoint for people, such as "default/vllm-0". Unique in a pool.
	Name string
	// StateIndex is the endpoint's index in Pool.State.
	StateIndex int
	// Address is ip:port.
	Address string
	// Engine is vllm, sglang, trtllm, triton, or empty.
	Engine string
	// Labels are the pod's labels.
	Labels []Label
	// Models are the names that the server answers to; it gets requests for no others. Empty means unknown, and gets
	// all.
	Models []string
	// BaseModels is how many of Models, the first ones, are base models; the others are LoRA adapters. 0 is unknown.
	BaseModels int
	// Metrics is the last sample of the server's load.
	Metrics Metrics
}

// AppendAddress appends the endpoint's ip:port to dst, with another port if that is not 0.
func (e *Endpoint) AppendAddress(dst []byte, port int) []byte {
	if port == 0 {
		return append(dst, e.Address...)
	}
	host := e.Address[:strings.LastIndexByte(e.Address, ':')+1]
	return strconv.AppendInt(append(dst, host...), int64(port), 10)
}

// Host is the address without its port, an IPv6 address without brackets.
func (e *Endpoint) Host() string {
	port := strings.LastIndexByte(e.Address, ':')
	if port < 0 {
		return e.Address
	}
	host := e.Address[:port]
	if len(host) > 1 && host[0] == '[' {
		return host[1 : len(host)-1]
	}
	return host
}

// Label is one Kubernetes label.
type Label struct{ Key, Value string }

// Label returns the value of the label key; ok is false when the endpoint has no such label.
func (e *Endpoint) Label(key string) (value string, ok bool) {
	for i := range e.Labels {
		if e.Labels[i].Key == key {
			return e.Labels[i].Value, true
		}
	}
	return "", false
}

// Metrics is one sample of a model server's load. The zero value is a server that has not been sampled.
type Metrics struct {
	// SampledAt is when the server reported the numbers, in nanoseconds since 1970 by the clock that Request.Now reads.
	// 0 means never: the numbers below then mean nothing.
	SampledAt int64
	// WaitingRequests and RunningRequests count requests in the server's queue and in its batch.
	WaitingRequests, RunningRequests int
	// KVCacheUsage is the used part of the KV cache, 0 to 1.
	KVCacheUsage float64
	// KVBlockTokens and KVBlocks size the KV cache: tokens in a block, blocks in all. 0 is unknown.
	KVBlockTokens, KVBlocks int
	// MaxLoRA is how many LoRA adapters the server can run at once. 0 is unknown.
	MaxLoRA int
	// RunningLoRA and WaitingLoRA index Pool.Adapters.
	RunningLoRA, WaitingLoRA []uint16
	// Attributes are the values of Pool.Attributes, NaN where unknown; nil is all unknown.
	Attributes []float64
	// MaxRunning is how many requests the server's batch can hold. 0 is unknown.
	MaxRunning int
	// ProcessStart is when the server's process started by the server's own clock, milliseconds since 1970. 0 is
	// unknown.
	ProcessStart int64
}

// Pool is all endpoints that may serve a request. Endpoints[i].Index must be i. A decision reads it; whoever owns it
// may change the metrics in place between decisions.
type Pool struct {
	Endpoints []Endpoint
	// State is what earlier requests tell of the endpoints, with the parts that Plan.StateOptions asks for.
	State *state.State
	// Adapters names the LoRA adapters that the metrics refer to by index.
	Adapters []string
	// Attributes name further metrics, at most snapshot.MaxAttributes: attribute/producer.
	Attributes []string
	// Objectives give names to priorities.
	Objectives []Objective
	// Rewrites replace the model that a request names.
	Rewrites []Rewrite

	// listings are the Models of all endpoints, by model.
	listings []listing
	// hosts are those of all endpoints, by their hash.
	hosts []hostPlace
	// keepsBilling is set when one of the endpoints is of an engine that has openai.BillingHeader in its prompts.
	keepsBilling bool
}

// KeepsBilling reports how the pool's prompts are to be read, for openai.Request.KeepBilling. Engines differ; in a pool
// of several nobody is expected to have what one of them has not.
func (p *Pool) KeepsBilling() bool { return p.keepsBilling }

// Enter takes note of the endpoints, and makes them those of its State, if it has one. To be called whenever they
// change.
func (p *Pool) Enter() {
	p.indexModels()
	p.indexHosts()
	p.keepsBilling = slices.ContainsFunc(p.Endpoints, func(e Endpoint) bool { return e.Engine == "sglang" })
	if p.State == nil {
		return
	}
	ids := make([]uint64, len(p.Endpoints))
	for i := range p.Endpoints {
		ids[i] = journal.EndpointID(p.Endpoints[i].Name)
	}
	p.State.SetEndpoints(ids)
	for i := range p.Endpoints {
		p.Endpoints[i].StateIndex = p.State.Endpoints.Index(ids[i])
	}
}

// ID is the endpoint's identity in the journal.
func (p *Pool) ID(e *Endpoint) uint64 {
	if p.State == nil {
		return journal.EndpointID(e.Name)
	}
	return p.State.Endpoints.ID(e.StateIndex)
}

// Objective is a class of requests.
type Objective struct {
	Name string
	// Priority is below 0 for requests that may be shed when the pool is saturated.
	Priority int
}

// Rewrite replaces model names.
type Rewrite struct {
	// Models are the names that it applies to; none means all that no other rule names.
	Models []string
	// Targets are the names to choose from.
	Targets []RewriteTarget
}

// RewriteTarget is one model that a rewrite chooses with a probability proportional to Weight.
type RewriteTarget struct {
	Model  string
	Weight int
}
