package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/snapshot"
)

// Endpoint is a model server as a snapshot tells of it.
type Endpoint struct {
	Name, Address string
	Waiting       uint32
	// KV is the used part of the KV cache, 0 to 1.
	KV float64
	// Age is how old the sample is.
	Age    time.Duration
	Labels map[string]string
	Models []string
	// Running are the LoRA adapters that run there, of at most MaxLoRA.
	Running []string
	MaxLoRA uint32
	// Heat is a metric of the servers' own, the attribute Heat/core-metrics-extractor; 0 is unknown.
	Heat float64
	// GPU is the used part of the servers' GPUs, the attribute GPUUtilization/dcgm-extractor; 0 is unknown.
	GPU float64
	// Blocks is the size of the KV cache in blocks of 16 tokens; 0 is unknown.
	Blocks uint32
}

// IngestPath is where snapshots are posted.
const IngestPath = "/pintle/v1/snapshot"

// Now is a position after all that this process made before.
func Now() snapshot.Position {
	return snapshot.Position{Epoch: uint64(time.Now().UnixNano()), Sequence: 1}
}

// Message encodes a topology and its load.
func Message(p snapshot.Position, endpoints ...Endpoint) []byte {
	return MessageWith(p, snapshot.Topology{}, endpoints...)
}

// MessageWith is Message with the objectives and rewrites of rules.
func MessageWith(p snapshot.Position, rules snapshot.Topology, endpoints ...Endpoint) []byte {
	topology := &snapshot.Topology{Objectives: rules.Objectives, Rewrites: rules.Rewrites}
	load := &snapshot.Load{}
	for _, e := range endpoints {
		at := snapshot.Endpoint{Name: e.Name, Address: e.Address, Engine: "vllm", Models: e.Models}
		for key, value := range e.Labels {
			at.Labels = append(at.Labels, snapshot.Label{Key: key, Value: value})
		}
		topology.Endpoints = append(topology.Endpoints, at)
		sample := snapshot.EndpointLoad{
			WaitingRequests: e.Waiting, KVCacheUsage: e.KV, AgeMillis: uint32(e.Age.Milliseconds()), MaxLoRA: e.MaxLoRA,
		}
		if e.Blocks != 0 {
			sample.KVBlocks, sample.KVBlockTokens = e.Blocks, 16
		}
		for _, adapter := range e.Running {
			if !slices.Contains(load.Adapters, adapter) {
				load.Adapters = append(load.Adapters, adapter)
			}
			sample.RunningLoRA = append(sample.RunningLoRA, uint16(slices.Index(load.Adapters, adapter)))
		}
		if e.Heat != 0 || e.GPU != 0 {
			load.Attributes = []string{"Heat/core-metrics-extractor", "GPUUtilization/dcgm-extractor"}
			sample.Attributes = []float64{known(e.Heat), known(e.GPU)}
		}
		load.Endpoints = append(load.Endpoints, sample)
	}
	return Encode(p, topology, load)
}

// Encode encodes a topology and the load of its endpoints.
func Encode(p snapshot.Position, topology *snapshot.Topology, load *snapshot.Load) []byte {
	load.Topology = topology.ID()
	message, err := snapshot.AppendTopology(nil, topology, p)
	if err == nil {
		message, err = snapshot.AppendLoad(message, load, p)
	}
	if err != nil {
		panic(fmt.Sprintf("test snapshot: %v", err))
	}
	return message
}

// known is a number of which 0 is unknown.
func known(value float64) float64 {
	if value == 0 {
		return math.NaN()
	}
	return value
}

// Post sends bytes to the ingest path of a listener at ip:port or, with a slash in front, at a unix socket. Every call
// uses a connection of its own. authorization is the header's value, empty for none.
func Post(t testing.TB, address, authorization string, body io.Reader) (status int, answer string) {
	t.Helper()
	network, host := "tcp", address
	if address[0] == '/' {
		network, host = "unix", "localhost"
	}
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}
	client := http.Client{Transport: transport, Timeout: 20 * time.Second}
	request, err := http.NewRequest(http.MethodPost, "http://"+host+IngestPath, body)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("POST %s to %s: %v", IngestPath, address, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("answer of %s: %v", address, err)
	}
	return response.StatusCode, string(text)
}

// Publish makes the endpoints the pool that all workers of Envoy see.
func (e *Envoy) Publish(t testing.TB, endpoints ...Endpoint) {
	t.Helper()
	e.PublishWith(t, snapshot.Topology{}, endpoints...)
}

// PublishWith is Publish with the objectives and rewrites of rules.
func (e *Envoy) PublishWith(t testing.TB, rules snapshot.Topology, endpoints ...Endpoint) {
	t.Helper()
	status, answer := Post(t, e.Address("ingest"), "Bearer "+Token,
		bytes.NewReader(MessageWith(Now(), rules, endpoints...)))
	if status != http.StatusNoContent {
		t.Fatalf("snapshot: got %d %s, want 204", status, answer)
	}
}
