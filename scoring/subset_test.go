package scoring

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// restricted is a workplace with a pool of n hosts, of which the subset names all.
func restricted(n int) *Cycle {
	p := &Pool{Endpoints: make([]Endpoint, n)}
	var subset []string
	for i := range p.Endpoints {
		p.Endpoints[i] = Endpoint{Index: i, Name: fmt.Sprint(i), Address: fmt.Sprintf("10.0.%d.%d:8000", i>>8, i&255)}
		subset = append(subset, p.Endpoints[i].Address)
	}
	p.Enter()
	c := &Cycle{Pool: p, Request: Request{Restricted: true, Subset: strings.Join(subset, ",")}}
	c.findServing("")
	return c
}

// TestRestrict: the ports of a host are all in a subset that names one of them; what the pool has not, and what does
// not serve the model, leaves none.
func TestRestrict(t *testing.T) {
	tests := []struct {
		name, subset string
		want         []int
	}{
		{"nothing", "", nil},
		{"unknown", "10.0.9.9:8000", nil},
		{"one", "10.0.0.1:8000", []int{1}},
		{"one before an unknown one", "10.0.0.1:8000,10.0.9.9:8000", []int{1}},
		{"one behind an unknown one", "10.0.9.9:8000,10.0.0.1:8000", []int{1}},
		{"two ports", "10.0.0.2", []int{2, 4}},
		{"another port", "10.0.0.2:1", []int{2, 4}},
		{"IPv6", "[2001:db8::1]:9", []int{5}},
		{"not serving", "10.0.0.3:8000", nil},
		{"brackets alone", "[", nil},
		{"several", "10.0.0.1,10.0.0.3,10.0.0.1,[2001:db8::1]", []int{1, 5}},
	}
	c := restricted(4)
	c.Pool.Endpoints = append(c.Pool.Endpoints, Endpoint{Index: 4, Name: "4", Address: "10.0.0.2:8001"},
		Endpoint{Index: 5, Name: "5", Address: "[2001:db8::1]:8000"})
	c.Pool.Endpoints[3].Models = []string{"another"}
	c.Pool.Enter()
	c.findServing("m")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.Request.Subset = tt.subset
			c.readSubset()
			left := c.reaches()
			var got []int
			for i, named := range c.named {
				if named && c.serving[i] {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, tt.want) || left != (len(tt.want) > 0) {
				t.Errorf("got %v and left %v, want %v", got, left, tt.want)
			}
		})
	}
}

// TestCostOfSubsets: a subset that names the whole pool costs each endpoint about as much in a large one.
func TestCostOfSubsets(t *testing.T) {
	if os.Getenv("PINTLE_BARS") == "" {
		t.Skip("PINTLE_BARS is not set")
	}
	each := func(n int) time.Duration {
		c, least := restricted(n), time.Duration(1<<62)
		for range 500 {
			began := time.Now()
			c.readSubset()
			least = min(least, time.Since(began))
		}
		return least * 1000 / time.Duration(n)
	}
	few, many := each(32), each(1000)
	t.Logf("%v for a thousand of 32, %v of 1,000", few, many)
	if many > 4*few {
		t.Errorf("%v for a thousand endpoints of 1,000 and %v of 32, want at most 4 times as much", many, few)
	}
}

func TestNextAddress(t *testing.T) {
	tests := []struct {
		name, list string
		want       []string
	}{
		{"none", "", nil},
		{"nothing but commas", " , ,", nil},
		{"one", "10.0.0.1:8000", []string{"10.0.0.1"}},
		{"each digit", "98.76.54.32:1009,[2001:AF::af]:90", []string{"98.76.54.32", "2001:AF::af"}},
		{"several", "10.0.0.1:8000,10.0.0.2 , 10.0.0.3:1", []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}},
		{"IPv6", "[2001:db8::1]:8000,[2001:db8::2],2001:DB8::3", []string{"2001:db8::1", "2001:db8::2", "2001:DB8::3"}},
		{"a list of Envoy's", "\x02\x00\x00\x00\x0d\x00\x00\x00\x00\x00\x00\x0010.0.0.1:8000\x00\x00" +
			"10.0.0.2:8000\x00\x00", []string{"10.0.0.1", "10.0.0.2"}},
		{"brackets alone", "[", []string{""}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for address, rest := nextAddress(tc.list); address != ""; address, rest = nextAddress(rest) {
				got = append(got, hostOf(address))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPoolThatChanges: of a pool whose endpoints are others than before, hosts and models are those of now.
func TestPoolThatChanges(t *testing.T) {
	p := &Pool{}
	c := &Cycle{Pool: p, Request: Request{Restricted: true, Subset: "10.0.0.1:1,10.0.0.2:1,10.0.0.3:1"}}
	for _, hosts := range []string{"1 2 3", "3", "2 3 9", "3 1", "9", "1 2 3"} {
		p.Endpoints = nil
		var want []int
		for i, host := range strings.Fields(hosts) {
			p.Endpoints = append(p.Endpoints, Endpoint{Index: i, Name: host, Address: "10.0.0." + host + ":8000",
				Models: []string{"model-" + host, "m"}})
			if host != "9" {
				want = append(want, i)
			}
		}
		p.Enter()
		if !c.findServing("m") {
			t.Fatalf("hosts %s: none serves the model", hosts)
		}
		c.readSubset()
		left, got := c.reaches(), []int(nil)
		for i := range p.Endpoints {
			if c.removedBy(i) == "" {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) || left != (len(want) > 0) {
			t.Errorf("hosts %s: %v are left, %v; want %v", hosts, got, left, want)
		}
		for _, host := range []string{"1", "2", "3", "9"} {
			if got, want := c.findServing("model-"+host), strings.Contains(hosts, host); got != want {
				t.Errorf("hosts %s: model-%s is served: %v, want %v", hosts, host, got, want)
			}
		}
	}
}
