package kvevents

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/kvpub"
)

// TestFollow goes through what can happen to engines that offer replay.
func TestFollow(t *testing.T) {
	f := newFleet(t, nil, "a", "b")
	a, b := f.servers[0], f.servers[1]
	a.publishes(t, nil)
	b.publishes(t, func(o *kvpub.Options) { o.ShortReplay = true })
	b.form = kvpub.Arrays
	for range 5 {
		a.does(10)
	}
	f.run()
	f.agrees("what was before is asked for", a)
	f.wait("two subscribers", func() bool { return a.publisher.Joined() == 1 && b.publisher.Joined() == 1 })
	b.does(30)
	a.does(30)
	f.agrees("what happens is heard", a, b)
	a.publisher.Lose(3, false)
	for range 4 {
		a.does(10)
	}
	f.agrees("what was lost is asked for again", a, b)
	if c := f.count(a); c.forgotten.Load() != 0 || c.mended.Load() != 1 {
		t.Errorf("got %d gaps forgotten, %d mended", c.forgotten.Load(), c.mended.Load())
	}
	a.publisher.Lose(1, false)
	a.does(10)
	f.agrees("what was lost before silence is asked for, too", a, b)
	if c := f.count(a); c.forgotten.Load() != 0 || c.mended.Load() != 2 {
		t.Errorf("got %d gaps forgotten, %d mended", c.forgotten.Load(), c.mended.Load())
	}
	b.publisher.Publish([]byte("garbage"))
	b.publisher.Publish(append(kvpub.AppendBatch(nil, kvpub.Arrays, 1, 0, nil), "behind"...))
	b.does(20)
	f.agrees("garbage is passed over", a, b)
	if c := f.count(b); c.malformed.Load() != 1 {
		t.Errorf("got %d malformed batches, want 1", c.malformed.Load())
	}
	a.publisher.Restart()
	clear(a.blocks)
	f.agrees("a restarted engine has nothing", a, b)
	f.wait("a subscriber again", func() bool { return a.publisher.Joined() == 2 })
	for range 30 {
		a.does(5)
	}
	f.agrees("and is followed anew", a, b)
	f.are(b)
	f.agrees("an endpoint that left has nothing", b)
	f.are(a, b)
	f.agrees("and all again when it is back", a, b)
	b.publisher.Close()
	f.agrees("a publisher that is gone has nothing", a)
}

// TestSlowJoiner: what an engine publishes between the replay and its heeding the subscription is not lost, whether
// something comes behind it or not, and whether something was known before or not.
func TestSlowJoiner(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after int // batches
	}{
		{"nothing behind", 0, 0},
		{"something behind", 0, 1},
		{"something before", 2, 0},
		{"something before and behind", 2, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFleet(t, nil, "a")
			a := f.servers[0]
			a.publishes(t, nil)
			for range tc.before {
				a.does(10)
			}
			heed := a.publisher.Deafen()
			f.run()
			f.wait("the replay", func() bool { return strings.Contains(f.log.String(), "listening to KV events") })
			a.does(10)
			heed()
			f.wait("a subscriber", func() bool { return a.publisher.Subscribers() == 1 })
			for range tc.after {
				a.does(10)
			}
			f.agrees("all", a)
		})
	}
}

// TestLostForEver: when an engine does not have any more what was lost, only what came later counts.
func TestLostForEver(t *testing.T) {
	for _, replays := range []bool{true, false} {
		t.Run(fmt.Sprint("with replay ", replays), func(t *testing.T) {
			f := newFleet(t, nil, "a")
			a := f.servers[0]
			a.publishes(t, func(o *kvpub.Options) {
				if !replays {
					o.Replay = ""
				}
			})
			f.run()
			f.wait("a subscriber", func() bool { return a.publisher.Subscribers() > 0 })
			a.does(30)
			f.agrees("before", a)
			a.publisher.Lose(2, true)
			a.does(5)
			a.does(5)
			// What is stored from now on is known; nobody can say what else is there.
			clear(a.blocks)
			a.events = []kvpub.Event{{Kind: "AllBlocksCleared"}}
			a.does(10)
			f.agrees("behind the gap", a)
			if c := f.count(a); c.forgotten.Load() != 1 || c.mended.Load() != 0 {
				t.Errorf("got %d gaps forgotten, %d mended", c.forgotten.Load(), c.mended.Load())
			}
			a.publisher.Lose(1, true)
			a.does(5)
			a.publisher.Publish(kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, nil))
			f.wait("all to be forgotten", func() bool { return f.subscriber.Index.Stats().Entries == 0 })
		})
	}
}

// TestRestartWithoutReplay: numbers that begin anew are those of another engine.
func TestRestartWithoutReplay(t *testing.T) {
	f := newFleet(t, nil, "a")
	a := f.servers[0]
	a.publishes(t, func(o *kvpub.Options) { o.Replay = "" })
	f.run()
	f.wait("a subscriber", func() bool { return a.publisher.Subscribers() == 1 })
	for range 5 {
		a.does(10)
	}
	f.agrees("before", a)
	a.publisher.Restart()
	clear(a.blocks)
	f.wait("a subscriber again", func() bool { return a.publisher.Joined() == 2 })
	a.does(3)
	f.agrees("the new engine's blocks alone", a)
}

// TestTopics: a publisher that says it is another endpoint is not believed, and one whose topic is not asked for is not
// heard.
func TestTopics(t *testing.T) {
	f := newFleet(t, nil, "a", "b", "c")
	a, b, c := f.servers[0], f.servers[1], f.servers[2]
	a.publishes(t, func(o *kvpub.Options) { o.Topic = "kv@" + b.address + "@m" })
	b.publishes(t, nil)
	c.publishes(t, func(o *kvpub.Options) { o.Topic, o.Replay = "other", "" })
	f.run()
	for _, s := range f.servers {
		f.wait("a subscriber", func() bool { return s.publisher.Subscribers() == 1 })
		s.does(10)
	}
	f.agrees("the honest one alone", b)
	f.wait("the reason", func() bool {
		all := f.subscriber.Now()
		return len(all) == 3 && strings.Contains(all[0].Failure, "which is another endpoint")
	})
}

// TestConnecting: engines that connect to the sidecar are known by their topics, and need not be reached where the
// sidecar looks for them besides.
func TestConnecting(t *testing.T) {
	for _, looks := range []bool{false, true} {
		t.Run(fmt.Sprintf("discoverPods %v", looks), func(t *testing.T) { connecting(t, looks) })
	}
}

func connecting(t *testing.T, looks bool) {
	const nobody = 1 // no port that anybody listens on
	f := newFleet(t, func(c *Config) {
		c.ZMQEndpoint, c.DiscoverPods, c.SocketPort = "tcp://127.0.0.1:0", looks, nobody
	}, "a", "b")
	a, b := f.servers[0], f.servers[1]
	listens := f.subscriber.listener.Addr().String()
	connects := func(o *kvpub.Options) { o.Listen, o.Replay, o.Connect = "", "", listens }
	a.publishes(t, connects)
	b.publishes(t, connects)
	f.run()
	f.wait("both", func() bool { return a.publisher.Subscribers() == 1 && b.publisher.Subscribers() == 1 })
	for range 5 {
		a.does(10)
		b.does(10)
	}
	f.agrees("both are heard", a, b)
	if all := f.subscriber.Now(); len(all) != 2 || !all[0].Connected || !all[1].Connected {
		t.Errorf("got %+v, want both, connected", all)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(f.subscriber)
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
	a.publisher.Restart()
	f.agrees("one whose connection ended is forgotten", b)
	clear(a.blocks)
	f.wait("it again", func() bool { return a.publisher.Joined() == 2 })
	a.does(10)
	f.agrees("and heard again", a, b)
	f.are(a)
	f.agrees("the other one left", a)
	stranger, err := kvpub.New(kvpub.Options{Connect: listens, Topic: "kv@10.1.2.3:8000@m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stranger.Close)
	f.wait("a stranger", func() bool { return stranger.Subscribers() == 1 })
	stranger.Publish(kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, nil))
	f.wait("it to be refused", func() bool { return stranger.Joined() > 1 })
}

// TestNamespace: of other namespaces no endpoint is asked for its events, and one that connects by itself is heard.
func TestNamespace(t *testing.T) {
	f := newFleet(t, func(c *Config) {
		c.ZMQEndpoint, c.PodNamespace = "tcp://127.0.0.1:0", "ours"
	}, "ours/a", "theirs/b", "theirs/c")
	a, b, c := f.servers[0], f.servers[1], f.servers[2]
	a.publishes(t, nil)
	var asked atomic.Int64
	b.http.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	})
	f.run()
	f.wait("the endpoints", func() bool {
		f.subscriber.mu.Lock()
		defer f.subscriber.mu.Unlock()
		return f.subscriber.followed[a.name] != nil
	})
	c.connects(t, f)
	for _, s := range []*server{a, c} {
		f.wait("a subscriber", func() bool { return s.publisher.Subscribers() == 1 })
		s.does(10)
	}
	f.agrees("what is asked for and who connects", a, c)
	f.are(a)
	f.agrees("who connected has left", a)
	if n := asked.Load(); n != 0 {
		t.Errorf("an endpoint of another namespace was asked %d times, want never", n)
	}
}

// TestSources: what an engine says of its publishers is at its own address, whatever it says.
func TestSources(t *testing.T) {
	c := Config{SocketPort: 5557, ReplaySocketPort: 5600}
	address := addressOf(t, "10.0.0.7:8000")
	page := `{"0":{"publisher":"zmq","endpoint":"tcp://*:20101","replay_endpoint":"tcp://127.0.0.1:20111","topic":"x"},
		"1":{"publisher":"zmq","endpoint":"tcp://10.9.9.9:20102"},"2":{"publisher":"null","endpoint":"tcp://*:1"},
		"3":{"publisher":"zmq","endpoint":"tcp://*:0"},"x":{"publisher":"zmq","endpoint":"tcp://*:1"},
		"900":{"publisher":"zmq","endpoint":"tcp://*:1"},"5":{"publisher":"zmq","endpoint":"ipc://x"}}`
	got, err := readSources([]byte(page), address)
	if want := (source{"10.0.0.7:20101", "10.0.0.7:20111"}); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := readSources([]byte("[]"), address); err == nil {
		t.Error("a list is no mistake")
	}
	if got := c.configured(2, address); got != (source{"10.0.0.7:5559", "10.0.0.7:5602"}) {
		t.Errorf("got %v for the third rank", got)
	}
}

func TestModels(t *testing.T) {
	page := `{"data":[{"id":"m"},{"id":"alias","parent":null},{"id":"a1","parent":"m"},{"id":""}]}`
	if got := strings.Join(readModels([]byte(page)), " "); got != "m alias" {
		t.Errorf("got %q, want the base models", got)
	}
	if got := readModels([]byte("<html>")); got != nil {
		t.Errorf("got %q of no list", got)
	}
}

func TestConfigMistakes(t *testing.T) {
	good := Config{Concurrency: 4, SocketPort: 5557}
	for _, tc := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.SocketPort, c.ReplaySocketPort, c.Concurrency = 65535, 65535, 1024 }, ""},
		{func(c *Config) { c.SocketPort, c.ReplaySocketPort, c.Concurrency = 1, 0, 1 }, ""},
		{func(c *Config) { c.SocketPort = 65536 },
			"podDiscoveryConfig.socketPort: 65536 is no port; 1 to 65535 is right"},
		{func(c *Config) { c.ReplaySocketPort = -1 },
			"podDiscoveryConfig.replaySocketPort: -1 is no port; 0 to 65535 is right"},
		{func(c *Config) { c.Concurrency = 1025 }, "concurrency: 1025 is out of range; 1 to 1024 is right"},
		{func(c *Config) { c.SocketPort = 0 }, "podDiscoveryConfig.socketPort: 0"},
		{func(c *Config) { c.ReplaySocketPort = 70000 }, "podDiscoveryConfig.replaySocketPort: 70000"},
		{func(c *Config) { c.Concurrency = 0 }, "concurrency: 0"},
		{func(c *Config) { c.ZMQEndpoint = "ipc://x" }, `zmqEndpoint: "ipc://x"`},
		{func(c *Config) { c.ZMQEndpoint = "tcp://x" }, `zmqEndpoint: "tcp://x"`},
		{func(c *Config) { c.ZMQEndpoint = "tcp://indexer:5557" }, ""},
	} {
		c := good
		tc.change(&c)
		err := c.Check()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
	for endpoint, want := range map[string]string{"tcp://*:5557": ":5557", "tcp://indexer:1": ":1",
		"tcp://127.0.0.1:9": "127.0.0.1:9", "tcp://[::1]:9": "[::1]:9"} {
		if got, err := listenAddress(endpoint); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", endpoint, got, err, want)
		}
	}
}
