package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

const (
	agreeWorkers = 2
	// agreeServers are there in the end, agreeFirst of them from the beginning.
	agreeServers, agreeFirst = 6, 4
	// agreeSteps is what happens by each document, agreeLate when more servers come.
	agreeSteps, agreeLate = 150, 60
	agreeLimit            = 20 * time.Second
)

// TestEnvoysWorkersAgree: in a real Envoy two workers, before servers that answer, fail, break off and lose their
// clients, decide by each document as the native code does that is told the journal and nothing else: with the same
// scores, to the same endpoint, with every request.
func TestEnvoysWorkersAgree(t *testing.T) {
	t.Parallel()
	documents := harness.Agreeing()
	names := slices.Sorted(maps.Keys(documents))
	a := newAgreement(t, names, documents)
	for i, name := range names {
		t.Run(name, func(t *testing.T) { a.play(t, a.listeners[i], uint64(i)) })
	}
}

// agreement is an Envoy with a listener for each document, before servers that do what the test says.
type agreement struct {
	*harness.Envoy
	listeners []*harness.Listener
	servers   []harness.Endpoint
	arrived   chan *turn
}

// turn is a request at its server. do has the server write, and go on or end.
type turn struct {
	server string
	do     chan func(w http.ResponseWriter) (ends bool)
}

func newAgreement(t *testing.T, names []string, documents map[string]string) *agreement {
	t.Helper()
	a := &agreement{arrived: make(chan *turn, 1)}
	var addresses []string
	for i := range agreeServers {
		server, err := harness.NewScripted()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		name := fmt.Sprint("server-", i)
		server.Script(t, func(w http.ResponseWriter, r *http.Request) { a.serve(name, w, r) })
		addresses = append(addresses, server.Address)
		a.servers = append(a.servers, harness.Endpoint{Name: name, Address: server.Address,
			Labels: map[string]string{"mif.moreh.io/role": [...]string{"prefill", "decode"}[i%2]}})
	}
	for i, name := range names {
		a.listeners = append(a.listeners, &harness.Listener{Name: fmt.Sprint("document-", i), Plugin: map[string]any{
			"config": json.RawMessage(documents[name]), "debug": true, "stale": map[string]any{"policy": "last"}}})
	}
	ingest := &harness.Listener{Name: "ingest", Ingest: true}
	// Of two connections each worker gets one.
	balance := func(config string) string {
		return strings.ReplaceAll(config, "\n    filter_chains:",
			"\n    connection_balance_config: {exact_balance: {}}\n    filter_chains:")
	}
	var err error
	a.Envoy, err = harness.StartWith(harness.Options{Workers: agreeWorkers, Edit: balance},
		harness.Cell{Hold: "pause", Destination: "original-dst"}, addresses, append(a.listeners, ingest)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Stop)
	a.LogOnFailure(t)
	return a
}

// serve is a server.
func (a *agreement) serve(name string, w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	q := &turn{server: name, do: make(chan func(http.ResponseWriter) bool)}
	a.arrived <- q
	for {
		select {
		case do := <-q.do:
			if do(w) {
				return
			}
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}
