package explain

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// FromYAML turns a YAML document into the JSON that Pintle's readers take. JSON is YAML, so it may be given too. A key given
// twice is an error, and so is a second document. The error is one line.
func FromYAML(text []byte) ([]byte, error) {
	json, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("not valid YAML: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	var first, second goyaml.Node
	documents := goyaml.NewDecoder(bytes.NewReader(text))
	if documents.Decode(&first) == nil && documents.Decode(&second) == nil {
		return nil, errors.New("not one YAML document but several; what follows the second --- would be ignored")
	}
	if string(json) == "null" {
		return nil, nil
	}
	return json, nil
}

// Fleet is a pool and what earlier requests left there.
type Fleet struct {
	scoring.Pool
	// past is of each endpoint, models of each model that the document names.
	past   []past
	models []past
}

// enter gives the fleet a state with the parts that the plan reads. What is in flight was decided before the endpoints were
// sampled, so that their metrics include it.
func (f *Fleet) enter(plan *scoring.Plan, now int64) {
	f.State = state.New(plan.StateOptions())
	f.Enter()
	lease := uint32(0)
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		before := now
		if e.Metrics.SampledAt != 0 {
			before = e.Metrics.SampledAt
		}
		f.past[i].apply(f.State, journal.Event{Time: before - 1, Instance: 1, Primary: f.ID(e)}, &lease)
		for range f.past[i].failures {
			f.State.Apply(&journal.Event{Kind: journal.Completion, Time: now, Primary: f.ID(e), Status: 503})
		}
	}
	for i := range f.models {
		f.models[i].apply(f.State, journal.Event{Time: now - 1, Instance: 1, Model: journal.HashName(f.models[i].model)}, &lease)
	}
}

// ReadEndpoints reads an endpoints document: the sidecar's static list, with the metrics that the decision shall assume. now
// is the time that ages are reckoned from. An endpoint without metrics has not been sampled.
func ReadEndpoints(text []byte, now int64) (*Fleet, error) {
	text, err := FromYAML(text)
	if err != nil {
		return nil, err
	}
	if text == nil {
		text = []byte("{}")
	}
	root, document := strictjson.Parse(text, "endpoints")
	fleet := &Fleet{}
	pool := &fleet.Pool
	names := map[string]bool{}
	for _, entry := range root.Objects("endpoints") {
		e := scoring.Endpoint{Index: len(pool.Endpoints)}
		entry.String("name", &e.Name)
		entry.String("address", &e.Address)
		entry.String("engine", &e.Engine)
		entry.Strings("models", &e.Models)
		readLabels(entry, &e)
		readMetrics(entry.Object("metrics"), pool, &e.Metrics, now)
		fleet.past = append(fleet.past, readState(entry.Object("state")))
		entry.Close()
		switch {
		case e.Name == "":
			entry.Missing("name", "every endpoint needs one")
		case names[e.Name]:
			entry.Mistake("name", fmt.Sprintf("%q names two endpoints", e.Name))
		}
		if e.Address == "" {
			entry.Missing("address", "give ip:port")
		}
		names[e.Name] = true
		pool.Endpoints = append(pool.Endpoints, e)
	}
	readRules(root, pool)
	fleet.readModels(root)
	root.Close()
	return fleet, document.Err()
}

// readRules reads the objectives and rewrites that the sidecar would send with the endpoints.
func readRules(root *strictjson.Object, pool *scoring.Pool) {
	for _, entry := range root.Objects("objectives") {
		o := scoring.Objective{}
		entry.String("name", &o.Name)
		entry.Int("priority", &o.Priority, math.MinInt32, math.MaxInt32)
		entry.Close()
		pool.Objectives = append(pool.Objectives, o)
	}
	for _, entry := range root.Objects("modelRewrites") {
		rewrite := scoring.Rewrite{}
		entry.Strings("models", &rewrite.Models)
		for _, target := range entry.Objects("targets") {
			t := scoring.RewriteTarget{Weight: 1}
			target.String("model", &t.Model)
			target.Int("weight", &t.Weight, 0, 1_000_000)
			target.Close()
			if t.Model == "" {
				target.Missing("model", "name the model to ask for")
			}
			rewrite.Targets = append(rewrite.Targets, t)
		}
		entry.Close()
		if len(rewrite.Targets) == 0 {
			entry.Missing("targets", "name at least one model")
		}
		pool.Rewrites = append(pool.Rewrites, rewrite)
	}
}

func readLabels(entry *strictjson.Object, e *scoring.Endpoint) {
	var labels []strictjson.Pair
	entry.StringMap("labels", &labels)
	for _, l := range labels {
		e.Labels = append(e.Labels, scoring.Label(l))
	}
}

func readMetrics(o *strictjson.Object, pool *scoring.Pool, m *scoring.Metrics, now int64) {
	var age time.Duration
	var running, waiting []string
	o.Int("waiting", &m.WaitingRequests, 0, math.MaxInt32)
	o.Int("running", &m.RunningRequests, 0, math.MaxInt32)
	o.Float("kvCacheUsage", &m.KVCacheUsage, 0, 1)
	o.Strings("runningLora", &running)
	o.Strings("waitingLora", &waiting)
	o.Int("maxLora", &m.MaxLoRA, 0, math.MaxInt32)
	o.Int("blockSize", &m.KVBlockTokens, 0, math.MaxInt32)
	o.Int("numGpuBlocks", &m.KVBlocks, 0, math.MaxInt32)
	o.Duration("age", &age, 0)
	o.Close()
	if !o.Present() {
		return
	}
	m.SampledAt = now - int64(age)
	m.RunningLoRA, m.WaitingLoRA = adapters(pool, running), adapters(pool, waiting)
}

// adapters returns the indexes of names in the pool's list of adapters, and adds those that are new.
func adapters(pool *scoring.Pool, names []string) []uint16 {
	var indexes []uint16
next:
	for _, name := range names {
		for i, known := range pool.Adapters {
			if known == name {
				indexes = append(indexes, uint16(i))
				continue next
			}
		}
		pool.Adapters = append(pool.Adapters, name)
		indexes = append(indexes, uint16(len(pool.Adapters)-1))
	}
	return indexes
}
