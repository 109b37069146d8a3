package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// lab is an Envoy of one test's own, with servers that take a while for an answer. Its listeners are requests, whose
// plug-in the test gives, rest, which shows what is in flight, and ingest.
type lab struct {
	*harness.Envoy
	servers   []*harness.Server
	listeners []*harness.Listener
}

// slowBody takes half a second, in 10 events.
const slowBody = `{"model":"sim-model","messages":[{"role":"user","content":"hello"}],"max_tokens":10,"stream":true}`

func newLab(t *testing.T, o harness.Options, cell harness.Cell, plugin map[string]any) *lab {
	t.Helper()
	l := &lab{}
	var addresses []string
	for i := range 3 {
		server, err := harness.NewServer(
			sim.Config{Name: fmt.Sprintf("slow-%d", i), Models: models, TimePerOutputToken: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		l.servers = append(l.servers, server)
		addresses = append(addresses, server.Address)
	}
	rest := alone("active-request-scorer")
	l.listeners = []*harness.Listener{
		{Name: "requests", Plugin: plugin}, {Name: "rest", Plugin: rest},
		{Name: "ingest", Plugin: plugin, Ingest: true, MaxBodyBytes: 8 << 20},
	}
	var err error
	if l.Envoy, err = harness.StartWith(o, cell, addresses, l.listeners...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Envoy.Stop)
	return l
}

// endpoints are the lab's servers with equal load.
func (l *lab) endpoints() (all []harness.Endpoint) {
	for _, s := range l.servers {
		all = append(all, harness.Endpoint{Name: s.Name, Address: s.Address})
	}
	return all
}

// exchange is one request from beginning to end. cut is set when the answer broke off.
type exchange struct {
	status            int
	server, explained string
	cut               bool
}

func (x exchange) String() string {
	return fmt.Sprintf("%d from %q, cut off %v", x.status, x.server, x.cut)
}

// exchange sends a request on a connection of its own; status is 0 when no answer came.
func (l *lab) exchange(t testing.TB, listener, body string) exchange {
	response, err := harness.Client(t, false).Post(l.URL(listener, chatPath), "application/json",
		strings.NewReader(body))
	if err != nil {
		return exchange{}
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return exchange{response.StatusCode, response.Header.Get("X-Sim-Server"), response.Header.Get("X-Pintle-Explain"),
		err != nil}
}

// wantRest waits until no worker counts a request in flight. The probes come on connections of their own, and so reach
// all workers.
func (l *lab) wantRest(t testing.TB, limit time.Duration) {
	t.Helper()
	const probes = 12
	harness.WaitFor(t, limit, "all workers to count nothing in flight", func() (bool, string) {
		for range probes {
			x := l.exchange(t, "rest", strings.Replace(slowBody, `"max_tokens":10`, `"max_tokens":1`, 1))
			if x.status != http.StatusOK || !idle(x.explained) {
				time.Sleep(200 * time.Millisecond)
				return false, fmt.Sprint(x, " ", x.explained)
			}
			time.Sleep(20 * time.Millisecond) // for its end to be journaled
		}
		return true, ""
	})
}

// idle reports whether an explained decision of active-request-scorer found nothing in flight: every score is 1.
func idle(explained string) bool {
	var explanation struct{ Scores [][]any }
	if err := json.Unmarshal([]byte(explained), &explanation); err != nil || len(explanation.Scores) == 0 {
		return false
	}
	for _, score := range explanation.Scores {
		if len(score) != 4 || score[3] != 1.0 {
			return false
		}
	}
	return true
}
