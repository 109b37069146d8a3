//go:build istio

package istio

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// testFullServer: a server that says it is full costs a try and no request.
func testFullServer(t *testing.T, g *gateway) {
	if !g.failsOver() {
		t.Skip("with one address nothing is tried again")
	}
	for _, full := range [][]int{{0}, {0, 1}} {
		g.rank(t)
		g.forget(t)
		for _, i := range full {
			g.fill(t, i, 3)
		}
		for i := range 10 {
			got := g.chat(t, chatBody)
			if took := slices.IndexFunc(g.servers, func(s *harness.Server) bool {
				return s.Name == got.Server()
			}); got.Status != http.StatusOK || i < 3 && slices.Contains(full, took) {
				t.Errorf("%v full, request %d: got %d from %q, want 200 of a server that has room", full, i,
					got.Status, got.Server())
			}
		}
		for _, i := range full {
			if asked := chats(g.servers[i]); asked < 3 {
				t.Errorf("%v full: %s was asked %d times, want it tried first", full, g.servers[i].Name, asked)
			}
		}
	}
}

// rank has the servers rank in their order, and waits until all workers know.
func (g *gateway) rank(t *testing.T) {
	t.Helper()
	g.prefer(t, 2)
	g.servers[2].PinWaiting(t, 50)
	g.servers[1].PinWaiting(t, 20)
	g.settle(t, g.servers[1].Name)
	g.servers[0].PinWaiting(t, 0)
	g.settle(t, g.servers[0].Name)
}

// chats is how many chat requests a server has had.
func chats(s *harness.Server) (n int) {
	for _, r := range s.Requests() {
		if r.Path == chatPath {
			n++
		}
	}
	return n
}

// fill has a server say to its next requests that it is full.
func (g *gateway) fill(t *testing.T, server, requests int) {
	t.Helper()
	response, err := http.Post("http://"+g.servers[server].Address+"/sim/fail", "application/json",
		strings.NewReader(fmt.Sprintf(`{"mode":"full","count":%d}`, requests)))
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Fatalf("told to be full: got %v, %v", response, err)
	}
	_ = response.Body.Close()
}

// testDeadServer: with a ranked list a server that dies is noticed by nobody; without one nothing is tried twice, until
// its failures leave it out. It comes last, as the server stays dead.
func testDeadServer(t *testing.T, g *gateway) {
	g.prefer(t, 0)
	g.servers[0].Close()
	want := g.counted(t, "completed") + 20
	client := harness.Client(t, false)
	statuses := map[int]int{}
	for range 20 {
		got, err := g.try(client, chatBody)
		if err != nil {
			t.Fatal(err)
		}
		statuses[got.Status]++
	}
	if g.failsOver() && statuses[http.StatusOK] != 20 {
		t.Errorf("got %v, want every request served by the next of the list", statuses)
	}
	if !g.failsOver() && (statuses[http.StatusServiceUnavailable] == 0 || statuses[http.StatusOK] == 0) {
		t.Errorf("got %v, want 503 of Envoy for the one address that it was told, and others once it is left out",
			statuses)
	}
	// Statistics of workers reach the admin page a little later.
	harness.WaitFor(t, pushLimit, "the requests counted", func() (bool, string) {
		got := g.counted(t, "completed")
		return got >= want, fmt.Sprintf("%d, want %d", got, want)
	})
	if retried := g.counted(t, "retry"); retried > 0 != g.failsOver() {
		t.Errorf("%d tries were not the first, want some only along a list", retried)
	}
}

// cluster is the name of the cluster that requests go to.
func (g *gateway) cluster() string {
	if g.find("BackendTrafficPolicy", "pintle") != nil {
		return "httproute/default/model-servers/rule/0"
	}
	host, port := destinationOf(g.objects)
	return fmt.Sprintf("outbound|%v||%v", port, host)
}

// counted is a statistic of requests to the cluster.
func (g *gateway) counted(t *testing.T, name string) int64 {
	t.Helper()
	for full, n := range g.Stats(t, `[;0]\.upstream_rq_`+name+"$") {
		if strings.HasPrefix(full, "cluster."+g.cluster()) {
			return n
		}
	}
	return 0
}

// testConnecting: a machine that is gone is waited for no longer than in an Envoy of one's own, and a connection ends
// before the server ends it.
func testConnecting(t *testing.T, g *gateway) {
	type options struct {
		Common struct {
			IdleTimeout string `json:"idle_timeout"`
		} `json:"common_http_protocol_options"`
	}
	var dump struct {
		Configs []struct {
			Clusters []struct {
				Cluster struct {
					Name           string
					ConnectTimeout string             `json:"connect_timeout"`
					Options        map[string]options `json:"typed_extension_protocol_options"`
					Connections    struct {
						Keepalive map[string]int `json:"tcp_keepalive"`
					} `json:"upstream_connection_options"`
				}
			} `json:"dynamic_active_clusters"`
		}
	}
	text, err := g.Admin("/config_dump")
	if err != nil || json.Unmarshal([]byte(text), &dump) != nil {
		t.Fatalf("Envoy's configuration: %v", err)
	}
	name := g.cluster()
	for _, config := range dump.Configs {
		for _, c := range config.Clusters {
			if c.Cluster.Name != name {
				continue
			}
			idle := c.Cluster.Options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"].Common.IdleTimeout
			if c.Cluster.ConnectTimeout != "1s" || idle != "4s" {
				t.Errorf("%s connects within %q and is idle for %q at most, want 1s and 4s", name,
					c.Cluster.ConnectTimeout, idle)
			}
			want := map[string]int{"keepalive_time": 15, "keepalive_interval": 5, "keepalive_probes": 3}
			if got := c.Cluster.Connections.Keepalive; !maps.Equal(got, want) {
				t.Errorf("%s probes connections by %v, want %v", name, got, want)
			}
			return
		}
	}
	t.Errorf("Envoy has no cluster %s", name)
}

// testTimeouts: no answer is cut because it takes long, whatever says where requests go.
func testTimeouts(t *testing.T, g *gateway) {
	var dump struct {
		Configs []struct {
			Table struct {
				Hosts []struct {
					Routes []struct {
						Route struct{ Cluster, Timeout string }
					}
				} `json:"virtual_hosts"`
			} `json:"route_config"`
		}
	}
	text, err := g.Admin("/config_dump?resource=dynamic_route_configs")
	if err != nil || json.Unmarshal([]byte(text), &dump) != nil {
		t.Fatalf("Envoy's routes: %v", err)
	}
	var timeouts []string
	for _, config := range dump.Configs {
		for _, host := range config.Table.Hosts {
			for _, r := range host.Routes {
				if r.Route.Cluster == g.cluster() {
					timeouts = append(timeouts, r.Route.Timeout)
				}
			}
		}
	}
	if !slices.Equal(timeouts, []string{"0s"}) {
		t.Errorf("routes to %s have the timeouts %q, want one with 0s, which is none", g.cluster(), timeouts)
	}
}
