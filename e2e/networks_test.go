package e2e

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/journal"
)

// clients is a follow.Sink that keeps who asked for each model.
type clients struct {
	mu sync.Mutex
	of map[uint64]uint64
}

// Take implements follow.Sink.
func (c *clients) Take(e *follow.Event) {
	if e.Kind == journal.Completion {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.of[e.Model] = e.Client
	}
}

// Caught implements follow.Sink.
func (c *clients) Caught(string, journal.Position) {}

// who asked for a model, 0 as long as nobody is known to have.
func (c *clients) who(model string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[journal.HashName(model)]
}

var remoteAddress = regexp.MustCompile("( *)use_remote_address: true")

// TestClientsAreNetworks: behind a proxy that Envoy trusts clients are told from each other as they are in front of it,
// and by no more of an IPv6 address than they cannot choose.
func TestClientsAreNetworks(t *testing.T) {
	server, err := harness.NewServer(sim.Config{Name: "instant", Instant: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	trusting := harness.Options{Workers: 1, Edit: func(config string) string {
		return remoteAddress.ReplaceAllString(config, "$0\n${1}xff_num_trusted_hops: 1")
	}}
	envoy := startEnvoy(t, trusting, harness.Cells()[0], []string{server.Address}, alone("queue-scorer"))
	envoy.Publish(t, harness.Endpoint{Name: server.Name, Address: server.Address})
	heard := &clients{of: map[uint64]uint64{}}
	followed(t, envoy, heard)
	from := func(address string) (client uint64) {
		harness.WaitFor(t, 20*time.Second, "the follower to hear of "+address, func() (bool, string) {
			request := harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath),
				strings.Replace(chatBody, "sim-model", address, 1), false)
			request.Header.Set("X-Forwarded-For", address)
			wantAnyServer(t, harness.Send(t, harness.Client(t, false), request))
			client = heard.who(address)
			return client != 0, ""
		})
		return client
	}
	tests := []struct {
		name      string
		addresses []string
	}{
		{"an IPv4 address", []string{"203.0.113.9"}},
		{"another", []string{"203.0.113.8"}},
		{"a network", []string{"2001:db8:1:2:3::1", "2001:db8:1:2:9:8:7:6"}},
		{"the next one", []string{"2001:db8:1:3:3::1"}},
		{"one of zeros", []string{"2001:db8::1", "2001:db8::2"}},
	}
	var all []uint64
	for _, tc := range tests {
		client := from(tc.addresses[0])
		for _, address := range tc.addresses {
			if got := from(address); got != client {
				t.Errorf("%s: %s: got client %x, want %x as of %s", tc.name, address, got, client, tc.addresses[0])
			}
		}
		if slices.Contains(all, client) {
			t.Errorf("%s: got the same client as before it, want another one", tc.name)
		}
		all = append(all, client)
	}
}
