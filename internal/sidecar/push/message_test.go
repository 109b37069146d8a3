package push

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestMessageBoundsAdapters(t *testing.T) {
	g := &pool.Generation{Topology: &snapshot.Topology{}}
	for i := range 100 {
		tgt, sample := &pool.Target{}, engine.Sample{}
		for j := range 1000 {
			sample.RunningLoRA = append(sample.RunningLoRA, strings.Repeat("x", 200)+string(rune(i))+string(rune(j)))
		}
		tgt.Read(&sample, time.Now(), nil)
		g.Targets = append(g.Targets, tgt)
	}
	var e encoder
	body, err := e.message(g, snapshot.Position{Epoch: 1, Sequence: 1}, false, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Split(body); err != nil {
		t.Errorf("got %v for %d bytes, want a message that fits", err, len(body))
	}
}

// TestMessageWithAttributesFits: a topology that takes all of its room goes into one message with as many attributes
// and adapters as endpoints may have.
func TestMessageWithAttributesFits(t *testing.T) {
	var change engine.Change
	for i := range engine.MaxAttributes {
		name := fmt.Sprint("attribute_", i)
		change.Attributes = append(change.Attributes, engine.Gauge{Attribute: name, Selector: name})
	}
	engines, err := engine.Known.With("vllm", change)
	if err != nil {
		t.Fatal(err)
	}
	var found topology.Part
	for i := range 5000 {
		found.Endpoints = append(found.Endpoints, topology.Endpoint{Endpoint: snapshot.Endpoint{
			Name: fmt.Sprint("vllm-", i), Address: "10.0.0.1:8000",
			Labels: []snapshot.Label{{Key: "a", Value: strings.Repeat("x", 600)}}}})
	}
	joined, problems := topology.Join([]topology.Source{{Name: "all", Part: found}})
	if len(problems) != 1 {
		t.Fatalf("got %q, want some endpoints left out", problems)
	}
	g := &pool.Generation{Topology: joined.Snapshot()}
	g.ID = g.Topology.ID()
	for i := range joined.Endpoints {
		target, sample := &pool.Target{}, engine.Sample{}
		for j := range 10 {
			sample.RunningLoRA = append(sample.RunningLoRA, strings.Repeat("x", 100)+fmt.Sprint(i, " ", j))
		}
		target.Detected(engines.ByName("vllm"))
		target.Read(&sample, time.Now(), nil)
		g.Targets = append(g.Targets, target)
	}
	var e encoder
	body, err := e.message(g, snapshot.Position{Epoch: 1, Sequence: 1}, true, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Split(body); err != nil {
		t.Errorf("got %v for %d bytes, want a message that fits", err, len(body))
	}
}

// What one server says must not keep all others' load from Envoy, wherever it came from.
func TestMessageIsAlwaysEncodable(t *testing.T) {
	for _, usage := range []float64{-0.5, math.Inf(-1), 7, math.Inf(1), math.NaN()} {
		odd, sound := &pool.Target{}, &pool.Target{}
		odd.Read(&engine.Sample{KVCacheUsage: usage, WaitingRequests: math.MaxUint32}, time.Now(), nil)
		sound.Read(&engine.Sample{KVCacheUsage: 0.5}, time.Now(), nil)
		var e encoder
		g := &pool.Generation{Topology: &snapshot.Topology{}, Targets: []*pool.Target{odd, sound}}
		body, err := e.message(g, snapshot.Position{Epoch: 1, Sequence: 1}, false, time.Now())
		if err != nil {
			t.Errorf("usage %v: got %v, want a message", usage, err)
			continue
		}
		record, _, _ := snapshot.Next(body)
		var load snapshot.Load
		if err := load.Decode(record.Payload); err != nil || load.Endpoints[1].KVCacheUsage != 0.5 {
			t.Errorf("usage %v: got %+v, %v, want the sound server's load as it is", usage, load.Endpoints, err)
		}
	}
}

// TestMessage: a message has what is known of each endpoint, adapters and attributes by their places in lists that all
// of them share, whatever the message before had.
func TestMessage(t *testing.T) {
	engines := engine.Known
	gauges := func(names ...string) (all []engine.Gauge) {
		for _, name := range names {
			all = append(all, engine.Gauge{Attribute: name, Selector: name})
		}
		return all
	}
	for name, attributes := range map[string][]engine.Gauge{"vllm": gauges("power", "heat"),
		"sglang": gauges("heat", "fans")} {
		var err error
		if engines, err = engines.With(name, engine.Change{Attributes: attributes}); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Unix(1_800_000_000, 0)
	target := func(kind string, age time.Duration, s engine.Sample) *pool.Target {
		t := &pool.Target{Name: kind}
		t.Detected(engines.ByName(kind))
		if age >= 0 {
			t.Read(&s, now.Add(-age), nil)
		}
		return t
	}
	full := target("vllm", 250*time.Millisecond, engine.Sample{WaitingRequests: 1, RunningRequests: 2,
		KVCacheUsage: 0.5, KVBlockTokens: 16, KVBlocks: 1000, MaxLoRA: 4, MaxRunning: 64, ProcessStart: 5,
		RunningLoRA: []string{"x", "y"}, WaitingLoRA: []string{"y", "z"},
		Attributes: [engine.MaxAttributes]float64{7, 8}, AttributesKnown: 1})
	full.Uses(0.4, "")
	other := target("sglang", 0, engine.Sample{RunningRequests: 3, RunningLoRA: []string{"z"},
		Attributes: [engine.MaxAttributes]float64{9, 10}, AttributesKnown: 3})
	fresh := target("vllm", -1, engine.Sample{})
	fresh.Uses(0.6, "")
	ahead := target("", -time.Hour, engine.Sample{})
	ahead.Read(&engine.Sample{}, now.Add(time.Minute), nil)
	old := target("vllm", 60*24*time.Hour, engine.Sample{})
	const unknown, none = "NaN", " NaN NaN NaN"
	for _, test := range []struct {
		name, gpu string
		targets   []*pool.Target
		names     string // of attributes, and then of adapters
		want      []string
	}{
		{"all", "gpu", []*pool.Target{full, other, fresh, ahead, old}, "[gpu power heat fans] [x y z]", []string{
			"1 2 0.5 16 1000 4 64 5 250 [0 1] [1 2] [0.4 7 " + unknown + " " + unknown + "]",
			"0 3 0 0 0 0 0 0 0 [2] [] [" + unknown + " " + unknown + " 9 10]",
			"0 0 0 0 0 0 0 0 4294967295 [] [] [0.6 " + unknown + " " + unknown + " " + unknown + "]",
			"0 0 0 0 0 0 0 0 0 [] [] [" + unknown + none + "]",
			"0 0 0 0 0 0 0 0 4294967294 [] [] [" + unknown + none + "]",
		}},
		{"one", "", []*pool.Target{other}, "[heat fans] [z]", []string{"0 3 0 0 0 0 0 0 0 [0] [] [9 10]"}},
		{"none", "", nil, "[] []", nil},
	} {
		var e encoder
		for _, targets := range [][]*pool.Target{{full, other}, test.targets} {
			e.gpu = test.gpu
			g := &pool.Generation{ID: 77, Topology: &snapshot.Topology{}, Targets: targets}
			body, err := e.message(g, snapshot.Position{Epoch: 1, Sequence: 2}, false, now)
			if err != nil {
				t.Fatal(err)
			}
			if len(targets) != len(test.targets) {
				continue
			}
			checkLoad(t, test.name, body, test.names, test.want)
		}
	}
}

// checkLoad compares what a message without a topology tells.
func checkLoad(t *testing.T, name string, body []byte, names string, want []string) {
	t.Helper()
	record, n, err := snapshot.Next(body)
	if err != nil || record.Kind != snapshot.KindLoad || n != len(body) {
		t.Fatalf("%s: got a record of kind %v with %d bytes behind it, %v, want a load alone", name, record.Kind,
			len(body)-n, err)
	}
	var load snapshot.Load
	if err := load.Decode(record.Payload); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(load.Attributes, load.Adapters); got != names || load.Topology != 77 {
		t.Errorf("%s: got the names %s of the topology %d, want %s of 77", name, got, load.Topology, names)
	}
	var got []string
	for _, e := range load.Endpoints {
		got = append(got, fmt.Sprint(e.WaitingRequests, e.RunningRequests, e.KVCacheUsage, e.KVBlockTokens, e.KVBlocks,
			e.MaxLoRA, e.MaxRunning, e.ProcessStart, e.AgeMillis, e.RunningLoRA, e.WaitingLoRA, e.Attributes))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
