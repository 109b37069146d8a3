package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestDraining: a sidecar that is told to end goes on while Envoy does: what streams is stored, and clients go on with
// their conversations. It ends with Envoy.
func TestDraining(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	server, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	release := make(chan struct{})
	server.Script(t, func(w http.ResponseWriter, r *http.Request) { respondSlowly(w, r, release) })
	folder, err := os.MkdirTemp("", "pintle-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket := filepath.Join(folder, "store")
	plugin := map[string]any{"config": storing(nil), "sidecar": map[string]any{"cluster": "store", "timeout": "20s"}}
	envoy, err := harness.StartWith(harness.Options{Edit: withCluster("store", socket)}, recoveryCells[0],
		[]string{server.Address}, &harness.Listener{Name: "requests", Plugin: plugin},
		&harness.Listener{Name: "ingest", Ingest: true, Plugin: plugin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	sidecar := harness.StartSidecarWith(t, fmt.Sprintf("envoy: {ingest: %q, token: %q, drain: 1h}\n"+
		"admin: {address: \"127.0.0.1:0\"}\nresponses: {address: 'unix://%s'}\n"+
		"discovery: {static: [{name: a, address: %q, engine: vllm}]}\n",
		envoy.URL("ingest", harness.IngestPath), harness.Token, socket, server.Address))
	// A worker that does not know of followers yet leaves the model out of what it tells of an answer.
	told := newBegun(&lastCompletion{})
	followed(t, envoy, told)
	told.await(t, envoy.URL("requests", chatPath))
	client, answered := harness.Client(t, false), 0
	turn := func(body string) harness.Answer {
		t.Helper()
		got := harness.Send(t, client,
			harness.Request(t, http.MethodPost, envoy.URL("requests", "/v1/responses"), body, false))
		if got.Status == http.StatusOK {
			answered++
		}
		return got
	}
	harness.WaitFor(t, limit, "an answer", func() (bool, string) {
		got := turn(`{"model":"m","input":"hello"}`)
		return got.Status == http.StatusOK, fmt.Sprint(got.Status)
	})

	response, err := client.Do(harness.Request(t, http.MethodPost, envoy.URL("requests", "/v1/responses"),
		`{"model":"m","input":"slowly","stream":true}`, false))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stream := bufio.NewReader(response.Body)
	if _, err := stream.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	sidecar.Terminate()
	harness.WaitFor(t, limit, "the log of draining", func() (bool, string) {
		return sidecar.Logged("draining: goes on until the Envoys have ended") > 0, sidecar.Log()
	})
	close(release)
	if _, err := io.ReadAll(stream); err != nil {
		t.Errorf("the answer that streamed: %v, want its end", err)
	}
	harness.WaitFor(t, limit, "the conversation going on", func() (bool, string) {
		got := turn(`{"model":"m","input":"more","previous_response_id":"resp_slowly"}`)
		return got.Status == http.StatusOK, fmt.Sprint(got.Status, got.Header)
	})
	if sidecar.Ended() {
		t.Error("the sidecar has ended, want it to answer while Envoy is there")
	}
	// Of an answer whose end it has not read it cannot know that it is not to be waited for.
	wantMetricOf(t, sidecar, `pintle_request_duration_seconds_count{model="m"}`, answered+1)
	envoy.Stop()
	select {
	case <-sidecar.Done():
		if code := sidecar.ExitCode(); code != 0 {
			t.Errorf("exit code: got %d, want 0", code)
		}
	case <-time.After(limit):
		t.Error("the sidecar has not ended with Envoy")
	}
}

// respondSlowly streams a response that does not end before release is closed, and gives any other at once.
func respondSlowly(w http.ResponseWriter, r *http.Request, release <-chan struct{}) {
	const response = `{"id":%q,"object":"response","status":"completed","model":"m","output":[` +
		`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"yes"}]}]}`
	body, _ := io.ReadAll(r.Body)
	if !strings.Contains(string(body), `"stream":true`) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, response, "resp_fast")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string) {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,\"response\":"+response+"}\n\n", kind, kind,
			"resp_slowly")
		_ = http.NewResponseController(w).Flush()
	}
	event("response.created")
	<-release
	event("response.completed")
}
