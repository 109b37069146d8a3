package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// named is a discovery of which only the name is used.
type named string

func (n named) Name() string                                             { return string(n) }
func (n named) Run(context.Context, func(part topology.Part, err error)) {}

// world is a pool whose scrapers do nothing but end.
type world struct {
	*Pool
	log bytes.Buffer

	mu      sync.Mutex
	started []string
	ended   []string
}

func newWorld(t *testing.T, sources ...topology.Discovery) *world {
	w := &world{}
	w.Pool = New(slog.New(slog.NewTextHandler(&w.log, nil)), engine.Known, sources)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w.Start = func(scrape context.Context, target *Target) {
		w.mu.Lock()
		w.started = append(w.started, target.Name)
		w.mu.Unlock()
		select {
		case <-scrape.Done():
			w.mu.Lock()
			w.ended = append(w.ended, target.Name)
			w.mu.Unlock()
		case <-ctx.Done():
		}
	}
	return w
}

func (w *world) told(t *testing.T, source int, endpoints ...topology.Endpoint) {
	w.Update(t.Context(), source, topology.Part{Endpoints: endpoints}, nil)
}

func endpointAt(name, address string) topology.Endpoint {
	return topology.Endpoint{Endpoint: snapshot.Endpoint{Name: name, Address: address}}
}

func targets(g *Generation) (names []string) {
	if g == nil {
		return nil
	}
	for _, t := range g.Targets {
		names = append(names, t.Name)
	}
	return names
}

func TestNothingIsJoinedBeforeAllSourcesAreRead(t *testing.T) {
	w := newWorld(t, named("one"), named("two"), named("three"))
	w.told(t, 0, endpointAt("a", "10.0.0.1:1"))
	w.told(t, 2)
	if g := w.Generation(); g != nil {
		t.Fatalf("got %q before the second source was read, want nothing", targets(g))
	}
	failing := func(want string, unheard ...string) {
		t.Helper()
		w.Update(t.Context(), 1, topology.Part{}, errors.New("cannot be read"))
		if got := w.Warnings(); len(got) != 1 || got[0] != "two: cannot be read; "+want {
			t.Errorf("got the warnings %q, want one with %q", got, want)
		}
		if !strings.Contains(w.log.String(), "discovery failed; "+want) {
			t.Errorf("want a log line with %q, got\n%s", want, w.log.String())
		}
		if got := w.Unheard(); !slices.Equal(got, unheard) {
			t.Errorf("sources that have not been read: got %q, want %q", got, unheard)
		}
	}
	failing("Envoys are told nothing before it has been read once", "two")
	if g := w.Generation(); g != nil {
		t.Fatalf("got %q while the second source cannot be read, want nothing", targets(g))
	}
	w.told(t, 1, endpointAt("b", "10.0.0.2:1"))
	if got, want := targets(w.Generation()), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %q once all sources were read, want %q", got, want)
	}
	failing("the last good endpoints stay in use")
	w.told(t, 0, endpointAt("c", "10.0.0.3:1"))
	if got, want := targets(w.Generation()), []string{"b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q while a source that was read fails, want %q", got, want)
	}
}

// TestPoolsStay: the pools that a source looks in are known whether or not it finds anything.
func TestPoolsStay(t *testing.T) {
	p := New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{named("cluster")})
	p.Start = func(context.Context, *Target) {}
	for _, part := range []topology.Part{
		{Pools: []string{"b"}, Endpoints: []topology.Endpoint{
			{Pool: "b", Endpoint: snapshot.Endpoint{Name: "a", Address: "127.0.0.1:1"}}}},
		{Pools: []string{"b"}},
	} {
		p.Update(t.Context(), 0, part, nil)
		if got := p.Generation().Pools; !slices.Equal(got, part.Pools) {
			t.Errorf("%d endpoints: got the pools %q, want %q", len(part.Endpoints), got, part.Pools)
		}
	}
}

// TestASourceThatIsReadInPart: what can be read is taken, and what cannot is said once until it can.
func TestASourceThatIsReadInPart(t *testing.T) {
	w := newWorld(t, named("one"))
	w.told(t, 0, endpointAt("a", "10.0.0.1:1"))
	for _, name := range []string{"b", "c"} {
		w.Update(t.Context(), 0, topology.Part{Endpoints: []topology.Endpoint{endpointAt(name, "10.0.0.2:1")}},
			topology.Partly(errors.New("watch objectives: forbidden")))
		if got, want := targets(w.Generation()), []string{name}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		const want = "one: watch objectives: forbidden; what else it says is in use"
		if got := w.Warnings(); !slices.Equal(got, []string{want}) {
			t.Errorf("got warnings %q, want %q", got, want)
		}
	}
	w.told(t, 0, endpointAt("c", "10.0.0.2:1"))
	if got := w.Warnings(); len(got) != 0 {
		t.Errorf("got warnings %q once all is read, want none", got)
	}
	for _, line := range []string{"discovery failed", "discovery works again"} {
		if n := strings.Count(w.log.String(), line); n != 1 {
			t.Errorf("got %d lines with %q, want 1:\n%s", n, line, w.log.String())
		}
	}
}

// TestFailuresOfASourceAreLogged: what cannot be read of a source that goes on is said when it changes, for each change
// of the rest would say it again.
func TestFailuresOfASourceAreLogged(t *testing.T) {
	down := errors.New("down")
	inPart, other := topology.Partly(down), topology.Partly(errors.New("forbidden"))
	for _, test := range []struct {
		name          string
		told          []error
		failed, again int // lines
	}{
		{"never", []error{nil, nil}, 0, 0},
		{"each time", []error{down, down}, 2, 0},
		{"the same in part", []error{inPart, inPart, inPart}, 1, 0},
		{"another in part", []error{inPart, other}, 2, 0},
		{"in part and then all of it", []error{inPart, down}, 2, 0},
		{"all of it and then in part", []error{down, inPart}, 1, 0},
		{"and no longer", []error{inPart, inPart, nil, nil}, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, named("one"))
			for _, err := range test.told {
				w.Update(t.Context(), 0, topology.Part{}, err)
			}
			failed := strings.Count(w.log.String(), "discovery failed")
			again := strings.Count(w.log.String(), "discovery works again")
			if failed != test.failed || again != test.again {
				t.Errorf("got %d lines of a failure and %d of its end, want %d and %d:\n%s", failed, again, test.failed,
					test.again, w.log.String())
			}
		})
	}
}

func TestTargetsLiveAsLongAsTheirEndpoints(t *testing.T) {
	a := topology.Endpoint{Endpoint: snapshot.Endpoint{Name: "a", Address: "10.0.0.1:1", Engine: "vllm"}}
	tests := []struct {
		name string
		next []topology.Endpoint
		kept bool
	}{
		{"the same", []topology.Endpoint{a}, true},
		{"another beside it", []topology.Endpoint{a, endpointAt("b", "10.0.0.2:1")}, true},
		{"other models",
			[]topology.Endpoint{
				{Endpoint: snapshot.Endpoint{Name: "a", Address: a.Address, Engine: a.Engine, Models: []string{"m"}}}},
			true},
		{"gone", nil, false},
		{"another address", []topology.Endpoint{
			{Endpoint: snapshot.Endpoint{Name: "a", Address: "10.0.0.9:1", Engine: a.Engine}}}, false},
		{"another engine",
			[]topology.Endpoint{{Endpoint: snapshot.Endpoint{Name: "a", Address: a.Address, Engine: "sglang"}}}, false},
		{"another pool", []topology.Endpoint{{Endpoint: a.Endpoint, Pool: "p"}}, false},
		{"the default pool by its name", []topology.Endpoint{{Endpoint: a.Endpoint, Pool: topology.DefaultPool}}, true},
		{"another machine", []topology.Endpoint{{Endpoint: a.Endpoint, Node: "10.9.0.1"}}, false},
		{"another access", []topology.Endpoint{{Endpoint: a.Endpoint, Access: &topology.Access{HTTPS: true}}}, false},
		{"another name",
			[]topology.Endpoint{{Endpoint: snapshot.Endpoint{Name: "z", Address: a.Address, Engine: a.Engine}}}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, named("one"))
			w.told(t, 0, a)
			first := w.Generation().Targets[0]
			w.told(t, 0, test.next...)
			if kept := slices.Contains(w.Generation().Targets, first); kept != test.kept {
				t.Errorf("kept: got %v, want %v", kept, test.kept)
			}
			if test.kept {
				w.told(t, 0)
			}
			w.told(t, 0)
			w.Wait() // in vain when an old target is not stopped
			if !slices.Contains(w.ended, "a") || len(w.ended) != len(w.started) {
				t.Errorf("ended: got %q of %q, want all", w.ended, w.started)
			}
		})
	}
}

func TestAnEngineThatChangesIsReadAsSuch(t *testing.T) {
	w := newWorld(t, named("one"))
	for _, name := range []string{"vllm", "sglang", "", "nobody's"} {
		w.told(t, 0, topology.Endpoint{Endpoint: snapshot.Endpoint{Name: "a", Address: "10.0.0.1:1", Engine: name}})
		target, kind := w.Generation().Targets[0], engine.Known.ByName(name)
		if got := target.Now().Kind; got != kind || target.Said != (kind != nil) {
			t.Errorf("engine %q: got %v, said: %v; want it to be said where it is known", name, got, target.Said)
		}
	}
}

func TestOneBadEndpointStopsNoOther(t *testing.T) {
	w := newWorld(t, named("one"), named("two"))
	w.told(t, 1, endpointAt("a", "10.0.0.2:1"), endpointAt("c", "10.0.0.3:1"))
	for range 2 {
		w.told(t, 0, endpointAt("a", "10.0.0.1:1"), endpointAt("b", "nowhere"))
	}
	if got, want := targets(w.Generation()), []string{"a", "c"}; !slices.Equal(got, want) ||
		w.Generation().Targets[0].Address != "10.0.0.1:1" {
		t.Errorf("got %q, want %q with the first source's a", got, want)
	}
	for _, want := range []string{`two: endpoint name "a" is there already, in one`, `one: endpoint "b" is left out`} {
		if !slices.ContainsFunc(w.Warnings(), func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("got warnings %q, want one with %q", w.Warnings(), want)
		}
	}
	if n := strings.Count(w.log.String(), "not all that was found can be used"); n != 2 {
		t.Errorf("got %d log lines, want one for each problem:\n%s", n, w.log.String())
	}
	w.told(t, 0, endpointAt("d", "10.0.0.4:1"))
	if got := w.Warnings(); len(got) != 0 {
		t.Errorf("got warnings %q once all is well, want none", got)
	}
}

func TestModelsThatEndpointsTell(t *testing.T) {
	w := newWorld(t, named("one"))
	w.told(t, 0, endpointAt("a", "10.0.0.1:1"),
		topology.Endpoint{Endpoint: snapshot.Endpoint{Name: "b", Address: "10.0.0.2:1", Models: []string{"x"}}})
	for _, target := range w.Generation().Targets {
		if !target.Serves([]string{"m"}, 1) || target.Serves([]string{"m"}, 1) {
			t.Error("Serves: want true for a new list and false for the same again")
		}
	}
	w.Learned(t.Context())
	for i, want := range []string{"m", "x"} {
		if got := w.Generation().Topology.Endpoints[i].Models; !slices.Equal(got, []string{want}) {
			t.Errorf("endpoint %d: got %q, want %q", i, got, want)
		}
	}
	// An endpoint at another address may be another server.
	w.told(t, 0, endpointAt("a", "10.0.0.9:1"))
	if got := w.Generation().Topology.Endpoints[0].Models; got != nil {
		t.Errorf("after a change of the address: got %q, want none", got)
	}
}

// TestOneLine: what a log line says of many mistakes stays short.
func TestOneLine(t *testing.T) {
	lines := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint("line ", i+1))
		}
		return strings.Join(all, "\n")
	}
	ten := strings.ReplaceAll(lines(mostLines), "\n", "; ")
	tests := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"one line", " a  b\t", "a b"},
		{"two", "a\nb\n", "a; b"},
		{"as many as are kept", lines(mostLines), ten},
		{"one more", lines(mostLines + 1), ten + "; and 1 more"},
		{"many", lines(300), ten + "; and 290 more"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := OneLine(tc.text); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
