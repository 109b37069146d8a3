package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// onRoute adds fields to the route of the listener of requests.
func onRoute(fields string) func(config string) string {
	return func(config string) string {
		const timeout = "                  timeout: 0s\n"
		head, rest, _ := strings.Cut(config, "stat_prefix: requests\n")
		return head + "stat_prefix: requests\n" + strings.Replace(rest, timeout, timeout+fields, 1)
	}
}

// outcomes are what the journal tells of requests that have ended, in their order, but for those for the model probe.
type outcomes struct {
	mu     sync.Mutex
	probed bool
	all    []journal.Event
}

// Take implements follow.Sink.
func (o *outcomes) Take(e *follow.Event) {
	if e.Kind != journal.Completion {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if e.Asked == journal.HashName("probe") {
		o.probed = true
		return
	}
	o.all = append(o.all, journal.Event{Status: e.Status, Code: e.Code, Ended: e.Ended,
		DurationMicros: e.DurationMicros})
}

// Caught implements follow.Sink.
func (o *outcomes) Caught(string, journal.Position) {}

// take returns what has been told since the last call, and whether any probe ever was.
func (o *outcomes) take() (all []journal.Event, probed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all, o.all = o.all, nil
	return all, o.probed
}

// toldOutcomes follows an Envoy, once its requests are told of.
func toldOutcomes(t *testing.T, envoy *harness.Envoy) *outcomes {
	t.Helper()
	o := &outcomes{}
	followed(t, envoy, o)
	client := harness.Client(t, false)
	probe := strings.Replace(chatBody, "sim-model", "probe", 1)
	harness.WaitFor(t, 20*time.Second, "the outcome of a probe", func() (bool, string) {
		harness.Send(t, client, harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), probe, false))
		_, probed := o.take()
		return probed, "none"
	})
	return o
}

// want waits until as many outcomes are told as are wanted, and compares them by their lines.
func (o *outcomes) want(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	harness.WaitFor(t, 20*time.Second, fmt.Sprint("the outcomes ", want), func() (bool, string) {
		all, _ := o.take()
		for _, e := range all {
			got = append(got, fmt.Sprintf("status %d, code %d, ended %d, takes time %v", e.Status, e.Code, e.Ended,
				e.DurationMicros > 0))
		}
		return len(got) >= len(want), fmt.Sprint(got)
	})
	if !slices.Equal(got, want) {
		t.Errorf("outcomes: got %v, want %v", got, want)
	}
}

// TestInternalRedirect: where Envoy goes after a server's redirect by itself, each request is decided on anew, and the
// one that was redirected is over for a reason that says nothing of its server, or of its client's patience.
func TestInternalRedirect(t *testing.T) {
	const policy = "                  internal_redirect_policy: {redirect_response_codes: [307]}\n"
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			server, err := harness.NewScripted()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			server.Script(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.RawQuery == "" && strings.Contains(string(body), "elsewhere") {
					w.Header().Set("Location", "http://"+r.Host+chatPath+"?again")
					w.WriteHeader(http.StatusTemporaryRedirect)
					return
				}
				w.Header().Set("X-Sim-Server", "best")
				_, _ = fmt.Fprintf(w, `{"sha":%q}`, sha(string(body)))
			})
			plugin := map[string]any{"config": harness.Document(1)}
			envoy := startEnvoy(t, harness.Options{Edit: onRoute(policy)}, cell, []string{server.Address}, plugin)
			envoy.Publish(t, harness.Endpoint{Name: "best", Address: server.Address})
			told := toldOutcomes(t, envoy)
			body := strings.Replace(chatBody, "hello", "elsewhere", 1)
			for _, http2 := range []bool{false, true} {
				got := harness.Send(t, harness.Client(t, http2),
					harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), body, false))
				wantServer(t, got, "best")
				if !strings.Contains(got.Body, sha(body)) {
					t.Errorf("HTTP/2 %v: got %s, want the body at the redirect's end, too", http2, got.Body)
				}
				told.want(t,
					fmt.Sprintf("status 0, code 0, ended %d, takes time false", journal.EndedEnvoy),
					fmt.Sprintf("status 200, code 200, ended %d, takes time true", journal.EndedWhole))
			}
		})
	}
}
