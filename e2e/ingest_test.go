package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/snapshot"
)

const bearer = "Bearer " + harness.Token

// otherLoad is a load record that prefers sim-3, of some topology.
func otherLoad(t testing.TB, topology uint64, p snapshot.Position) []byte {
	t.Helper()
	l := &snapshot.Load{Topology: topology, Endpoints: make([]snapshot.EndpointLoad, 4)}
	for i := range 3 {
		l.Endpoints[i].WaitingRequests = 50
	}
	record, err := snapshot.AppendLoad(nil, l, p)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func flipped(message []byte, at int) []byte {
	message = bytes.Clone(message)
	message[at] ^= 0x40
	return message
}

// TestIngestRefusals: what is no newer, whole snapshot from whoever has the token changes nothing.
func TestIngestRefusals(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		older := harness.Now()
		f.prefer(t, "sim-0")
		good := harness.Message(harness.Now(), f.pool("sim-3")...)
		tests := []struct {
			name, authorization string
			body                io.Reader
			status              int
			code                string
		}{
			{"no token", "", bytes.NewReader(good), 401, "unauthorized"},
			{"wrong token", "Bearer e2e-tokem", bytes.NewReader(good), 401, "unauthorized"},
			{"token cut short", bearer[:len(bearer)-1], bytes.NewReader(good), 401, "unauthorized"},
			{"token and more", bearer + "x", bytes.NewReader(good), 401, "unauthorized"},
			{"other scheme", "Basic " + harness.Token, bytes.NewReader(good), 401, "unauthorized"},
			{"empty", bearer, bytes.NewReader(nil), 400, "truncated"},
			{"cut in the header", bearer, bytes.NewReader(good[:20]), 400, "truncated"},
			{"cut at the end", bearer, bytes.NewReader(good[:len(good)-1]), 400, "truncated"},
			{"a bit flipped in the topology", bearer, bytes.NewReader(flipped(good, 60)), 400, "checksum_mismatch"},
			{"a bit flipped in the load", bearer, bytes.NewReader(flipped(good, len(good)-8)), 400,
				"checksum_mismatch"},
			{"two snapshots", bearer, bytes.NewReader(append(bytes.Clone(good), good...)), 400, "malformed"},
			{"other version", bearer, bytes.NewReader(flipped(good, 4)), 400, "unsupported_version"},
			{"JSON", bearer, strings.NewReader(chatBody), 400, "foreign"},
			{"older", bearer, bytes.NewReader(harness.Message(older, f.pool("sim-3")...)), 409, "older"},
			{"unknown topology", bearer, bytes.NewReader(otherLoad(t, 4711, harness.Now())), 409, "unknown_topology"},
			{"too long, announced", bearer, bytes.NewReader(make([]byte, snapshot.MaxMessageBytes+1)), 413,
				"too_large"},
			{"too long, in chunks", bearer, io.MultiReader(bytes.NewReader(make([]byte, snapshot.MaxMessageBytes+1))),
				413, "too_large"},
		}
		for _, test := range tests {
			status, answer := harness.Post(t, f.Address("ingest"), test.authorization, test.body)
			if status != test.status || !strings.Contains(answer, `"code":"`+test.code+`"`) {
				t.Errorf("%s: got %d %s, want %d %s", test.name, status, answer, test.status, test.code)
			}
			for range 3 {
				wantServer(t, f.chat(t, "requests", false), "sim-0")
			}
		}
		status, _ := harness.Post(t, f.Address("ingest"), bearer, bytes.NewReader(good))
		if status != http.StatusNoContent {
			t.Errorf("after all refusals: got %d, want 204", status)
		}
		wantServer(t, f.chat(t, "requests", false), "sim-3")
	})
}

// TestIngestReplay: a replayed snapshot is refused, and the answer names the position to exceed.
func TestIngestReplay(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		p := harness.Now()
		p.Sequence = 7
		message := harness.Message(p, f.pool("sim-2")...)
		if status, answer := harness.Post(t, f.Address("ingest"), bearer,
			bytes.NewReader(message)); status != http.StatusNoContent {
			t.Fatalf("first time: got %d %s, want 204", status, answer)
		}
		status, answer := harness.Post(t, f.Address("ingest"), bearer, bytes.NewReader(message))
		var refusal struct {
			Current struct{ Epoch, Sequence uint64 }
		}
		if err := json.Unmarshal([]byte(answer), &refusal); err != nil || status != http.StatusConflict {
			t.Fatalf("second time: got %d %s (%v), want 409", status, answer, err)
		}
		if refusal.Current.Epoch != p.Epoch || refusal.Current.Sequence != p.Sequence {
			t.Errorf("got current %+v, want %+v", refusal.Current, p)
		}
		p.Sequence++
		load := otherLoad(t, topologyOf(t, message), p)
		if status, answer := harness.Post(t, f.Address("ingest"), bearer,
			bytes.NewReader(load)); status != http.StatusNoContent {
			t.Fatalf("next load alone: got %d %s, want 204", status, answer)
		}
		wantServer(t, f.chat(t, "requests", false), "sim-3")
	})
}

func topologyOf(t testing.TB, message []byte) uint64 {
	t.Helper()
	m, err := snapshot.Split(message)
	if err != nil {
		t.Fatal(err)
	}
	return m.TopologyID
}

// TestIngestElsewhere: on the listener of requests the path is an ordinary one, and on the ingest listener there are no
// others.
func TestIngestElsewhere(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		good := harness.Message(harness.Now(), f.pool("sim-3")...)
		for _, authorization := range []string{"", bearer} {
			status, answer := harness.Post(t, f.Address("requests"), authorization, bytes.NewReader(good))
			if status != http.StatusNotFound || !strings.Contains(answer, "no such path") {
				t.Errorf("listener of requests: got %d %s, want a server's 404", status, answer)
			}
		}
		wantServer(t, f.chat(t, "requests", false), "sim-0")
		got := harness.Send(t, harness.Client(t, false),
			harness.Request(t, http.MethodPost, f.URL("ingest", chatPath), chatBody, false))
		if got.Status != http.StatusNotFound || got.Server() != "" {
			t.Errorf("chat at the ingest listener: got %d from %q, want 404 from Envoy", got.Status, got.Server())
		}
		got = harness.Send(t, harness.Client(t, false),
			harness.Request(t, http.MethodGet, f.URL("ingest", harness.IngestPath), "", false))
		if got.Status != http.StatusMethodNotAllowed {
			t.Errorf("GET at the ingest listener: got %d, want 405", got.Status)
		}
	})
}

// TestIngestReachesAllWorkers: what one worker takes in, all workers decide by.
func TestIngestReachesAllWorkers(t *testing.T) {
	const connections = 32
	inCells(t, func(t *testing.T, f *fixture) {
		for _, best := range []string{"sim-1", "sim-2"} {
			f.prefer(t, best)
			for range connections {
				wantServer(t, f.chat(t, "requests", false), best)
			}
		}
		workers := 0
		for name, connections := range f.Stats(t, "listener.*worker_.*downstream_cx_total") {
			if strings.Contains(name, fmt.Sprint(f.Port("requests"))) && connections > 0 {
				workers++
			}
		}
		if workers != 2 {
			t.Errorf("%d workers took connections, want 2", workers)
		}
	})
}

// TestIngestSocket: snapshots are taken at a unix socket too, by the same rules.
func TestIngestSocket(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		message := harness.Message(harness.Now(), f.pool("sim-3")...)
		if status, answer := harness.Post(t, f.Socket("socket"), "Bearer wrong-token",
			bytes.NewReader(message)); status != 401 {
			t.Errorf("wrong token: got %d %s, want 401", status, answer)
		}
		wantServer(t, f.chat(t, "requests", false), "sim-0")
		if status, answer := harness.Post(t, f.Socket("socket"), bearer, bytes.NewReader(message)); status != 204 {
			t.Errorf("got %d %s, want 204", status, answer)
		}
		wantServer(t, f.chat(t, "requests", false), "sim-3")
	})
}

// TestTokenFromEnvironment: the ingest token may come from a variable that Envoy hands to the module; without it Envoy
// does not start.
func TestTokenFromEnvironment(t *testing.T) {
	const name = "PINTLE_E2E_TOKEN"
	load := func() *shipped {
		s := loadShipped(t, "envoy.yaml")
		s.text = strings.NewReplacer(`"token": "`+shippedToken+`"`, `"tokenEnv": "`+name+`"`,
			"vm_id: pintle\n", "vm_id: pintle\n                  environment_variables: {host_env_keys: ["+name+
				"]}\n").Replace(s.text)
		return s
	}
	s := load()
	if envoy, err := harness.StartText(s.text, s.admin); err == nil ||
		!strings.Contains(err.Error(), "the module's environment has no "+name) {
		envoy.Stop()
		t.Errorf("without the variable: got %v, want Envoy to refuse its configuration and say why", err)
	}
	t.Setenv(name, shippedToken)
	s = load()
	envoy, err := harness.StartText(s.text, s.admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	if status, answer := harness.Post(t, s.ingest, "Bearer another-token",
		strings.NewReader("PNTL")); status != http.StatusUnauthorized {
		t.Errorf("another token: got %d %s, want 401", status, answer)
	}
	s.publish(t, []harness.Endpoint{{Name: s.servers[1].Name, Address: s.servers[1].Address}})
	got := harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, "http://"+s.requests+chatPath, chatBody, false))
	wantServer(t, got, "sim-1")
}

// TestIngestForgedPeer: where Envoy believes x-forwarded-for, nobody becomes a peer from this machine by it.
func TestIngestForgedPeer(t *testing.T) {
	t.Parallel()
	edit := func(config string) string {
		return strings.ReplaceAll(config, "use_remote_address: true", "use_remote_address: false")
	}
	for _, cell := range recoveryCells {
		l := newLab(t, harness.Options{Edit: edit}, cell, alone("queue-scorer"))
		send := func(forwarded string) int {
			message := harness.Message(harness.Now(), l.endpoints()...)
			request, err := http.NewRequest(http.MethodPost, l.URL("ingest", harness.IngestPath),
				bytes.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", bearer)
			if forwarded != "" {
				request.Header.Set("X-Forwarded-For", forwarded)
			}
			response, err := harness.Client(t, false).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			return response.StatusCode
		}
		for _, forged := range []string{"127.0.0.1", "::1", "10.0.0.1, 127.0.0.1", "10.0.0.1", "::ffff:127.0.0.1"} {
			if got := send(forged); got != http.StatusForbidden {
				t.Errorf("%v, %q: got %d, want 403", cell, forged, got)
			}
		}
		// Each worker that was asked has said it, once.
		const warning = "the ingest listener was reached at 127.0.0.1:"
		harness.WaitFor(t, 20*time.Second, "the warning "+warning,
			func() (bool, string) { return l.Logged(warning) > 0, l.Log() })
		if n := l.Logged(warning); n > 2 {
			t.Errorf("%v: %d warnings of an ingest listener that others reach, want one for each worker that was asked",
				cell, n)
		}
		// With a port Envoy does not take the header for an address, and goes by the connection, which here is one from
		// this machine.
		for _, honest := range []string{"", "10.9.9.9:4000", "[fd00::9]:4000"} {
			if got := send(honest); got != http.StatusNoContent {
				t.Errorf("%v, %q: got %d, want 204", cell, honest, got)
			}
		}
	}
}
