// Package topology is what the sidecar knows of the fleet: the endpoints with the objectives and rewrites that go with them, where they
// come from, and how the parts of several sources become one.
package topology

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/snapshot"
)

// Endpoint is one model server as a Discovery reports it.
type Endpoint = snapshot.Endpoint

// Part is what one source knows: endpoints, and the objectives and rewrites that go with them.
type Part = snapshot.Topology

// Discovery finds model servers. Each source, such as a file or a Kubernetes watch, is one implementation.
type Discovery interface {
	// Name tells people which source is meant, such as the path of a file.
	Name() string
	// Run calls emit with everything that the source knows, at once and after every change until ctx ends. An error in place
	// of that says why the source cannot be read now; the last good part then stands. Parts are not modified
	// after they were emitted, and emit is not called by two goroutines at a time.
	Run(ctx context.Context, emit func(part Part, err error))
}

// Source is one part and where it came from.
type Source struct {
	Name string
	Part Part
}

// AdapterBytes is the room that a message keeps for LoRA adapter names and indexes.
const AdapterBytes = 1 << 20

// Join makes one topology of the sources, in order of names. Names must differ, and the result must fit into one message.
func Join(sources []Source) (*snapshot.Topology, error) {
	t := &snapshot.Topology{}
	from := map[string]string{}
	for _, s := range sources {
		t.Objectives = append(t.Objectives, s.Part.Objectives...)
		t.Rewrites = append(t.Rewrites, s.Part.Rewrites...)
		for _, e := range s.Part.Endpoints {
			if other, again := from[e.Name]; again {
				return nil, fmt.Errorf("%s: endpoint name %q is there already, in %s; each name once is right", s.Name, e.Name, other)
			}
			from[e.Name] = s.Name
			t.Endpoints = append(t.Endpoints, e)
		}
	}
	for i, o := range t.Objectives {
		if slices.ContainsFunc(t.Objectives[:i], func(other snapshot.Objective) bool { return other.Name == o.Name }) {
			return nil, fmt.Errorf("objectives: name %q is there twice; each name once is right", o.Name)
		}
	}
	slices.SortFunc(t.Endpoints, func(a, b Endpoint) int { return cmp.Compare(a.Name, b.Name) })
	record, err := snapshot.AppendTopology(nil, t, snapshot.Position{})
	const entryBytes = 64
	if err == nil && len(record)+entryBytes*len(t.Endpoints) > snapshot.MaxMessageBytes-AdapterBytes {
		err = snapshot.ErrTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%d endpoints do not fit into one snapshot (%w); fewer endpoints or shorter labels are right",
			len(t.Endpoints), err)
	}
	return t, nil
}
