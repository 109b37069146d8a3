package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/journal"
)

// shifted are the variables by which programs get a clock that is off.
func (f *fleet) shifted() []string {
	f.t.Helper()
	if f.clock == 0 {
		return nil
	}
	c := newClock(f.t)
	c.advance(f.t, f.clock)
	return append(c.variables(), "PINTLE_CLOCK_SHIFT="+f.clock.String())
}

// decided are the times of a gateway's decisions, its own or those of others, by lease.
func (g *fleetGateway) decided(t *testing.T, relayed bool) map[string]time.Time {
	t.Helper()
	all := map[string]time.Time{}
	g.events(t, func(e *journal.Event) {
		if e.Kind == journal.Decision && e.Relayed == relayed {
			all[fmt.Sprint(e.Instance, e.Lease)] = time.Unix(0, e.Time)
		}
	})
	return all
}

// TestGatewaysDifferInTime has a gateway whose clock is five minutes ahead, Envoy's and the sidecar's: no request is
// lost, each knows what the other placed and has in flight, and tells the time of it by its own clock.
func TestGatewaysDifferInTime(t *testing.T) {
	harness.Long(t)
	const ahead = 5 * time.Minute
	f := newFleet(t, 1, 3, sim.Config{TimePerOutputToken: 20 * time.Millisecond}, fleetPlans)
	f.clock = ahead
	f.add("gateway-ahead", f.valkey.Address, fleetPlans)
	f.ask(1, "load", "hello")
	f.settle()
	stop := f.load()
	for i := range 6 {
		prompt := fmt.Sprint("prompt ", i, strings.Repeat(" and so on", 50))
		first := f.ask(i%2, "prefix", prompt)
		harness.WaitFor(t, 30*time.Second, "the other gateway to know the prompt", func() (bool, string) {
			got := scores(t, f.ask(1-i%2, "prefix", prompt+fmt.Sprint(" ", time.Now().UnixNano())))
			return got[first.Server()] > 0, fmt.Sprint(got)
		})
	}
	stop()
	f.settle()
	for holds := range 2 {
		_, release := f.hold(holds)
		other := f.gateways[1-holds]
		harness.WaitFor(t, 30*time.Second, "the request to be seen in flight", func() (bool, string) {
			got := other.read(t)
			return got.leases == 1, fmt.Sprintf("%+v", got)
		})
		release()
		f.settle()
	}
	const near = 30 * time.Second
	for i, g := range f.gateways {
		want := ahead
		if i == 1 {
			want = -ahead
		}
		own, others := f.gateways[1-i].decided(t, false), g.decided(t, true)
		if len(others) == 0 || len(others) != len(own) {
			t.Errorf("%s has %d decisions of %d", g.name, len(others), len(own))
		}
		for lease, at := range others {
			if off := own[lease].Sub(at) - want; off < -near || off > near {
				t.Fatalf("%s has a decision at %v that was made at %v by the other's clock", g.name, at, own[lease])
			}
		}
	}
}

// TestGatewaysTakeOverScrapes stops the process that scrapes for all, without ending it: another one takes over, and
// when the first goes on, one of them scrapes for all again.
func TestGatewaysTakeOverScrapes(t *testing.T) {
	harness.Long(t)
	f := newServers(t, 2, sim.Config{})
	f.settings = "scrape: {share: true}\n"
	for i := range 3 {
		f.add(fmt.Sprint("gateway-", i), f.valkey.Address, fleetPlans)
	}
	holder := f.scraper(nil)
	pid := holder.sidecar.PID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // it may have gone on
	began := time.Now()
	next := f.scraper(holder)
	t.Logf("%s scrapes for all %v after %s was stopped", next.name, time.Since(began).Round(10*time.Millisecond),
		holder.name)
	for i := range 20 {
		f.ask(i%3, "load", "hello")
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, 30*time.Second, "one to scrape for all three", func() (bool, string) {
		var all []string
		holders := 0
		for _, g := range f.gateways {
			all = append(all, g.scraping(t))
			if all[len(all)-1] == "scrapes for all" {
				holders++
			}
		}
		time.Sleep(20 * time.Millisecond)
		return holders == 1 && strings.Count(strings.Join(all, ","), "scraped for by") == 2, fmt.Sprint(all)
	})
	f.settle()
}

// scraper waits until a gateway other than one scrapes for all.
func (f *fleet) scraper(other *fleetGateway) (holder *fleetGateway) {
	f.t.Helper()
	harness.WaitFor(f.t, 30*time.Second, "one to scrape for all", func() (bool, string) {
		for _, g := range f.gateways {
			if g != other && g.scraping(f.t) == "scrapes for all" {
				holder = g
				return true, ""
			}
		}
		time.Sleep(20 * time.Millisecond)
		return false, ""
	})
	return holder
}

// scraping is what a sidecar's status says of who scrapes, empty where it does not answer yet.
func (g *fleetGateway) scraping(t *testing.T) string {
	t.Helper()
	response, err := http.Get("http://" + g.admin + "/status")
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return gjson.GetBytes(text, "replication.0.scraping").String()
}
