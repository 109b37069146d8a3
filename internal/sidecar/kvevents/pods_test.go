package kvevents

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// TestRanksOfAPod: where each rank of a pod is an endpoint with a port of its own, all have the topic of the first
// one, as an engine has one for all its ranks. Each rank's blocks are its own endpoint's, whoever connects.
func TestRanksOfAPod(t *testing.T) {
	for _, tc := range []struct {
		name     string
		connects bool
	}{{"the sidecar connects", false}, {"they connect by themselves", true}} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFleet(t, func(c *Config) {
				if tc.connects {
					c.ZMQEndpoint, c.DiscoverPods = "tcp://127.0.0.1:0", false
				}
			}, "ns/pod-rank-0", "ns/pod-rank-1")
			for _, s := range f.servers {
				s.publishes(t, func(o *kvpub.Options) {
					if o.Topic = "kv@" + f.servers[0].address + "@m"; tc.connects {
						o.Listen, o.Replay, o.Connect = "", "", f.subscriber.listener.Addr().String()
					}
				})
			}
			f.run()
			for rank, s := range f.servers {
				f.wait("the endpoint and a subscriber", func() bool {
					f.subscriber.mu.Lock()
					defer f.subscriber.mu.Unlock()
					return len(f.subscriber.followed) == len(f.servers) && s.publisher.Subscribers() == 1
				})
				for range 10 {
					s.step()
				}
				s.publisher.Publish(kvpub.AppendBatch(nil, s.form, 1, rank, s.events))
				s.events = nil
			}
			f.agrees("each endpoint has its own rank's blocks", f.servers...)
		})
	}
}

// TestOwnRank: of the ranks that an engine says it has an endpoint has one where its pod has a port for each of them.
func TestOwnRank(t *testing.T) {
	s := &Subscriber{}
	s.addresses.Store(&map[string]string{"10.0.0.1:8000": "ns/pod-rank-0", "10.0.0.1:8001": "ns/pod-rank-1",
		"10.0.0.2:8000": "ns/one", "10.0.0.3:8000": "ns/set-rank-0", "10.0.0.4:8000": "ns/set-rank-1",
		"10.0.0.2:8001": "ns/another"})
	first, second := source{address: "10.0.0.1:5557"}, source{address: "10.0.0.1:5558"}
	both := map[int]source{0: first, 1: second}
	for _, tc := range []struct {
		name, endpoint, address string
		said, want              map[int]source
	}{
		{"the first port", "ns/pod-rank-0", "10.0.0.1:8000", both, map[int]source{0: first}},
		{"the second port", "ns/pod-rank-1", "10.0.0.1:8001", both, map[int]source{0: second}},
		{"a port of which nothing is said", "ns/pod-rank-1", "10.0.0.1:8001", map[int]source{0: first},
			map[int]source{0: first}},
		{"one port", "ns/one", "10.0.0.2:8000", both, both},
		{"a pod of such a name", "ns/set-rank-1", "10.0.0.4:8000", both, both},
	} {
		got := s.own(&pool.Target{Name: tc.endpoint, Address: tc.address}, tc.said)
		if !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestOffset: the ports of a pod's ranks follow each other, those of pods that are called as ranks are do not.
func TestOffset(t *testing.T) {
	s := &Subscriber{}
	s.addresses.Store(&map[string]string{"10.0.0.1:8000": "ns/pod-rank-0", "10.0.0.1:8001": "ns/pod-rank-1",
		"10.0.0.2:8001": "ns/half-rank-1", "10.0.0.3:8000": "ns/set-rank-0", "10.0.0.4:8000": "ns/set-rank-1",
		"10.0.0.5:8000": "ns/mix-rank-0", "10.0.0.6:8001": "ns/mix-rank-1", "10.0.0.6:8002": "ns/mix-rank-2",
		"10.0.0.7:8000": "ns/one"})
	for _, tc := range []struct {
		name, endpoint, address string
		want                    int
	}{
		{"the first port", "ns/pod-rank-0", "10.0.0.1:8000", 0},
		{"the second port", "ns/pod-rank-1", "10.0.0.1:8001", 1},
		{"the second port alone", "ns/half-rank-1", "10.0.0.2:8001", 1},
		{"a pod of such a name", "ns/set-rank-1", "10.0.0.4:8000", 0},
		{"a port of a pod, and a pod of such a name", "ns/mix-rank-2", "10.0.0.6:8002", 2},
		{"one port", "ns/one", "10.0.0.7:8000", 0},
	} {
		if got := s.offset(&pool.Target{Name: tc.endpoint, Address: tc.address}); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestRanksOfSilence: an engine that says nothing of its ranks, as one that starts, still has those that it had.
func TestRanksOfSilence(t *testing.T) {
	sub, _ := newReplayed(t, nil)
	sub.dial = func(context.Context, string, string, zmtp.Limits) (*zmtp.Conn, error) {
		return nil, errors.New("nobody is there")
	}
	sub.start(t.Context(), &sync.WaitGroup{})
	f := &follower{ranks: map[int]*subscription{1: sub}}
	for _, tc := range []struct {
		name string
		said map[int]source
		want int
	}{{"nothing", nil, 1}, {"of this one", map[int]source{1: {}}, 1}, {"of another one", map[int]source{0: {}}, 0}} {
		if f.cut(t.Context(), tc.said); len(f.ranks) != tc.want {
			t.Errorf("it says %s: got %d ranks, want %d", tc.name, len(f.ranks), tc.want)
		}
	}
}

// TestRankOf: a rank is another endpoint where that is of the same pod, and the topic is that of the pod's first port.
func TestRankOf(t *testing.T) {
	l := &listener{Subscriber: &Subscriber{followed: map[string]*follower{}}}
	for name, address := range map[string]string{"ns/pod-rank-0": "10.0.0.1:8000", "ns/pod-rank-1": "10.0.0.1:8001",
		"ns/pod-rank-2": "10.0.0.1:8002", "ns/one": "10.0.0.2:8000", "ns/set-rank-0": "10.0.0.3:8000",
		"ns/set-rank-1": "10.0.0.4:8000"} {
		l.followed[name] = &follower{target: &pool.Target{Name: name, Address: address}}
	}
	for _, tc := range []struct {
		name, said string
		rank       int
		want       kvindex.Publisher
	}{
		{"the first", "ns/pod-rank-0", 0, kvindex.Publisher{Endpoint: "ns/pod-rank-0"}},
		{"another one", "ns/pod-rank-0", 2, kvindex.Publisher{Endpoint: "ns/pod-rank-2"}},
		{"one without a port", "ns/pod-rank-0", 3, kvindex.Publisher{Endpoint: "ns/pod-rank-0", Rank: 3}},
		{"one behind a port of its own", "ns/pod-rank-1", 2, kvindex.Publisher{Endpoint: "ns/pod-rank-1", Rank: 2}},
		{"one of a pod with one port", "ns/one", 1, kvindex.Publisher{Endpoint: "ns/one", Rank: 1}},
		{"one beside a pod of such a name", "ns/set-rank-0", 1, kvindex.Publisher{Endpoint: "ns/set-rank-0", Rank: 1}},
	} {
		at := addressOf(t, l.followed[tc.said].target.Address).Addr()
		if got := l.rankOf(tc.said, tc.rank, at); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
