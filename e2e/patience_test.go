package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// timed is an Envoy of one worker with a clock of its own, before two servers: one with "long" in the prompt gets a
// long answer, one with "hold" none until the test ends, and all others a short one.
type timed struct {
	*harness.Envoy
	*clock
	endpoints []harness.Endpoint
	// holds are the names of servers that got a request to hold, bodies what was sent with "upload" in it.
	holds, bodies chan string
	release       chan struct{}
}

// longAnswer is more than what a client of a slow stream takes without reading, and less than what Envoy holds for it.
var longAnswer = strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"word\"}}]}\n\n", 8_000) +
	"data: [DONE]\n\n"

func newTimed(t *testing.T, cell harness.Cell, plugin map[string]any) *timed {
	t.Helper()
	e := &timed{clock: newClock(t), holds: make(chan string, 1), bodies: make(chan string, 1),
		release: make(chan struct{})}
	var addresses []string
	for _, name := range []string{"a", "b"} {
		server, err := harness.NewScripted()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		server.Script(t, func(w http.ResponseWriter, r *http.Request) { e.answer(name, w, r) })
		e.endpoints = append(e.endpoints, harness.Endpoint{Name: name, Address: server.Address})
		addresses = append(addresses, server.Address)
	}
	listeners := []*harness.Listener{{Name: "requests", Plugin: plugin},
		{Name: "ingest", Plugin: plugin, Ingest: true, MaxBodyBytes: 8 << 20}}
	var err error
	if e.Envoy, err = harness.StartWith(harness.Options{Workers: 1, Variables: e.variables()}, cell, addresses,
		listeners...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Envoy.Stop)
	e.LogOnFailure(t)
	t.Cleanup(func() { close(e.release) })
	return e
}

func (e *timed) answer(name string, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("X-Sim-Server", name)
	switch text := string(body); {
	case strings.Contains(text, "hold"):
		e.holds <- name
		<-e.release
	case strings.Contains(text, "long"):
		_, _ = io.WriteString(w, longAnswer)
	case strings.Contains(text, "upload"):
		e.bodies <- text
	}
}

// at is the server that answers a short request.
func (e *timed) at(t *testing.T) string {
	t.Helper()
	got := harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, e.URL("requests", chatPath), chatBody, false))
	wantAnyServer(t, got)
	return got.Server()
}

// hold sends a request that is held, and returns the server that holds it.
func (e *timed) hold(t *testing.T) (server string) {
	t.Helper()
	request := harness.Request(t, http.MethodPost, e.URL("requests", chatPath),
		strings.Replace(chatBody, "hello", "hold", 1), false)
	client := harness.Client(t, false)
	go func() {
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}()
	return awaited(t, "a server to have the request to hold", e.holds)
}

// awaited waits for what another goroutine sends.
func awaited[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	const limit = 40 * time.Second // beyond that of a client
	select {
	case got = <-from:
	case <-time.After(limit):
		t.Fatalf("timed out after %v waiting for %s", limit, what)
	}
	return got
}

// pass sets the clock forward, with samples that are fresh by then.
func (e *timed) pass(t *testing.T, by time.Duration) {
	t.Helper()
	e.advance(t, by)
	e.Publish(t, e.endpoints...)
}

// completions is a follow.Sink that knows how many requests have ended and how long the longest of them took.
type completions struct{ count, longest atomic.Int64 }

// Take implements follow.Sink.
func (c *completions) Take(e *follow.Event) {
	if e.Kind == journal.Completion {
		c.longest.Store(max(c.longest.Load(), int64(e.DurationMicros)*1000))
		c.count.Add(1)
	}
}

// Caught implements follow.Sink.
func (c *completions) Caught(string, journal.Position) {}

// TestPatientClients: a stream whose client takes the answer two minutes after its end, and one whose body comes in
// pieces over as long, take nothing from others: what is in flight stays in flight, and no server is charged with the
// time.
func TestPatientClients(t *testing.T) {
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			e := newTimed(t, cell, alone("active-request-scorer"))
			e.Publish(t, e.endpoints...)
			ended := &completions{}
			followed(t, e.Envoy, ended)
			harness.WaitFor(t, 20*time.Second, "the follower to hear of requests", func() (bool, string) {
				e.at(t)
				time.Sleep(50 * time.Millisecond) // a busy worker tells later what has ended
				return ended.count.Load() > 0, ""
			})
			reader, upload := io.Pipe()
			uploaded := e.upload(t, reader)
			piece := longChat(30_000)
			_, _ = io.WriteString(upload, piece[:10_000])
			answer := e.long(t)
			e.pass(t, 90*time.Second)
			_, _ = io.WriteString(upload, piece[10_000:20_000])
			held := e.hold(t)
			e.pass(t, 35*time.Second)
			e.at(t)
			if text, err := io.ReadAll(answer.Body); err != nil || string(text) != longAnswer {
				t.Errorf("the patient client got %d bytes, %v, want %d", len(text), err, len(longAnswer))
			}
			e.pass(t, time.Second)
			for range 10 {
				if got := e.at(t); got == held {
					t.Fatalf("a request went to %s, where one is in flight", got)
				}
			}
			_, _ = io.WriteString(upload, strings.Replace(piece[20_000:], "Jack", "upload", 1))
			_ = upload.Close()
			if got := <-uploaded; got == held || got == "" {
				t.Errorf("the patient upload went to %q, where a request is in flight: %s", got, held)
			}
			if got := len(awaited(t, "the upload", e.bodies)); got != len(piece)+len("upload")-len("Jack") {
				t.Errorf("the server received %d bytes of it, want %d", got, len(piece)+2)
			}
			harness.WaitFor(t, 20*time.Second, "the follower to hear of all", func() (bool, string) {
				n := ended.count.Load()
				return n > 12, fmt.Sprint(n)
			})
			if took := time.Duration(ended.longest.Load()); took > time.Minute {
				t.Errorf("a server was charged with %v, most of which was its client's", took)
			}
		})
	}
}

// slowStream is a client of HTTP/2 that lets no more bytes come than it has to.
func slowStream(t *testing.T) *http.Client {
	client := harness.Client(t, true)
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10,
		MaxReceiveBufferPerConnection: 64 << 10}
	return client
}

// long sends a request for a long answer, and returns once all of that is in Envoy.
func (e *timed) long(t *testing.T) *http.Response {
	t.Helper()
	body := strings.Replace(strings.Replace(chatBody, "hello", "long", 1), `{`, `{"stream":true,`, 1)
	response, err := slowStream(t).Do(harness.Request(t, http.MethodPost, e.URL("requests", chatPath), body, false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	harness.WaitFor(t, 20*time.Second, "the server to have ended the answer", func() (bool, string) {
		stats := e.Stats(t, "(http.requests.downstream_rq_active|cluster.model-servers.upstream_rq_active)$")
		return stats["cluster.model-servers.upstream_rq_active"] == 0, fmt.Sprint(stats)
	})
	return response
}

// upload sends a request whose body is read from reader; the server that answers it comes in the channel.
func (e *timed) upload(t *testing.T, reader io.Reader) <-chan string {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, e.URL("requests", chatPath), reader)
	if err != nil {
		t.Fatal(err)
	}
	server := make(chan string, 1)
	client := harness.Client(t, true)
	go func() {
		response, err := client.Do(request)
		if err != nil {
			server <- ""
			return
		}
		_ = response.Body.Close()
		server <- response.Header.Get("X-Sim-Server")
	}()
	return server
}
