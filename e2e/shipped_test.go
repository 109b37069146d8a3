package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// shipped is a configuration file of the repository on ports of its own.
type shipped struct {
	text             string
	requests, ingest string
	admin            int
	servers          []*harness.Server
	dead             string
}

// shippedToken is the ingest token of the shipped files.
const shippedToken = "pintle-local"

// loadShipped reads a file and moves it to free ports; its fourth model server is dead.
func loadShipped(t *testing.T, name string) *shipped {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), name))
	if err != nil {
		t.Fatal(err)
	}
	s := &shipped{}
	ports, err := harness.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	s.admin = ports[0]
	s.requests, s.ingest = fmt.Sprintf("127.0.0.1:%d", ports[1]), fmt.Sprintf("127.0.0.1:%d", ports[2])
	replace := []string{"9901", strconv.Itoa(ports[0]), "10000", strconv.Itoa(ports[1]), "15099",
		strconv.Itoa(ports[2])}
	for i := range 3 {
		server, err := harness.NewServer(sim.Config{Name: fmt.Sprintf("sim-%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		s.servers = append(s.servers, server)
		replace = append(replace, strconv.Itoa(9101+i), port(server.Address))
	}
	dead, err := harness.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	s.dead = dead
	replace = append(replace, "9104", port(dead))
	s.text = strings.NewReplacer(replace...).Replace(string(text))
	return s
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// TestShippedFiles: both configurations of the repository load, run and route as they are.
func TestShippedFiles(t *testing.T) {
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := loadShipped(t, name)
			if err := harness.Validate(s.text); err != nil {
				t.Fatal(err)
			}
			envoy, err := harness.StartText(s.text, s.admin)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(envoy.Stop)
			envoy.LogOnFailure(t)
			url := "http://" + s.requests + chatPath
			got := harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost, url, chatBody, false))
			wantError(t, got, http.StatusServiceUnavailable, "no_endpoints")

			endpoints := make([]harness.Endpoint, len(s.servers))
			for i, server := range s.servers {
				endpoints[i] = harness.Endpoint{Name: server.Name, Address: server.Address, Waiting: uint32(10 - i)}
			}
			s.publish(t, endpoints)
			for i := range 6 {
				got := harness.Send(t, harness.Client(t, i%2 == 1),
					harness.Request(t, http.MethodPost, url, chatBody, false))
				wantServer(t, got, "sim-2")
			}
			s.wantLimit(t)
			if name == "envoy.yaml" {
				return
			}
			s.publish(t, append(endpoints, harness.Endpoint{Name: "dead", Address: s.dead}))
			for i := range 6 {
				got := harness.Send(t, harness.Client(t, i%2 == 1),
					harness.Request(t, http.MethodPost, url, chatBody, false))
				wantServer(t, got, "sim-2")
			}
		})
	}
}

func (s *shipped) publish(t *testing.T, endpoints []harness.Endpoint) {
	t.Helper()
	message := strings.NewReader(string(harness.Message(harness.Now(), endpoints...)))
	if status, answer := harness.Post(t, s.ingest, "Bearer "+shippedToken, message); status != http.StatusNoContent {
		t.Fatalf("snapshot: got %d %s, want 204", status, answer)
	}
}

// wantLimit checks that bodies up to 32 MiB are taken, with either version of HTTP.
func (s *shipped) wantLimit(t *testing.T) {
	t.Helper()
	for _, http2 := range []bool{false, true} {
		client := harness.Client(t, http2)
		client.Timeout = time.Minute
		for _, test := range []struct{ size, status int }{{20 << 20, http.StatusBadRequest},
			{34 << 20, http.StatusRequestEntityTooLarge}} {
			request := harness.Request(t, http.MethodPost, "http://"+s.requests+chatPath, longChat(test.size), false)
			got := harness.Send(t, client, request)
			// The model server finds 20 MiB too long for its context; that is its own answer.
			if got.Status != test.status || (got.Server() == "") != (test.status == http.StatusRequestEntityTooLarge) {
				t.Errorf("HTTP/2 %v, %d bytes: got %d from %q, want %d", http2, test.size, got.Status, got.Server(),
					test.status)
			}
		}
	}
}
