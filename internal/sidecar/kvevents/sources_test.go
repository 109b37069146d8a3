package kvevents

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// TestServerInfo reads what SGLang says of where it publishes.
func TestServerInfo(t *testing.T) {
	for _, tc := range []struct {
		name, page string
		replay     int
		want       map[int]source
	}{
		{"one rank", `{"tp_size": 4, "kv_events": {"publisher": "zmq", "endpoint_host": "*", "endpoint_port_base": 5557,
			"topic": "", "block_size": 64, "dp_size": 1}}`, 0, map[int]source{0: {address: "10.1.2.3:5557"}}},
		{"several, with replay", `{"kv_events": {"publisher": "zmq", "endpoint_host": "0.0.0.0", "dp_size": 2,
			"endpoint_port_base": 5557, "replay_endpoint_port_base": 6557, "load_endpoint_port_base": 5559}}`, 1,
			map[int]source{0: {"10.1.2.3:5557", "10.1.2.3:6557"}, 1: {"10.1.2.3:5558", "10.1.2.3:6558"}}},
		{"by IPv6", `{"kv_events": {"publisher": "zmq", "endpoint_host": "[::]", "endpoint_port_base": 1,
			"dp_size": 1}}`, 0, map[int]source{0: {address: "10.1.2.3:1"}}},
		{"ports that end", `{"kv_events": {"publisher": "zmq", "endpoint_host": "*", "endpoint_port_base": 65535,
			"dp_size": 9}}`, 0, map[int]source{0: {address: "10.1.2.3:65535"}}},
		{"replay's ports that end", `{"kv_events": {"publisher": "zmq", "endpoint_host": "*", "endpoint_port_base": 7,
			"replay_endpoint_port_base": 65535, "dp_size": 2}}`, 0,
			map[int]source{0: {"10.1.2.3:7", "10.1.2.3:65535"}, 1: {address: "10.1.2.3:8"}}},
		{"it connects by itself", `{"kv_events": {"publisher": "zmq", "endpoint_host": "10.9.9.9",
			"endpoint_port_base": 5557, "dp_size": 1}}`, 0, nil},
		{"it binds a host", `{"kv_events_config": "{\"publisher\":\"zmq\",\"endpoint\":\"tcp://10.9.9.9:5557\",\"bind\":true}",
			"kv_events": {"publisher": "zmq", "endpoint_host": "10.9.9.9", "endpoint_port_base": 5557, "dp_size": 1}}`, 0,
			map[int]source{0: {address: "10.1.2.3:5557"}}},
		{"it is told to connect", `{"kv_events_config": "{\"bind\":false}", "kv_events": {"publisher": "zmq",
			"endpoint_host": "10.9.9.9", "endpoint_port_base": 5557, "dp_size": 1}}`, 0, nil},
		{"no port", `{"kv_events": {"publisher": "zmq", "endpoint_host": "*", "dp_size": 1}}`, 0, nil},
		{"it publishes nothing", `{"kv_events": null}`, 0, nil},
		{"another engine's", `{"vllm_config": "x"}`, 0, nil},
		{"no object", `"kv_events"`, 0, nil},
		{"replay as configured", `{"kv_events": {"publisher": "zmq", "endpoint_host": "*", "endpoint_port_base": 5557,
			"dp_size": 2}}`, 6557,
			map[int]source{0: {"10.1.2.3:5557", "10.1.2.3:6557"}, 1: {"10.1.2.3:5558", "10.1.2.3:6558"}}},
	} {
		got := readServerInfo([]byte(tc.page), netip.MustParseAddrPort("10.1.2.3:8000"), tc.replay)
		if !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestSourcesOfOneThatSaysNothing: an engine that has no page of where it publishes does where the configuration says;
// one that cannot say so now may have it, and is asked again.
func TestSourcesOfOneThatSaysNothing(t *testing.T) {
	const yes = http.StatusOK
	for _, tc := range []struct {
		name             string
		sources, servers int // the statuses of vLLM's and SGLang's page
		configured       bool
	}{
		{"neither page", http.StatusNotFound, http.StatusNotFound, true},
		{"another page", yes, yes, true},
		{"a key is wanted", http.StatusUnauthorized, http.StatusForbidden, true},
		{"a page that it fails to make", http.StatusNotFound, http.StatusInternalServerError, true},
		{"vLLM not now", http.StatusServiceUnavailable, http.StatusNotFound, false},
		{"SGLang not now", http.StatusNotFound, http.StatusServiceUnavailable, false},
		{"a proxy without vLLM", http.StatusBadGateway, http.StatusNotFound, false},
		{"a proxy with a slow one", http.StatusGatewayTimeout, http.StatusNotFound, false},
	} {
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(map[string]int{sourcesPath: tc.sources, serverInfoPath: tc.servers}[r.URL.Path])
			_, _ = w.Write([]byte("{}"))
		}))
		target := &pool.Target{Name: "a", Address: engine.Listener.Addr().String()}
		s := &Subscriber{Config: Config{SocketPort: 5557}}
		s.addresses.Store(&map[string]string{target.Address: target.Name})
		var want map[int]source
		if tc.configured {
			want = map[int]source{0: {address: "127.0.0.1:5557"}}
		}
		if got := s.sources(t.Context(), target); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, want)
		}
		engine.Close()
	}
}

// TestRanksOfSGLang: each rank that SGLang says it has is listened to.
func TestRanksOfSGLang(t *testing.T) {
	f := newFleet(t, nil, "a")
	first, second := adjacent(t)
	_, text, _ := net.SplitHostPort(first.Address())
	f.servers[0].http.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != serverInfoPath {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"kv_events":{"publisher":"zmq","endpoint_host":"*","endpoint_port_base":%s,"dp_size":2}}`, text)
	})
	f.run()
	f.wait("two subscribers", func() bool { return first.Joined() == 1 && second.Joined() == 1 })
	stored := kvpub.Event{Kind: "BlockStored", Hashes: []uint64{1}, Tokens: []uint32{1, 2}, BlockTokens: 2}
	first.Publish(kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{stored}))
	second.Publish(kvpub.AppendBatch(nil, kvpub.Maps, 1, 1, []kvpub.Event{stored}))
	f.wait("what both ranks say", func() bool {
		all := f.subscriber.Now()
		return len(all) == 2 && all[0].Rank == 0 && all[0].Stored == 1 && all[1].Rank == 1 && all[1].Stored == 1
	})
}

// TestFewerRanks: ranks that an engine has no more, as it was started anew with fewer, are looked for no longer, but
// for one that is still heard, and nobody is told that they are gone.
func TestFewerRanks(t *testing.T) {
	f := newFleet(t, nil, "a")
	var publishers [3]*kvpub.Publisher
	for rank := range publishers {
		publisher, err := kvpub.New(kvpub.Options{Listen: "127.0.0.1:0", Topic: "kv@@m"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(publisher.Close)
		publishers[rank] = publisher
	}
	var fewer atomic.Bool
	f.servers[0].http.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := map[string]map[string]string{}
		if !fewer.Load() { // one that cannot be reached has it asked again soon
			all["9"] = map[string]string{"publisher": "zmq", "endpoint": "tcp://*:1"}
		}
		for rank, publisher := range publishers {
			if rank == 0 || !fewer.Load() {
				all[strconv.Itoa(rank)] = map[string]string{"publisher": "zmq",
					"endpoint": "tcp://*:" + portOf(publisher.Address())}
			}
		}
		_ = json.NewEncoder(w).Encode(all)
	})
	f.run()
	stored := kvpub.Event{Kind: "BlockStored", Hashes: []uint64{1}, Tokens: []uint32{1, 2}, BlockTokens: 2}
	for rank, publisher := range publishers {
		f.wait("a subscriber", func() bool { return publisher.Subscribers() == 1 })
		publisher.Publish(kvpub.AppendBatch(nil, kvpub.Maps, 1, rank, []kvpub.Event{stored}))
	}
	f.wait("what all ranks say", func() bool { return f.subscriber.Index.Stats().Entries == 3 })
	fewer.Store(true)
	publishers[2].Close()
	f.wait("the rank that is gone to be looked for no longer", func() bool {
		all := f.subscriber.Now()
		return len(all) == 2 && all[0].Connected && all[1].Connected && all[1].Rank == 1
	})
	f.wait("its blocks to be forgotten", func() bool { return f.subscriber.Index.Stats().Entries == 2 })
}

// TestAskedEverLess: an engine that answers, and that nobody can listen to where it says, is asked less and less
// often: it may publish nothing, or connect by itself. One that does not answer may be back at any moment.
func TestAskedEverLess(t *testing.T) {
	sub := &subscription{stream: stream{counts: &counts{}}}
	f := &follower{ranks: map[int]*subscription{0: sub}}
	const s = time.Second
	for i, step := range []struct {
		answers, connected bool
		want               time.Duration
	}{
		{false, false, s}, {false, false, s}, {true, false, s}, {true, false, 2 * s}, {true, false, 4 * s},
		{false, false, s}, {true, false, s}, {true, false, 2 * s}, {true, true, 30 * s}, {true, false, s},
		{true, false, 2 * s}, {true, false, 4 * s}, {true, false, 8 * s}, {true, false, 16 * s}, {true, false, 30 * s},
		{true, false, 30 * s}, {false, true, 30 * s},
	} {
		sub.status.Connected = step.connected
		if got := f.period(step.answers); got != step.want {
			t.Errorf("step %d, answers %v, connected %v: asked again after %v, want %v", i, step.answers,
				step.connected,
				got, step.want)
		}
	}
}

// adjacent has two publishers listen at ports of which one follows the other.
func adjacent(t *testing.T) (first, second *kvpub.Publisher) {
	t.Helper()
	for range 100 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := listener.Addr().(*net.TCPAddr).Port
		listener.Close()
		at := func(port int) kvpub.Options {
			return kvpub.Options{Listen: "127.0.0.1:" + strconv.Itoa(port), Topic: "kv@@m"}
		}
		if first, err = kvpub.New(at(port)); err != nil {
			continue
		}
		if second, err = kvpub.New(at(port + 1)); err != nil {
			first.Close()
			continue
		}
		t.Cleanup(first.Close)
		t.Cleanup(second.Close)
		return first, second
	}
	t.Fatal("no two adjacent ports are free")
	return nil, nil
}

// FuzzServerInfo: whatever an engine says there, the sidecar is sent to no other host.
func FuzzServerInfo(f *testing.F) {
	for _, page := range []string{
		`{"kv_events": {"publisher": "zmq", "endpoint_host": "*", "endpoint_port_base": 65530, "dp_size": 1000000000,
			"replay_endpoint_port_base": -1}}`,
		`{"kv_events": {"publisher": "zmq", "endpoint_host": "evil.example", "endpoint_port_base": 80, "dp_size": 1}}`,
		`{"kv_events": {"dp_size": -1}}`, `{"kv_events": []}`, `null`, ``,
	} {
		f.Add([]byte(page))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		onlyThere(t, page, readServerInfo(page, netip.MustParseAddrPort("10.1.2.3:8000"), 0))
	})
}

// onlyThere holds what was read of a page against the endpoint that has it.
func onlyThere(t *testing.T, page []byte, all map[int]source) {
	t.Helper()
	for rank, s := range all {
		if rank < 0 || rank >= maxRanks {
			t.Errorf("rank %d of %q", rank, page)
		}
		for _, address := range []string{s.address, s.replay} {
			host, port, err := net.SplitHostPort(address)
			if address != "" && (err != nil || host != "10.1.2.3" || port == "0") {
				t.Errorf("rank %d of %q is read at %q, want 10.1.2.3", rank, page, address)
			}
		}
	}
}

// FuzzSources: whatever an engine says of where it publishes, the sidecar is sent to no other host.
func FuzzSources(f *testing.F) {
	for _, page := range []string{
		`{"0": {"publisher": "zmq", "endpoint": "tcp://*:5557", "replay_endpoint": "tcp://*:5558"}}`,
		`{"1": {"publisher": "zmq", "endpoint": "tcp://[::]:1", "replay_endpoint": "tcp://10.0.0.9:2"}}`,
		`{"-1": {"publisher": "zmq", "endpoint": "tcp://*:5557"}, "9999999": {"publisher": "zmq"}, "x": {}}`,
		`{"0": {"publisher": "zmq", "endpoint": "tcp://evil.example:80"}}`, `[]`, `null`, ``,
	} {
		f.Add([]byte(page))
	}
	endpoint := netip.MustParseAddrPort("10.1.2.3:8000")
	f.Fuzz(func(t *testing.T, page []byte) {
		all, err := readSources(page, endpoint)
		if err != nil {
			return
		}
		onlyThere(t, page, all)
	})
}
