package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/snapshot"
)

// Endpoint is a model server as a snapshot tells of it.
type Endpoint struct {
	Name, Address string
	Waiting       uint32
	// Age is how old the sample is.
	Age time.Duration
}

// IngestPath is where snapshots are posted.
const IngestPath = "/pintle/v1/snapshot"

// Now is a position after all that this process made before.
func Now() snapshot.Position {
	return snapshot.Position{Epoch: uint64(time.Now().UnixNano()), Sequence: 1}
}

// Message encodes a topology and its load.
func Message(p snapshot.Position, endpoints ...Endpoint) []byte {
	topology := &snapshot.Topology{}
	load := &snapshot.Load{}
	for _, e := range endpoints {
		topology.Endpoints = append(topology.Endpoints, snapshot.Endpoint{Name: e.Name, Address: e.Address, Engine: "vllm"})
		load.Endpoints = append(load.Endpoints, snapshot.EndpointLoad{WaitingRequests: e.Waiting, AgeMillis: uint32(e.Age.Milliseconds())})
	}
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

// Post sends bytes to the ingest path of a listener at ip:port or, with a slash in front, at a unix socket. Every call uses a
// connection of its own. authorization is the header's value, empty for none.
func Post(t testing.TB, address, authorization string, body io.Reader) (status int, answer string) {
	t.Helper()
	network, host := "tcp", address
	if address[0] == '/' {
		network, host = "unix", "localhost"
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
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
	status, answer := Post(t, e.Address("ingest"), "Bearer "+Token, bytes.NewReader(Message(Now(), endpoints...)))
	if status != http.StatusNoContent {
		t.Fatalf("snapshot: got %d %s, want 204", status, answer)
	}
}
