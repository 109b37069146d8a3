package pool

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestTargetsThatStayAreScraped: an endpoint that stays is scraped on, with what is known of it, whatever comes and
// goes beside it, and also when its source says the same anew how it is to be asked.
func TestTargetsThatStayAreScraped(t *testing.T) {
	secret := func(token string) *topology.Access { return &topology.Access{HTTPS: true, TokenFile: token} }
	for _, test := range []struct {
		name       string
		first, now *topology.Access
		kept       bool
	}{
		{"no access", nil, nil, true},
		{"the same access, said anew", secret("a"), secret("a"), true},
		{"another token", secret("a"), secret("b"), false},
		{"an access where there was none", nil, secret("a"), false},
		{"no access where there was one", secret("a"), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{named("one")})
			scraping := make(chan context.Context, 4)
			p.Start = func(ctx context.Context, target *Target) {
				if target.Name == "a" {
					scraping <- ctx
				}
			}
			told := func(access *topology.Access, more ...topology.Endpoint) {
				a := topology.Endpoint{Endpoint: snapshot.Endpoint{Name: "a", Address: "10.0.0.1:1"}, Access: access}
				p.Update(t.Context(), 0, topology.Part{Endpoints: append(more, a)}, nil)
			}
			told(test.first)
			ctx := <-scraping
			told(test.now, endpointAt("b", "10.0.0.2:1"))
			if kept := ctx.Err() == nil; kept != test.kept {
				t.Errorf("scraped on: got %v, want %v", kept, test.kept)
			}
			told(test.now)
			if kept := ctx.Err() == nil; kept != test.kept {
				t.Errorf("scraped on when another has left: got %v, want %v", kept, test.kept)
			}
			p.Wait()
		})
	}
}

// TestWatchers: who watches is woken by each change once, however many there were.
func TestWatchers(t *testing.T) {
	p := New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{named("one")})
	p.Start = func(context.Context, *Target) {}
	first, second := p.Watch(), p.Watch()
	woken := func(c <-chan struct{}) (times int) {
		for {
			select {
			case <-c:
				times++
			default:
				return times
			}
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	update := func(ctx context.Context, endpoints ...topology.Endpoint) func() {
		return func() { p.Update(ctx, 0, topology.Part{Endpoints: endpoints}, nil) }
	}
	a, b := endpointAt("a", "10.0.0.1:1"), endpointAt("b", "10.0.0.2:1")
	for _, test := range []struct {
		name   string
		change func()
		want   int
	}{
		{"nothing", func() {}, 0},
		{"endpoints", update(t.Context(), a), 1},
		{"the same endpoints", update(t.Context(), a), 0},
		{"others", update(t.Context(), a, b), 1},
		{"others, when the sidecar ends", update(gone, a), 0},
		{"what was learnt, when it ends", func() {
			p.Generation().Targets[0].Serves([]string{"m"}, 1)
			p.Learned(gone)
		}, 0},
		{"what was learnt", func() { p.Learned(t.Context()) }, 1},
		{"a failure", func() { p.Update(t.Context(), 0, topology.Part{}, context.DeadlineExceeded) }, 1},
		{"samples, twice", func() { p.Changed(); p.Changed() }, 1},
	} {
		test.change()
		if one, two := woken(first), woken(second); one != test.want || two != test.want {
			t.Errorf("%s: woken %d and %d times, want %d", test.name, one, two, test.want)
		}
	}
	p.Wait()
}

// TestWatchSamples: who watches samples that tell nothing new hears when the first of them came, however many there
// were, and those who watch changes hear nothing.
func TestWatchSamples(t *testing.T) {
	p := New(slog.New(slog.DiscardHandler), engine.Known, nil)
	first, second, changes := p.WatchSamples(), p.WatchSamples(), p.Watch()
	now := time.Now()
	p.Sampled(now)
	p.Sampled(now.Add(time.Second))
	for _, c := range []<-chan time.Time{first, second} {
		if got := <-c; !got.Equal(now) || len(c) != 0 {
			t.Errorf("got %v, and %d more, want %v and none", got, len(c), now)
		}
	}
	if len(changes) != 0 {
		t.Error("got a change, want none")
	}
	p.Changed()
	if len(first) != 0 {
		t.Error("got a sample of a change, want none")
	}
}

// TestManyLearnAtOnce: what many endpoints tell at one moment, as at the start, becomes one topology, and none of them
// waits for it but one.
func TestManyLearnAtOnce(t *testing.T) {
	p := New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{named("one")})
	p.Start = func(context.Context, *Target) {}
	var part topology.Part
	for i := range 20 {
		part.Endpoints = append(part.Endpoints, endpointAt(fmt.Sprint("vllm-", i), "10.0.0.1:1"))
	}
	p.Update(t.Context(), 0, part, nil)
	all := p.Generation().Targets
	done := make(chan struct{}, len(all))
	p.mu.Lock() // another change takes its time
	for _, target := range all {
		target.Serves([]string{"m"}, 1)
		go func() {
			p.Learned(t.Context())
			done <- struct{}{}
		}()
	}
	ended := 0
	for late := time.After(10 * time.Second); ended < len(all)-1; ended++ {
		select {
		case <-done:
			continue
		case <-late:
			t.Errorf("%d of %d wait for the topology, want one", len(all)-ended, len(all))
		}
		break
	}
	p.mu.Unlock()
	for ; ended < len(all); ended++ {
		<-done
	}
	for _, e := range p.Generation().Topology.Endpoints {
		if !slices.Equal(e.Models, []string{"m"}) {
			t.Errorf("%s: got the models %q, want m", e.Name, e.Models)
		}
	}
}

// TestWhatDiffers: what a look at an endpoint brings is told when it is new: Envoys are told then.
func TestWhatDiffers(t *testing.T) {
	target, at := &Target{Name: "a"}, time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		name string
		look func() bool
		want bool
	}{
		{"first sample, of zeros", func() bool { return target.Read(&engine.Sample{}, at, nil) }, true},
		{"the same sample", func() bool { return target.Read(&engine.Sample{}, at.Add(1), nil) }, false},
		{"another sample", func() bool { return target.Read(&engine.Sample{WaitingRequests: 1}, at, nil) }, true},
		{"unused GPU", func() bool { return target.Uses(0, "") }, true},
		{"the same use", func() bool { return target.Uses(0, "") }, false},
		{"another use", func() bool { return target.Uses(0.5, "") }, true},
		{"use that is not known", func() bool { return target.Uses(0.5, "no exporter") }, true},
		{"still not known", func() bool { return target.Uses(0.5, "no exporter") }, false},
		{"known again", func() bool { return target.Uses(0.5, "") }, true},
		{"models", func() bool { return target.Serves([]string{"m"}, 1) }, true},
		{"the same models", func() bool { return target.Serves([]string{"m"}, 1) }, false},
	} {
		if got := test.look(); got != test.want {
			t.Errorf("%s: differs %v, want %v", test.name, got, test.want)
		}
	}
	if v := target.Now(); !v.GPUKnown || v.GPU != 0.5 || v.GPUFailure != "" || v.Shared {
		t.Errorf("got %+v, want a GPU that is used by half", v)
	}
}

// TestMissingMetrics: a line for each metric says where it is missing.
func TestMissingMetrics(t *testing.T) {
	w := newWorld(t, named("one"))
	if got := w.MissingMetrics(); got != nil {
		t.Errorf("before there are endpoints: got %q, want nothing", got)
	}
	w.told(t, 0, endpointAt("a", "10.0.0.1:1"), endpointAt("b", "10.0.0.2:1"), endpointAt("c", "10.0.0.3:1"))
	for i, missing := range [][]string{nil, {"waiting", "kv"}, {"kv"}} {
		w.Generation().Targets[i].Read(&engine.Sample{}, time.Unix(1_800_000_000, 0), missing)
	}
	want := []string{
		"metric waiting: missing at 1 of 3 endpoints, such as b; they are judged without it",
		"metric kv: missing at 2 of 3 endpoints, such as b; they are judged without it",
	}
	if got := w.MissingMetrics(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWhatOutlivesATarget: what a server said that it serves holds until it says otherwise, also when it is asked in
// another way from now on: without models it would get requests for any. So does its load, unless it was read as
// another engine's: without a sample it would count as full.
func TestWhatOutlivesATarget(t *testing.T) {
	a, at := endpointAt("a", "10.0.0.1:1"), time.Unix(1_800_000_000, 0)
	with := func(change func(e *topology.Endpoint)) topology.Endpoint {
		e := a
		change(&e)
		return e
	}
	for _, test := range []struct {
		name    string
		now     topology.Endpoint
		want    []string
		sampled bool
	}{
		{"unchanged", a, []string{"m"}, true},
		{"another engine", with(func(e *topology.Endpoint) { e.Engine = "sglang" }), []string{"m"}, false},
		{"another token", with(func(e *topology.Endpoint) { e.Access = &topology.Access{TokenFile: "t"} }),
			[]string{"m"}, true},
		{"another node", with(func(e *topology.Endpoint) { e.Node = "10.1.0.1" }), []string{"m"}, true},
		{"another pool", with(func(e *topology.Endpoint) { e.Pool = "p" }), []string{"m"}, true},
		{"another server", with(func(e *topology.Endpoint) { e.Address = "10.0.0.2:1" }), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{named("one")})
			p.Start = func(context.Context, *Target) {}
			told := func(all ...topology.Endpoint) {
				p.Update(t.Context(), 0, topology.Part{Endpoints: all}, nil)
			}
			told(a)
			first := p.Generation().Targets[0]
			first.Read(&engine.Sample{WaitingRequests: 3}, at, nil)
			first.Serves([]string{"m"}, 1)
			p.Learned(t.Context())
			for _, now := range [][]topology.Endpoint{{test.now}, {test.now, endpointAt("b", "10.0.0.3:1")}} {
				told(now...)
				if got := p.Generation().Topology.Endpoints[0].Models; !slices.Equal(got, test.want) {
					t.Errorf("with %d endpoints: got the models %q, want %q", len(now), got, test.want)
				}
				v := p.Generation().Targets[0].Now()
				if got := v.Sampled.Equal(at) && v.Sample.WaitingRequests == 3; got != test.sampled {
					t.Errorf("with %d endpoints: the sample is kept: %v, want %v", len(now), got, test.sampled)
				}
			}
			p.Wait()
		})
	}
}
