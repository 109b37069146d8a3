package explain_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// world is a configuration, a pool and a request, all random.
type world struct {
	plugins    []pluginEntry
	servers    []*server
	staleAfter time.Duration
	policy     string
	// The request.
	model, prompt string
	headers       map[string]string
}

type pluginEntry struct {
	kind, name string
	parameters map[string]any
	weight     float64
}

type server struct {
	name, address                  string
	labels                         map[string]string
	sampled                        bool
	age                            time.Duration
	waiting, running, kvCacheUsage float64
	runningLora, waitingLora       []string
	maxLora                        int
}

// adapters are the models that requests may ask for.
var adapters = []string{"base", "red", "green"}

// randomWorld makes a world of up to 12 servers, scorers and up to two filters.
func randomWorld(r *rand.Rand) *world {
	w := &world{
		staleAfter: time.Duration(1+r.IntN(3)) * time.Second,
		policy:     []string{"neutral", "exclude", "last"}[r.IntN(3)],
		model:      adapters[r.IntN(len(adapters))],
		prompt:     strings.Repeat([]string{"x", "\u00e4", "\"", "\U0001f600"}[r.IntN(4)], r.IntN(2000)),
		headers:    map[string]string{},
	}
	for i := range 1 + r.IntN(12) {
		w.servers = append(w.servers, randomServer(r, i))
	}
	if r.IntN(2) == 0 {
		chosen := w.servers[r.IntN(len(w.servers))].name
		w.headers["x-session-token"] = base64.StdEncoding.EncodeToString([]byte(chosen))
	}
	types := slices.Sorted(maps.Keys(restatements))
	r.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
	filters := 0
	for i, kind := range types {
		if restatements[kind].keeps != nil {
			if filters++; filters > r.IntN(3) {
				continue
			}
		} else if r.IntN(3) == 0 {
			continue
		}
		w.plugins = append(w.plugins, randomEntry(r, kind, i))
	}
	return w
}

func randomEntry(r *rand.Rand, kind string, number int) pluginEntry {
	p := pluginEntry{kind: kind, name: fmt.Sprintf("%s-%d", kind, number), weight: r.Float64() * 5}
	if r.IntN(4) == 0 {
		p.weight = float64(r.IntN(4))
	}
	if parameters := restatements[kind].parameters; parameters != nil {
		p.parameters = parameters(r)
	}
	return p
}

func randomServer(r *rand.Rand, number int) *server {
	s := &server{
		name: fmt.Sprintf("default/vllm-%d", number), address: fmt.Sprintf("10.0.0.%d:8000", number+1),
		labels:  map[string]string{},
		sampled: r.IntN(8) > 0, age: time.Duration(r.IntN(4000)) * time.Millisecond,
		waiting: float64(r.IntN(5)), running: float64(r.IntN(50)), kvCacheUsage: r.Float64(),
	}
	for _, label := range []struct {
		key    string
		values []string
	}{
		{"zone", []string{"1", "2", "3"}}, {"rack", []string{"1", "2"}},
		{"mif.moreh.io/role", []string{"decode", "both", "prefill", "encode", "encode-prefill",
			"encode-prefill-decode"}},
		{contextLabel, []string{"0-100", "0-400", "100-100", "50 - 300, 400-2000", "300-9000", "long", "", "9-3",
			"0-100,"}},
	} {
		if r.IntN(4) > 0 {
			s.labels[label.key] = label.values[r.IntN(len(label.values))]
		}
	}
	for _, adapter := range adapters {
		switch r.IntN(4) {
		case 0:
			s.runningLora = append(s.runningLora, adapter)
		case 1:
			s.waitingLora = append(s.waitingLora, adapter)
		}
	}
	s.maxLora = r.IntN(4)
	switch r.IntN(6) {
	case 0:
		s.waiting, s.running, s.kvCacheUsage = 0, 0, 0
	case 1:
		s.kvCacheUsage = 1
	}
	return s
}

func (w *world) String() string {
	return string(w.config()) + "\n" + string(w.endpoints()) + "\n" + string(w.body()) + fmt.Sprint(w.headers)
}

// body writes the world's request.
func (w *world) body() []byte { return mustJSON(map[string]any{"model": w.model, "prompt": w.prompt}) }

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// config writes the world's configuration.
func (w *world) config() []byte {
	var declared, references []map[string]any
	for _, p := range w.plugins {
		entry := map[string]any{"type": p.kind, "name": p.name}
		if p.parameters != nil {
			entry["parameters"] = p.parameters
		}
		declared = append(declared, entry)
		references = append(references, map[string]any{"pluginRef": p.name, "weight": p.weight})
	}
	return mustJSON(map[string]any{
		"stale": map[string]any{"after": w.staleAfter.String(), "policy": w.policy},
		"config": map[string]any{
			"plugins":            declared,
			"schedulingProfiles": []any{map[string]any{"name": "p", "plugins": references}},
		},
	})
}

// endpoints writes the world's servers.
func (w *world) endpoints() []byte {
	var list []any
	for _, s := range w.servers {
		entry := map[string]any{"name": s.name, "address": s.address, "labels": s.labels}
		if s.sampled {
			entry["metrics"] = map[string]any{
				"waiting": s.waiting, "running": s.running, "kvCacheUsage": s.kvCacheUsage, "age": s.age.String(),
				"runningLora": s.runningLora, "waitingLora": s.waitingLora, "maxLora": s.maxLora,
			}
		}
		list = append(list, entry)
	}
	return mustJSON(map[string]any{"endpoints": list})
}
