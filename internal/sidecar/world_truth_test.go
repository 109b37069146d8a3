package sidecar

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/pintle-dev/pintle/snapshot"
)

// expected is an endpoint as it has to be known.
type expected struct {
	listed
	address string
}

// truth is what there is, in the order of names, and whether a name is there twice.
func (w *world) truth() (all []expected, objectives []snapshot.Objective, twice bool) {
	add := func(e listed) {
		if slices.ContainsFunc(all, func(other expected) bool { return other.name == e.name }) {
			twice = true
			return
		}
		all = append(all, expected{e, w.servers[e.server].address})
	}
	for _, e := range slices.Concat(w.static.good, w.file.good) {
		add(e)
	}
	for _, e := range w.pods {
		add(e)
	}
	for _, i := range w.names {
		add(listed{name: "pool.test/" + w.servers[i].address, server: i})
	}
	slices.SortFunc(all, func(a, b expected) int { return cmp.Compare(a.name, b.name) })
	return all, []snapshot.Objective{{Name: "a", Priority: int32(w.static.priority)},
		{Name: "b", Priority: int32(w.file.priority)}}, twice
}

// readable reports whether an endpoint's load can be known: it may be said to be of an engine that it is not of.
func (w *world) readable(e *expected) (s serverState, yes bool) {
	s, answers := w.servers[e.server].is()
	return s, answers && (e.engine == "" || e.engine == s.kind)
}

// differs says how what a gateway was told differs from the truth.
func (w *world) differs(got *received) string {
	if got == nil {
		return "it was told nothing"
	}
	if o := got.topology.Objectives; len(o) == 2 {
		w.static.told(o[0].Priority)
		w.file.told(o[1].Priority)
	}
	want, objectives, _ := w.truth()
	if !reflect.DeepEqual(got.topology.Objectives, objectives) {
		return fmt.Sprintf("objectives: got %v, want %v", got.topology.Objectives, objectives)
	}
	if len(got.topology.Endpoints) != len(want) || len(got.load.Endpoints) != len(want) {
		return fmt.Sprintf("got %d endpoints and the load of %d, want %d", len(got.topology.Endpoints),
			len(got.load.Endpoints), len(want))
	}
	for i := range want {
		if why := w.endpointDiffers(&got.topology.Endpoints[i], &want[i]); why != "" {
			return why
		}
		if why := w.loadDiffers(&got.load, i, &want[i]); why != "" {
			return want[i].name + ": " + why
		}
	}
	return ""
}

func (w *world) endpointDiffers(got *snapshot.Endpoint, want *expected) string {
	labels := map[string]string{}
	for _, l := range got.Labels {
		labels[l.Key] = l.Value
	}
	if got.Name != want.name || got.Address != want.address || got.Engine != want.engine ||
		!maps.Equal(labels, want.labels) {
		return fmt.Sprintf("got %+v, want %+v", *got, *want)
	}
	models := want.models
	if models == nil {
		s, answers := w.servers[want.server].is()
		if models = s.models; !answers { // what it said before it fell silent
			return ""
		}
	}
	if !slices.Equal(got.Models, models) {
		return fmt.Sprintf("%s: got the models %q, want %q", got.Name, got.Models, models)
	}
	return ""
}

// old is the age that a sample has to have where there is no newer one, in milliseconds.
const old = 400

func (w *world) loadDiffers(load *snapshot.Load, i int, of *expected) string {
	got := load.Endpoints[i]
	s, readable := w.readable(of)
	if !readable {
		if got.AgeMillis < old {
			return fmt.Sprintf("got a sample of %d ms, want none of late", got.AgeMillis)
		}
		return ""
	}
	want := snapshot.EndpointLoad{WaitingRequests: uint32(s.waiting), RunningRequests: uint32(s.running),
		KVCacheUsage: got.KVCacheUsage, KVBlockTokens: 16, KVBlocks: uint32(s.blocks), AgeMillis: got.AgeMillis,
		ProcessStart: got.ProcessStart, RunningLoRA: got.RunningLoRA, WaitingLoRA: got.WaitingLoRA}
	var lora []string
	if s.kind == "vllm" {
		if lora = s.lora; len(lora) > 0 {
			want.MaxLoRA = 4
		}
		if s.started > 0 {
			want.ProcessStart = uint64(s.started) * 1000
		}
	}
	if used := float64(s.usage) / 100; math.Abs(got.KVCacheUsage-used) > 0.001 { // as a snapshot tells it
		want.KVCacheUsage = used
	}
	got.Attributes = nil
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("got the load %+v, want %+v", got, want)
	}
	var names []string
	for _, r := range got.RunningLoRA {
		names = append(names, load.Adapters[r])
	}
	if !slices.Equal(names, lora) {
		return fmt.Sprintf("got the adapters %q, want %q", names, lora)
	}
	if got.ProcessStart == 0 {
		return "got no start of its process"
	}
	return ""
}

// process is the process of an endpoint's server as it was told in a calm.
type process struct {
	life, number int
	started      uint64
	said         bool // by the page
}

// checkProcesses compares the starts of servers' processes with those of the last calm: the same process has the same
// one, and another one has another, unless its own page says otherwise.
func (w *world) checkProcesses(got *received) {
	all, _, _ := w.truth()
	now := map[string]process{}
	for i := range all {
		s, readable := w.readable(&all[i])
		if !readable {
			continue
		}
		is := process{w.life, s.process, got.load.Endpoints[i].ProcessStart, s.kind == "vllm" && s.started > 0}
		key := all[i].name + " at " + all[i].address + " " + all[i].engine
		now[key] = is
		was, known := w.before[key]
		if !known || was.life != is.life || is.said || was.said {
			continue
		}
		if same := was.number == is.number; same != (was.started == is.started) {
			w.t.Errorf("%s: process %d started at %d, process %d at %d", key, was.number, was.started, is.number,
				is.started)
		}
	}
	w.before = now
}
