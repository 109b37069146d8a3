package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestTriton: requests to Triton's own paths, streamed or not, go to the best server, and to the one that has had the
// beginning of their prompt.
func TestTriton(t *testing.T) {
	const body = `{"text_input":%q,"max_tokens":2,"stream":true}`
	inCells(t, func(t *testing.T, f *fixture) {
		client := harness.Client(t, false)
		send := func(listener, path, prompt string) harness.Answer {
			got := harness.Send(t, client, harness.Request(t, http.MethodPost, f.URL(listener, path),
				fmt.Sprintf(body, prompt), false))
			wantAnyServer(t, got)
			return got
		}
		for _, path := range []string{"/v2/models/sim-model/generate", "/v2/models/sim-model/generate_stream",
			"/v2/models/sim-model/versions/1/generate_stream", "/generate_stream"} {
			f.prefer(t, "sim-2")
			for range 8 { // by chance all would go there once in 65,536
				if got := send("requests", path, "hello"); got.Server() != "sim-2" {
					t.Fatalf("%s: a request went to %s, want the best server, sim-2", path, got.Server())
				}
			}
			f.scripted.Script(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Sim-Server", "scripted")
				_, _ = io.Copy(w, r.Body)
			})
			f.Publish(t, harness.Endpoint{Name: "scripted", Address: f.scripted.Address})
			prompt := strings.Repeat(fmt.Sprintf("%020d", time.Now().UnixNano()), 20)
			send("prefix", path, prompt)
			if got := scores(t, send("prefix", path, prompt)); got["scripted"] == 0 {
				t.Errorf("%s: got the scores %v, want the server to be known to have the prompt", path, got)
			}
		}
	})
}
