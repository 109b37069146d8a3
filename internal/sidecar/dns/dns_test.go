package dns

import (
	"context"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// server is a DNS server whose records tests change.
type server struct {
	mu      sync.Mutex
	records map[string][]dnsmessage.ResourceBody // by name, with the dot at the end
	fails   bool
	failing map[string]bool // the names that alone fail
	looks   int
}

func newServer(t *testing.T) (s *server, address string) {
	t.Helper()
	connection, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	s = &server{records: map[string][]dnsmessage.ResourceBody{}}
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := connection.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer := s.answer(buffer[:n]); answer != nil {
				_, _ = connection.WriteTo(answer, from)
			}
		}
	}()
	return s, connection.LocalAddr().String()
}

func (s *server) set(name string, fails bool, records ...dnsmessage.ResourceBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name], s.fails = records, fails
}

// failFor has the server fail for these names alone.
func (s *server) failFor(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = map[string]bool{}
	for _, name := range names {
		s.failing[name] = true
	}
}

// awaitLooks returns after so many more questions.
func (s *server) awaitLooks(t *testing.T, more int) {
	t.Helper()
	looks := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.looks
	}
	before := looks()
	for deadline := time.Now().Add(time.Minute); looks() < before+more; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: more questions")
		}
	}
}

func (s *server) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	switch bodies, known := s.records[q.Name.String()]; {
	case s.fails || s.failing[q.Name.String()]:
		m.RCode = dnsmessage.RCodeServerFailure
	case !known || len(bodies) == 0:
		m.RCode = dnsmessage.RCodeNameError
	default:
		for _, body := range bodies {
			header := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
			if kind(body) == q.Type {
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: body})
			}
		}
	}
	answer, err := m.Pack()
	if err != nil {
		return nil
	}
	return answer
}

func kind(body dnsmessage.ResourceBody) dnsmessage.Type {
	switch body.(type) {
	case *dnsmessage.AResource:
		return dnsmessage.TypeA
	case *dnsmessage.AAAAResource:
		return dnsmessage.TypeAAAA
	}
	return dnsmessage.TypeSRV
}

func recordA(address string) *dnsmessage.AResource {
	return &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()}
}

func recordAAAA(address string) *dnsmessage.AAAAResource {
	return &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(address).As16()}
}

func srv(target string, port uint16) *dnsmessage.SRVResource {
	return &dnsmessage.SRVResource{Port: port, Target: dnsmessage.MustNewName(target)}
}

func TestRecords(t *testing.T) {
	s, address := newServer(t)
	s.set("vllm.test.", false, recordA("10.0.0.2"), recordA("10.0.0.1"), recordAAAA("fd00::1"))
	s.set("_http._tcp.vllm.test.", false, srv("vllm-1.vllm.test.", 8001), srv("vllm-0.vllm.test.", 8000),
		srv("six.vllm.test.", 8000), srv("gone.vllm.test.", 8000))
	s.set("twice.test.", false, recordA("10.0.0.1"), recordA("10.0.0.1"))
	s.set("_http._tcp.two.test.", false, srv("two.test.", 8000))
	s.set("two.test.", false, recordA("10.0.0.9"), recordA("10.0.0.3"))
	s.set("_http._tcp.twice.test.", false, srv("vllm-0.vllm.test.", 8000), srv("vllm-0.vllm.test.", 8000))
	s.set("vllm-0.vllm.test.", false, recordA("10.0.0.1"))
	s.set("vllm-1.vllm.test.", false, recordA("10.0.0.2"))
	s.set("six.vllm.test.", false, recordAAAA("fd00::6"))
	tests := []struct {
		name string
		pool Pool
		want []string
	}{
		{"A", Pool{Name: "vllm.test.", Type: "A", Port: 8000},
			[]string{"vllm.test/10.0.0.1:8000=10.0.0.1:8000", "vllm.test/10.0.0.2:8000=10.0.0.2:8000"}},
		{"AAAA", Pool{Name: "vllm.test.", Type: "AAAA", Port: 8000},
			[]string{"vllm.test/[fd00::1]:8000=[fd00::1]:8000"}},
		{"SRV", Pool{Name: "_http._tcp.vllm.test.", Type: "SRV"}, []string{
			"six.vllm.test:8000=[fd00::6]:8000", "vllm-0.vllm.test:8000=10.0.0.1:8000",
			"vllm-1.vllm.test:8001=10.0.0.2:8001",
		}},
		{"an address twice", Pool{Name: "twice.test.", Type: "A", Port: 8000},
			[]string{"twice.test/10.0.0.1:8000=10.0.0.1:8000"}},
		{"a target with two addresses, the least", Pool{Name: "_http._tcp.two.test.", Type: "SRV"},
			[]string{"two.test:8000=10.0.0.3:8000"}},
		{"a target twice", Pool{Name: "_http._tcp.twice.test.", Type: "SRV"},
			[]string{"vllm-0.vllm.test:8000=10.0.0.1:8000"}},
		{"no such name", Pool{Name: "none.test.", Type: "A", Port: 8000}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.pool.Server = address
			d := Discovery{test.pool}
			endpoints, err := d.endpoints(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range endpoints {
				got = append(got, e.Name+"="+e.Address)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRun(t *testing.T) {
	s, address := newServer(t)
	const name = "vllm.test."
	s.set(name, false, recordA("10.0.0.1"))
	type told struct {
		part topology.Part
		err  error
	}
	emitted := make(chan told, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	traits := Pool{Name: name, Type: "A", Port: 8000, Interval: 2 * time.Millisecond, Server: address, Engine: "sglang",
		Models: []string{"m"}}
	go func() {
		defer close(done)
		(&Discovery{traits}).Run(ctx, func(part topology.Part, err error) { emitted <- told{part, err} })
	}()
	next := func(what string) told {
		t.Helper()
		select {
		case got := <-emitted:
			return got
		case <-time.After(30 * time.Second):
			t.Fatalf("waited in vain: %s", what)
		}
		panic("unreachable")
	}
	got := next("the first records")
	want := []topology.Endpoint{
		{Endpoint: snapshot.Endpoint{Name: "vllm.test/10.0.0.1:8000", Address: "10.0.0.1:8000", Engine: "sglang",
			Models: []string{"m"}}, Pool: "vllm.test"}}
	if got.err != nil || !reflect.DeepEqual(got.part.Endpoints, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.awaitLooks(t, 5)
	if len(emitted) != 0 {
		t.Errorf("got %d more calls without a change, want none", len(emitted))
	}
	s.set(name, true)
	s.awaitLooks(t, 10) // several looks that fail are told once
	if got := next("a failing server"); got.err == nil || !strings.Contains(got.err.Error(), "vllm.test. on "+address) {
		t.Errorf("got %+v, want an error with the name and the server %s", got, address)
	}
	s.set(name, false, recordA("10.0.0.1"))
	if got := next("the records of before"); got.err != nil || !reflect.DeepEqual(got.part.Endpoints, want) {
		t.Errorf("after the failure: got %+v, want %+v again", got, want)
	}
	s.set(name, false, recordA("10.0.0.2"))
	if got := next("other records"); got.err != nil || got.part.Endpoints[0].Address != "10.0.0.2:8000" {
		t.Errorf("got %+v, want 10.0.0.2:8000", got)
	}
	s.set(name, false)
	if got := next("no records"); got.err != nil || len(got.part.Endpoints) != 0 ||
		!reflect.DeepEqual(got.part.Pools, []string{"vllm.test"}) {
		t.Errorf("got %+v, want the pool without endpoints, and no error", got)
	}
	cancel()
	<-done
	if len(emitted) != 0 {
		t.Errorf("got %d more calls, want one for each change", len(emitted))
	}
}
