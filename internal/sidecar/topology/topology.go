// Package topology is what the sidecar knows of the fleet: the endpoints with the objectives and rewrites that go with
// them, where they come from, and how the parts of several sources become one.
package topology

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/snapshot"
)

// Endpoint is one model server as a Discovery reports it.
type Endpoint struct {
	snapshot.Endpoint
	// Access is how it is asked for its load and its models; nil is plain HTTP without credentials.
	Access *Access
	// Node is the address of the machine that it runs on, without a port; empty is unknown.
	Node string
	// Pool is the set that it was found in, by the name that metrics have for it; empty is DefaultPool.
	Pool string
}

// DefaultPool is what metrics call the endpoints that are listed one by one.
const DefaultPool = "default"

// Part is what one source knows: endpoints, and the objectives and rewrites that go with them.
type Part struct {
	Endpoints []Endpoint
	// Pools are those that endpoints are looked for in, by the names that metrics have for them: also without any.
	Pools      []string
	Objectives []snapshot.Objective
	Rewrites   []snapshot.Rewrite
}

// Snapshot returns what an Envoy is told of p.
func (p *Part) Snapshot() *snapshot.Topology {
	t := &snapshot.Topology{Objectives: p.Objectives, Rewrites: p.Rewrites}
	for i := range p.Endpoints {
		t.Endpoints = append(t.Endpoints, p.Endpoints[i].Endpoint)
	}
	return t
}

// Discovery finds model servers. Each source, such as a file or a Kubernetes watch, is one implementation.
type Discovery interface {
	// Name tells people which source is meant, such as the path of a file.
	Name() string
	// Run calls emit with everything that the source knows, at once and after every change until ctx ends. An error in
	// place of that says why the source cannot be read now; the last good part then stands, unless the error is one of
	// Partly. Parts are not modified after they were emitted, and emit is not called by two goroutines at a time.
	Run(ctx context.Context, emit func(part Part, err error))
}

// Partly returns an error that a part comes with: err says what of the source cannot be read now, and the rest is new.
// That of nil is nil.
func Partly(err error) error {
	if err == nil {
		return nil
	}
	return partly{err}
}

// IsPartly reports whether an error is one of Partly.
func IsPartly(err error) bool {
	_, ok := err.(partly)
	return ok
}

type partly struct{ error }

func (p partly) Unwrap() error { return p.error }

// Source is one part and where it came from.
type Source struct {
	Name string
	Part Part
}

// AdapterBytes is the room that a message keeps for attributes and for LoRA adapter names and indexes, entryBytes that
// for an endpoint's other load.
const (
	AdapterBytes = 1 << 20
	entryBytes   = 64
	// sectionBytes and baseBytes are what a section of base models takes, by itself and for each endpoint.
	sectionBytes = 8
	baseBytes    = 2
	// maxBytes is the most that a topology record may take.
	maxBytes = snapshot.MaxMessageBytes - AdapterBytes
)

// Join makes one part of the sources, in order of names. It always fits into one message: what cannot be told or does
// not fit is left out, and problems says so, a line each. Of two endpoints or objectives of one name the first source's
// is taken.
func Join(sources []Source) (p *Part, problems []string) {
	j := joint{part: &Part{}, from: map[string]string{}, objectives: map[string]bool{}}
	for _, s := range sources {
		j.rules(s)
		j.endpoints(s)
		j.part.Pools = append(j.part.Pools, s.Part.Pools...)
	}
	slices.SortFunc(j.part.Endpoints, func(a, b Endpoint) int { return cmp.Compare(a.Name, b.Name) })
	j.fit()
	return j.part, j.problems
}

// joint is a topology in the making.
type joint struct {
	part       *Part
	from       map[string]string // endpoints' names, and the sources that they are of
	objectives map[string]bool
	problems   []string
}

func (j *joint) problem(format string, args ...any) {
	j.problems = append(j.problems, fmt.Sprintf(format, args...))
}

func (j *joint) endpoints(s Source) {
	for _, e := range s.Part.Endpoints {
		if other, again := j.from[e.Name]; again {
			j.problem("%s: endpoint name %q is there already, in %s; each name once is right, and the first is taken",
				s.Name, e.Name, other)
			continue
		}
		if _, err := size(snapshot.Topology{Endpoints: []snapshot.Endpoint{e.Endpoint}}); err != nil {
			j.problem("%s: endpoint %.100q is left out: no snapshot can tell of it: %v", s.Name, e.Name, err)
			continue
		}
		j.from[e.Name] = s.Name
		j.part.Endpoints = append(j.part.Endpoints, e)
	}
}

func (j *joint) rules(s Source) {
	for _, o := range s.Part.Objectives {
		if j.objectives[o.Name] {
			j.problem("%s: objectives: name %q is there twice; each name once is right, and the first is taken", s.Name,
				o.Name)
			continue
		}
		if _, err := size(snapshot.Topology{Objectives: []snapshot.Objective{o}}); err != nil {
			j.problem("%s: objective %.100q is left out: no snapshot can tell of it: %v", s.Name, o.Name, err)
			continue
		}
		j.objectives[o.Name] = true
		j.part.Objectives = append(j.part.Objectives, o)
	}
	for i, r := range s.Part.Rewrites {
		if _, err := size(snapshot.Topology{Rewrites: []snapshot.Rewrite{r}}); err != nil {
			j.problem("%s: rewrite %d is left out: no snapshot can tell of it: %v", s.Name, i+1, err)
			continue
		}
		j.part.Rewrites = append(j.part.Rewrites, r)
	}
}

// fit leaves out what does not fit into one message. Rules come before endpoints, which are of no use without them.
func (j *joint) fit() {
	t := j.part
	rules, err := size(snapshot.Topology{Objectives: t.Objectives, Rewrites: t.Rewrites})
	if err != nil || rules > maxBytes/2 {
		j.problem("%d objectives and %d rewrites do not fit into one snapshot and are left out; fewer are right",
			len(t.Objectives), len(t.Rewrites))
		t.Objectives, t.Rewrites, rules = nil, nil, 0
	}
	left, out, all := maxBytes-rules, "", len(t.Endpoints)
	t.Endpoints = slices.DeleteFunc(t.Endpoints, func(e Endpoint) bool {
		// encodable, or it were not here
		bytes, _ := size(snapshot.Topology{Endpoints: []snapshot.Endpoint{e.Endpoint}})
		if bytes += entryBytes; bytes <= left {
			left -= bytes
			return false
		}
		out = cmp.Or(out, e.Name)
		return true
	})
	if n := all - len(t.Endpoints); n > 0 {
		j.problem("%d of %d endpoints do not fit into one snapshot and are left out, such as %s; "+
			"fewer endpoints, or shorter labels and lists of models, are right", n, all, out)
	}
}

// size is how many bytes t's record takes.
func size(t snapshot.Topology) (int, error) {
	record, err := snapshot.AppendTopology(nil, &t, snapshot.Position{})
	return len(record), err
}

// AddModels gives each endpoint without models those that told has for it. When all of them together do not fit into
// one message every endpoint gets as much room as the others, a list is cut at its end, and problem says so. Of the
// models that were told the first base ones are base models.
func AddModels(t *Part, told func(e *Endpoint) (models []string, base int)) (problem string) {
	type list struct {
		endpoint    *Endpoint
		models      []string
		base, bytes int
	}
	var lists []list
	used, _ := size(*t.Snapshot())
	left := maxBytes - used - sectionBytes - (entryBytes+baseBytes)*len(t.Endpoints)
	for i := range t.Endpoints {
		e := &t.Endpoints[i]
		if len(e.Models) > 0 {
			continue
		}
		l := list{endpoint: e}
		if l.models, l.base = told(e); len(l.models) > 0 {
			for _, m := range l.models {
				l.bytes += nameBytes(m)
			}
			lists = append(lists, l)
		}
	}
	// The shortest first, so that what they leave of their share is the others'.
	slices.SortStableFunc(lists, func(a, b list) int { return cmp.Compare(a.bytes, b.bytes) })
	var cut []string
	names := 0
	for i, l := range lists {
		share, n := left/(len(lists)-i), 0
		for n < len(l.models) && nameBytes(l.models[n]) <= share {
			share -= nameBytes(l.models[n])
			left -= nameBytes(l.models[n])
			n++
		}
		l.endpoint.Models, l.endpoint.BaseModels = l.models[:n:n], min(l.base, n)
		if n < len(l.models) {
			cut = append(cut, l.endpoint.Name)
			names += len(l.models) - n
		}
	}
	if len(cut) == 0 {
		return ""
	}
	return fmt.Sprintf("models: %d names at %d of %d endpoints, such as %s, do not fit into one snapshot and get no "+
		"requests there; "+
		"fewer or shorter names are right", names, len(cut), len(t.Endpoints), slices.Min(cut))
}

// nameBytes is what a model's name takes in a record.
func nameBytes(name string) int { return 2 + len(name) }
