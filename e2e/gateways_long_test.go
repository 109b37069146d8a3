package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// fairPlans are fleetPlans and one by what users were served.
func fairPlans() map[string]any {
	return map[string]any{"prefix": fleetPlans["prefix"], "load": fleetPlans["load"],
		"fair": byScorer(map[string]any{"type": "vtc-basic"})}
}

// replay plays conversations whose turns go to gateways that pick chooses, and returns the share of follow-ups' prompt
// tokens that were found cached.
func (f *fleet) replay(name string, conversations, turns int, pick func() int) float64 {
	f.t.Helper()
	var prompt, cached atomic.Int64
	var running sync.WaitGroup
	for c := range conversations {
		running.Go(func() {
			text := fmt.Sprint(name, c, strings.Repeat(" a long beginning", 60))
			for turn := range turns {
				got := f.ask(pick(), "prefix", text)
				usage := gjson.Get(got.Body, "usage")
				if turn > 0 {
					prompt.Add(usage.Get("prompt_tokens").Int())
					cached.Add(usage.Get("prompt_tokens_details.cached_tokens").Int())
				}
				text += fmt.Sprint(" turn ", turn, strings.Repeat(" and on", 40))
				time.Sleep(300 * time.Millisecond) // what a client takes to go on
			}
		})
	}
	running.Wait()
	return float64(cached.Load()) / float64(prompt.Load())
}

// TestGatewaysShareSessions: conversations that are spread over four gateways find nearly as much cached as with one,
// and a user who floods through three is known for it at the fourth.
func TestGatewaysShareSessions(t *testing.T) {
	harness.Long(t)
	f := newFleet(t, 4, 8, sim.Config{Blocks: 1 << 16}, fairPlans())
	one := f.replay("one ", 24, 8, func() int { return 0 })
	four := f.replay("four ", 24, 8, func() int { return rand.IntN(4) })
	t.Logf("found cached of follow-ups' prompts: %.3f by one gateway, %.3f by four", one, four)
	const least = 0.7 // by chance it would be less than half
	if !(one >= least && four >= 0.95*one) {
		t.Errorf("found %.3f cached, want at least 0.95 of one gateway's %.3f, and of that at least %.1f", four, one,
			least)
	}
	f.settle()

	body := `{"model":"sim-model","user":"flood","prompt":"` + strings.Repeat("flood ", 2000) + `","max_tokens":2}`
	for i := range 30 {
		got := harness.Send(t, http.DefaultClient, harness.Request(t, http.MethodPost,
			f.gateways[i%3].URL("fair", "/v1/completions"), body, false))
		if got.Status != http.StatusOK {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
	}
	f.settle()
	small := `{"model":"sim-model","user":"flood","prompt":"hello","max_tokens":2}`
	var first map[string]float64
	for i := range f.gateways {
		got := scores(t, harness.Send(t, http.DefaultClient, harness.Request(t, http.MethodPost,
			f.gateways[i].URL("fair", "/v1/completions"), small, false)))
		f.settle()
		if i == 0 {
			first = got
		}
		for server, score := range got {
			if difference := score - first[server]; difference > 0.05 || difference < -0.05 {
				t.Errorf("gateway %d scores %s %.3f for the user who floods, the first one %.3f", i, server, score,
					first[server])
			}
		}
	}
}

// TestGatewaysSurviveFaults has everything fail that can, while clients ask: no request is lost, and in the end all
// gateways know the same and nothing is in flight.
func TestGatewaysSurviveFaults(t *testing.T) {
	harness.Long(t)
	f := newFleet(t, 3, 4, sim.Config{TimePerOutputToken: 20 * time.Millisecond}, fleetPlans)
	cable := harness.NewLink(t, f.valkey.Address)
	f.add("gateway-3", cable.Address, fleetPlans)
	f.ask(3, "prefix", "hello")
	f.settle()
	client := f.valkey.Client()
	defer client.Close()
	stop := f.load()
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(f.valkey.PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	for _, fault := range []struct {
		name string
		do   func()
	}{
		{"an entry of somebody else's", func() {
			for _, text := range []string{"", "poison", strings.Repeat("PNG\x01", 100)} {
				if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: "pintle",
					Values: []any{"e", text}}).Err(); err != nil {
					t.Error(err)
				}
			}
		}},
		{"the stream is flushed", func() {
			if err := client.FlushAll(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}},
		{"the server stands still", func() {
			signal(syscall.SIGSTOP)
			time.Sleep(30 * time.Second)
			signal(syscall.SIGCONT)
		}},
		{"the server is killed and begins anew", func() {
			f.valkey.Kill()
			time.Sleep(3 * time.Second)
			if err := f.valkey.Start(); err != nil {
				t.Fatal(err)
			}
		}},
		{"a gateway is cut off, and counts as dead", func() {
			cable.Cut()
			time.Sleep(time.Minute)
			cable.Mend()
		}},
	} {
		began := time.Now()
		fault.do()
		f.wantHit(fault.name)
		t.Logf("%s: %v", fault.name, time.Since(began).Round(100*time.Millisecond))
	}
	stop()
	f.settle()
	f.wantGone()
}

// load has clients ask all gateways without a pause until stop is called; no answer may be another than 200.
func (f *fleet) load() (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	var served atomic.Int64
	for i := range 2 * len(f.gateways) {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				f.ask(i%len(f.gateways), "load", fmt.Sprint("client ", i, n))
				served.Add(1)
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
		f.t.Logf("%d requests served", served.Load())
	}
}

// wantHit waits until what the first gateway has just placed is known to the last.
func (f *fleet) wantHit(after string) {
	f.t.Helper()
	harness.WaitFor(f.t, 30*time.Second, "hits again after: "+after, func() (bool, string) {
		// Each look teaches the gateway that looks, so each has a prompt of its own.
		prompt := fmt.Sprint(time.Now().UnixNano(), after, strings.Repeat(" and so on", 50))
		first := f.ask(0, "prefix", prompt)
		time.Sleep(100 * time.Millisecond)
		got := f.ask(len(f.gateways)-1, "prefix", prompt)
		return got.Server() == first.Server() && scores(f.t, got)[first.Server()] > 0,
			fmt.Sprint(first.Server(), " and ", got.Server())
	})
}

// wantGone kills a gateway with a request in flight, which ends for the others.
func (f *fleet) wantGone() {
	f.t.Helper()
	_, release := f.hold(3)
	defer release()
	leases := func(want int) {
		f.t.Helper()
		harness.WaitFor(f.t, 90*time.Second, fmt.Sprint(want, " in flight"), func() (bool, string) {
			got := f.gateways[0].read(f.t)
			time.Sleep(50 * time.Millisecond)
			return got.leases == want, fmt.Sprintf("%+v", got)
		})
	}
	leases(1)
	f.gateways[3].sidecar.Kill()
	f.gateways[3].Crash()
	leases(0)
}
