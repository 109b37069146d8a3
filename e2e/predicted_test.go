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
)

// TestOverdue: workers that have learnt from answers which server is the faster one leave it while it does not answer,
// however little it has to do, and come back when it does.
func TestOverdue(t *testing.T) {
	const (
		slow  = 200 * time.Millisecond // to the first token of one server; the other one does not wait
		stuck = 2 * time.Second        // for which a server has not answered when it counts as later than slow
	)
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			var hangs atomic.Pointer[chan struct{}]
			arrived := make(chan struct{}, 1)
			fast, slower := streaming(t, "fast", func() {
				if until := hangs.Load(); until != nil {
					arrived <- struct{}{}
					<-*until
				}
			}), streaming(t, "slow", func() { time.Sleep(slow) })
			g := startPredicting(t, cell, fast, slower)

			g.learns(t, "fast")
			until := make(chan struct{})
			hangs.Store(&until)
			held := make(chan harness.Answer, 1)
			go func() { held <- g.ask(t) }()
			<-arrived
			time.Sleep(stuck)
			for range 5 {
				wantServer(t, g.ask(t), "slow")
			}
			hangs.Store(nil)
			close(until)
			wantServer(t, <-held, "fast")
			g.learns(t, "fast")
		})
	}
}

// streaming is a server that streams two tokens once begin returns.
func streaming(t *testing.T, name string, begin func()) *harness.Scripted {
	t.Helper()
	s, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Script(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		begin()
		w.Header().Set("x-sim-server", name)
		w.Header().Set("content-type", "text/event-stream")
		for range 2 {
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
	return s
}

// predicting is an Envoy that goes by predicted latency.
type predicting struct {
	*harness.Envoy
	asked atomic.Int64
}

func startPredicting(t *testing.T, cell harness.Cell, servers ...*harness.Scripted) *predicting {
	t.Helper()
	plugin := alone("predicted-latency-scorer")
	var addresses []string
	var endpoints []harness.Endpoint
	for i, s := range servers {
		addresses = append(addresses, s.Address)
		endpoints = append(endpoints, harness.Endpoint{Name: fmt.Sprint("server-", i), Address: s.Address})
	}
	g := &predicting{}
	listeners := []*harness.Listener{{Name: "requests", Plugin: plugin},
		{Name: "ingest", Plugin: plugin, Ingest: true, MaxBodyBytes: 8 << 20}}
	var err error
	if g.Envoy, err = harness.StartWith(harness.Options{}, cell, addresses, listeners...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	g.LogOnFailure(t)
	g.Publish(t, endpoints...)
	return g
}

// ask sends a prompt of its own on a connection of its own, and so to any of the workers.
func (g *predicting) ask(t *testing.T) harness.Answer {
	body := fmt.Sprintf(`{"model":"m","stream":true,"prompt":"%d %s"}`, g.asked.Add(1), strings.Repeat("word ", 500))
	return harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, g.URL("requests", "/v1/completions"), body, false))
}

// learns asks until ten requests in a row went to a server.
func (g *predicting) learns(t *testing.T, server string) {
	t.Helper()
	row := 0
	harness.WaitFor(t, 30*time.Second, "ten requests in a row to go to "+server, func() (bool, string) {
		got := g.ask(t).Server()
		if row++; got != server {
			row = 0
		}
		return row == 10, got
	})
}
