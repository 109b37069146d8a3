package follow

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/journal/journaltest"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestNamesOfFormerProcesses: they stay known, and make way when there are too many.
func TestNamesOfFormerProcesses(t *testing.T) {
	n := &Names{}
	model := func(process, i int) string { return fmt.Sprint("model ", process, " ", i) }
	told := func(process, i int) bool {
		name := model(process, i)
		return n.Of(journal.ModelName, journal.HashName(name)) == name
	}
	for process := range 2 * mostNames / journal.MaxNames {
		store := journaltest.New(0).Store()
		list := &journal.Names{Store: store}
		for i := range journal.MaxNames {
			list.Add(journal.ModelName, journal.HashName(model(process, i)), model(process, i))
		}
		names, _ := journal.StoredNames(store)
		n.learn(names, nil)
		if process == 1 && !told(0, 0) {
			t.Error("the former process's names are not known, want them to stay")
		}
		known := len(n.now().names)
		if known > mostNames || !told(process, 0) || !told(process, journal.MaxNames-1) {
			t.Fatalf("after process %d: %d names are known, want %d at most, and this process's among them", process,
				known, mostNames)
		}
	}
}

// TestNamesOfFormerEndpoints: endpoints that left stay known, and make way when there are too many.
func TestNamesOfFormerEndpoints(t *testing.T) {
	const pool = mostEndpoints / 4
	name := func(generation, i int) string { return fmt.Sprint("vllm-", generation, "-", i) }
	for _, test := range []struct {
		name string
		add  func(n *Names, names []string)
	}{
		{"told by Envoy", func(n *Names, names []string) {
			topology := snapshot.Topology{}
			for _, name := range names {
				topology.Endpoints = append(topology.Endpoints, snapshot.Endpoint{Name: name, Address: "10.0.0.1:8000"})
			}
			record, err := snapshot.AppendTopology(nil, &topology, snapshot.Position{Epoch: 1, Sequence: 1})
			if err != nil {
				t.Fatal(err)
			}
			n.learn(nil, record)
		}},
		{"known from elsewhere", (*Names).AddEndpoints},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := &Names{}
			told := func(generation, i int) bool {
				return n.Endpoint(journal.EndpointID(name(generation, i))) == name(generation, i)
			}
			for generation := range 5 {
				var names []string
				for i := range pool {
					names = append(names, name(generation, i))
				}
				test.add(n, names)
				if !told(generation, 0) || !told(generation, pool-1) {
					t.Errorf("after pool %d: its endpoints have no names", generation)
				}
				if want := generation < 4; told(0, 0) != want {
					t.Errorf("after pool %d: the first one's endpoints are known: %v, want %v", generation, !want, want)
				}
			}
		})
	}
}

// TestNamesAreFetchedWhenTheyChange: not with each answer.
func TestNamesAreFetchedWhenTheyChange(t *testing.T) {
	e, ingest := newEnvoy(t)
	s := &told{}
	f := newFollower(ingest, s, time.Hour)
	go f.Run(t.Context())
	steps := []struct {
		name   string
		change func()
		want   int
	}{
		{"the first answer", func() {}, 1},
		{"a model", func() { e.decide("m1", 1) }, 2},
		{"the same model", func() { e.decide("m1", 1) }, 2},
		{"nothing", func() {}, 2},
		{"another model", func() { e.decide("m2", 1) }, 3},
		{"an endpoint", func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.topology.Endpoints = append(e.topology.Endpoints, snapshot.Endpoint{Name: "a", Address: "10.0.0.1:8000"})
		}, 4},
		{"another process", e.restart, 5},
		{"nothing in its log", func() {}, 5},
		{"its first model", func() { e.decide("m1", 1) }, 6},
	}
	for end := time.Now().Add(10 * time.Second); f.Now().Answered.IsZero() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	for _, step := range steps {
		step.change()
		if err := f.Ride(t.Context(), func(query string) ([]byte, error) {
			return f.get(t.Context(), journalPath+query, new(bytes.Buffer))
		}); err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		if e.namesAsked != step.want {
			t.Errorf("%s: names were fetched %d times, want %d", step.name, e.namesAsked, step.want)
		}
		e.mu.Unlock()
	}
}

// TestNamesThatAreCutShort: nothing is taken of them, and it is said.
func TestNamesThatAreCutShort(t *testing.T) {
	for _, text := range []string{"", "\x00\x00\x00", "\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00",
		"\x01\x00\x00\x00", "\x00\x00\x00\x00\x02\x00\x00\x00a"} {
		e, ingest := newEnvoy(t)
		e.status, e.text = 200, text
		f := &Follower{Ingest: ingest, Token: func() string { return "token" }, client: http.DefaultClient}
		if err := f.fetchNames(t.Context()); err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("names %q: got %v, want that they are cut short", text, err)
		}
	}
	if _, _, ok := cutSized([]byte{0, 0, 0, 0}); !ok {
		t.Error("no bytes with their number are refused, want them taken")
	}
}
