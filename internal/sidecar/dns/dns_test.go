package dns

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/pintle-dev/pintle/internal/sidecar/dns/dnstest"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// awaitLooks returns after so many more questions.
func awaitLooks(t *testing.T, s *dnstest.Server, more int) {
	t.Helper()
	before := s.Looks()
	for deadline := time.Now().Add(time.Minute); s.Looks() < before+more; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: more questions")
		}
	}
}

func recordAAAA(address string) *dnsmessage.AAAAResource {
	return &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(address).As16()}
}

func srv(target string, port uint16) *dnsmessage.SRVResource {
	return &dnsmessage.SRVResource{Port: port, Target: dnsmessage.MustNewName(target)}
}

func TestRecords(t *testing.T) {
	s := dnstest.New(t)
	s.Set("vllm.test.", false, dnstest.A("10.0.0.2"), dnstest.A("10.0.0.1"), recordAAAA("fd00::1"))
	s.Set("_http._tcp.vllm.test.", false, srv("vllm-1.vllm.test.", 8001), srv("vllm-0.vllm.test.", 8000),
		srv("six.vllm.test.", 8000), srv("gone.vllm.test.", 8000))
	s.Set("twice.test.", false, dnstest.A("10.0.0.1"), dnstest.A("10.0.0.1"))
	s.Set("_http._tcp.two.test.", false, srv("two.test.", 8000))
	s.Set("two.test.", false, dnstest.A("10.0.0.9"), dnstest.A("10.0.0.3"))
	s.Set("_http._tcp.twice.test.", false, srv("vllm-0.vllm.test.", 8000), srv("vllm-0.vllm.test.", 8000))
	s.Set("vllm-0.vllm.test.", false, dnstest.A("10.0.0.1"))
	s.Set("vllm-1.vllm.test.", false, dnstest.A("10.0.0.2"))
	s.Set("six.vllm.test.", false, recordAAAA("fd00::6"))
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
			test.pool.Server = s.Address
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

// TestSlowServer: the targets of SRV records are looked up together. One after another they would not be known before
// the look is over, if there are many, or the server is slow: these take longer than within.
func TestSlowServer(t *testing.T) {
	const targets, delay, within = 20, 400 * time.Millisecond, 5 * time.Second
	s := dnstest.New(t)
	s.Delay(delay)
	var records []dnsmessage.ResourceBody
	for i := range targets {
		target := fmt.Sprintf("vllm-%d.test.", i)
		records = append(records, srv(target, 8000))
		s.Set(target, false, dnstest.A("10.0.0.1"))
	}
	s.Set("all.test.", false, records...)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	d := Discovery{Pool{Name: "all.test.", Type: "SRV", Server: s.Address}}
	if endpoints, err := d.endpoints(ctx); err != nil || len(endpoints) != targets {
		t.Errorf("got %d endpoints, %v, want %d within %v", len(endpoints), err, targets, within)
	}
}

func TestRun(t *testing.T) {
	s := dnstest.New(t)
	const name = "vllm.test."
	s.Set(name, false, dnstest.A("10.0.0.1"))
	type told struct {
		part topology.Part
		err  error
	}
	emitted := make(chan told, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	traits := Pool{Name: name, Type: "A", Port: 8000, Interval: 2 * time.Millisecond, Server: s.Address,
		Engine: "sglang", Models: []string{"m"}}
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
	awaitLooks(t, s, 5)
	if len(emitted) != 0 {
		t.Errorf("got %d more calls without a change, want none", len(emitted))
	}
	s.Set(name, true)
	awaitLooks(t, s, 10) // several looks that fail are told once
	asked := "vllm.test. on " + s.Address
	if got := next("a failing server"); got.err == nil || !strings.Contains(got.err.Error(), asked) {
		t.Errorf("got %+v, want an error with the name and the server, %s", got, asked)
	}
	s.Set(name, false, dnstest.A("10.0.0.1"))
	if got := next("the records of before"); got.err != nil || !reflect.DeepEqual(got.part.Endpoints, want) {
		t.Errorf("after the failure: got %+v, want %+v again", got, want)
	}
	awaitLooks(t, s, 5)
	if len(emitted) != 0 {
		t.Errorf("after the failure: got %d more calls without a change, want none", len(emitted))
	}
	s.Set(name, false, dnstest.A("10.0.0.2"))
	if got := next("other records"); got.err != nil || got.part.Endpoints[0].Address != "10.0.0.2:8000" {
		t.Errorf("got %+v, want 10.0.0.2:8000", got)
	}
	s.Set(name, false)
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
