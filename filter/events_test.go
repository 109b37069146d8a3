package main_test

import (
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
)

// hostStore is the test host's shared data as a journal sees it.
type hostStore struct{ *wazerohost.Host }

func (s hostStore) Get(key string) (value []byte, change uint32, ok bool) { return s.SharedData(key) }

func (s hostStore) Set(string, []byte, uint32) bool { return false }

// completions reads the journal's completions from its beginning.
func (g *gateway) completions() []journal.Event { return g.events(journal.Completion) }

// events reads the journal's events of a kind from its beginning.
func (g *gateway) events(kind journal.Kind) (all []journal.Event) {
	g.t.Helper()
	j, err := journal.New(hostStore{g.host}, journal.Options{Instance: 1})
	if err != nil {
		g.t.Fatal(err)
	}
	j.Poll()
	for e := j.Next(); e != nil; e = j.Next() {
		if e.Kind == kind {
			copied := *e
			copied.Chains, copied.Encode = nil, nil
			all = append(all, copied)
		}
	}
	return all
}

func endpointID(i int) uint64 { return journal.EndpointID(fmt.Sprintf("default/vllm-%d", i)) }

// TestClientsAreNetworks: a client is told from others by its address, of which it cannot choose the port, nor more
// than the first half of an IPv6 address.
func TestClientsAreNetworks(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	g.publish(newPool(0))
	client := func(from string) uint64 {
		headers := wazerohost.Headers{{":path", "/v1/completions"}, {"content-length", fmt.Sprint(len(completion))}}
		s := g.workers[0].requests.Request(headers, false, wazerohost.From(from))
		s.Body([]byte(completion), true)
		s.Finish()
		all := g.completions()
		return all[len(all)-1].Client
	}
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"10.0.0.9:4000", "10.0.0.9:5000", true},
		{"10.0.0.9:4000", "10.0.0.8:4000", false},
		{"[2001:db8:1:2:3::1]:4000", "[2001:db8:1:2:9:8:7:6]:4001", true},
		{"[2001:db8:1:2:3::1]:4000", "[2001:db8:1:3:3::1]:4000", false},
		{"[2001:db8::1]:4000", "[2001:db8::2]:4000", true},
		{"[2001:db8::1]:4000", "[3001:db8::1]:4000", false},
		{"[2001:db8::1]:4000", "[2001:db9::1]:4000", false},
		{"[2001:db8:1:2::1]:4000", "[2001:db8:1:2:3:4:5:6]:4000", true},
		{"[2001:db8:1::1]:4000", "[2001:db8:1:0:a8bb:ccff:fe00:1]:4000", true},
		{"[2001:db8::1:2:3:4]:4000", "[2001:db8:0:0:1::]:4000", true},
		{"[2001:db8::]:4000", "[2001:db8:0:0:1::]:4000", true},
		{"[fd00::1:2:3:4:5]:4000", "[fd00:0:0:1::5]:4000", true},
		{"[fd00::1:2:3:4:5]:4000", "[fd00::2:2:3:4:5]:4000", false},
		{"[::1:2:3:4:5]:4000", "[0:0:0:1::]:4000", true},
		{"[fe80::1%2]:4000", "[fe80::2%3]:4000", true},
	} {
		if a, b := client(test.a), client(test.b); (a == b) != test.same || a == 0 {
			t.Errorf("%s and %s: one client: got %v, want %v", test.a, test.b, a == b, test.same)
		}
	}
}
