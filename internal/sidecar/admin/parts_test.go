package admin

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/replicate"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/sidecar/traffic"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestStatusTellsOfParts: what a sidecar does beside its main work, and what is wrong with that, is told where it does
// it, and not else.
func TestStatusTellsOfParts(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	redis := scoring.StoreRedis{Addresses: []string{gone.Listener.Addr().String()}, TTL: time.Hour}
	token, log := func() string { return "token" }, slog.New(slog.DiscardHandler)
	for _, test := range []struct {
		name, path string
		add        func(t *testing.T, a *Admin)
		want       []string
	}{
		{"other gateways", "/status", func(t *testing.T, a *Admin) {
			var err error
			a.Replication, err = replicate.New(&config.Config{Ingests: make([]config.Ingest, 2),
				Replicate: &config.Replicate{Redis: redis, Stream: "s", Gateway: "g"}}, token, log)
			if err != nil {
				t.Fatal(err)
			}
		}, []string{`"replication":[{"gateway":"g/0","gateways":[]},{"gateway":"g/1","gateways":[]}]`}},
		{"a store that fails", "/status", func(t *testing.T, a *Admin) {
			var err error
			a.Store, err = responses.New(scoring.StoreBackend{Tiered: &scoring.StoreTiers{Redis: redis}}, token, log)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodGet, "/pintle/v1/history/r1", nil)
			r.Header.Set("Authorization", "Bearer token")
			a.Store.ServeHTTP(httptest.NewRecorder(), r)
		}, []string{`"status":"ok","warnings":["responses: the store fails, the last time `,
			`"store":{"stored":0,"notStored":0,"tiers":[{"name":"redis","hits":0,"misses":0,"errors":1,`}},
		{"prefixes", "/endpoints", func(_ *testing.T, a *Admin) {
			a.Traffic = traffic.New(traffic.Options{Prefixes: true})
			a.Traffic.SetEndpoints([]string{"a"})
		}, []string{`"prefixes":{"blocks":0}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAdmin(t, &topology.Part{Endpoints: []topology.Endpoint{{Endpoint: snapshot.Endpoint{
				Name: "a", Address: "10.0.0.1:8000"}}}}, nil)
			page := func() string {
				answer := httptest.NewRecorder()
				a.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, test.path, nil))
				return answer.Body.String()
			}
			without := page()
			test.add(t, a)
			with := page()
			for _, want := range test.want {
				if strings.Contains(without, want) || !strings.Contains(with, want) {
					t.Errorf("got %s without and %s with it, want %s in the latter alone", without, with, want)
				}
			}
		})
	}
}
