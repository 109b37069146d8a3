//go:build istio

package istio

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestPodEnds: a pod of the Deployment, the shipped one or the one that istiod makes, has as many workers as its memory
// is for; and when it is told to end, Istio's agent and the sidecar wait for an answer that streams for longer than the
// agent waits by itself, and both end behind it.
func TestPodEnds(t *testing.T) {
	for _, overlay := range []string{"oci", "gateway-api"} {
		t.Run(overlay, func(t *testing.T) { testPodEnds(t, overlay) })
	}
}

func testPodEnds(t *testing.T, overlay string) {
	server, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	release := make(chan struct{})
	server.Script(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Sim-Server", "a")
		_, _ = io.WriteString(w, "data: first\n\n")
		_ = http.NewResponseController(w).Flush()
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "slowly") {
			<-release
		}
		_, _ = io.WriteString(w, "data: last\n\n")
	})
	g := newGateway(t, render(t, "overlays/"+overlay), settings{pod: true,
		servers: []harness.Endpoint{{Name: "a", Address: server.Address}}})
	var info struct {
		Options struct{ Concurrency int } `json:"command_line_options"`
	}
	if text, err := g.Admin("/server_info"); err != nil || json.Unmarshal([]byte(text), &info) != nil ||
		info.Options.Concurrency != 2 {
		t.Errorf("got %d workers, want 2: %v", info.Options.Concurrency, err)
	}
	dump, err := g.Admin("/config_dump")
	if want := `"stream_idle_timeout": "3600s"`; err != nil || !strings.Contains(dump, want) {
		t.Errorf("%v; want %s in the configuration in force, as answers may be silent for long", err, want)
	}
	if want := "envoy.overload_actions.reset_high_memory_stream"; overlay == "gateway-api" &&
		!strings.Contains(dump, want) {
		t.Errorf("want %s in the configuration in force, from the mounted bootstrap", want)
	}
	client := harness.Client(t, false)
	response, err := client.Do(harness.Request(t, http.MethodPost, "http://"+g.requests+chatPath,
		strings.Replace(chatBody, "hello", "slowly", 1), false))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stream := bufio.NewReader(response.Body)
	if line, err := stream.ReadString('\n'); err != nil || line != "data: first\n" {
		t.Fatalf("the answer begins with %q, %v", line, err)
	}

	g.Terminate()
	g.sidecar.Terminate()
	harness.WaitFor(t, pushLimit, "the agent counting connections", func() (bool, string) {
		return g.Logged("active connections") > 1, g.Log()
	})
	if g.Ended() || g.sidecar.Ended() {
		t.Errorf("while the answer streams: got agent ended %v, sidecar ended %v, want neither", g.Ended(),
			g.sidecar.Ended())
	}
	close(release)
	if rest, err := io.ReadAll(stream); err != nil || !strings.HasSuffix(string(rest), "data: last\n\n") {
		t.Errorf("the answer ends with %q, %v, want its last event", rest, err)
	}
	client.CloseIdleConnections()
	for name, child := range map[string]*harness.Child{"agent": g.Process, "sidecar": g.sidecar} {
		select {
		case <-child.Done():
		case <-time.After(pushLimit):
			t.Errorf("the %s has not ended:\n%s", name, child.Log())
		}
	}
	if code := g.sidecar.ExitCode(); code != 0 {
		t.Errorf("the sidecar's exit code: got %d, want 0", code)
	}
}
