package kubernetes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	gslices "slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// poolRef is how an objective or a rewrite names its pool.
type poolRef struct {
	Group *string `json:"group"`
	Kind  *string `json:"kind"`
	Name  string  `json:"name"`
}

type objective struct {
	Spec struct {
		// Priority is an int32, but the API server lets larger numbers through.
		Priority int64   `json:"priority"`
		PoolRef  poolRef `json:"poolRef"`
	} `json:"spec"`
}

type rewrite struct {
	Spec struct {
		PoolRef poolRef `json:"poolRef"`
		Rules   []struct {
			Matches []struct {
				Model struct {
					Value string `json:"value"`
				} `json:"model"`
			} `json:"matches"`
			Targets []struct {
				Weight       int64  `json:"weight"`
				ModelRewrite string `json:"modelRewrite"`
			} `json:"targets"`
		} `json:"rules"`
	} `json:"spec"`
}

// rules adds the objectives and rewrites of the configured InferencePools in the order of ofPools: of two for the same
// name the first one holds. One that cannot be read is left out, and the error names it.
func (d *Discovery) rules(t *topology.Part) error {
	var unread []error
	seen := map[string]bool{}
	for _, object := range d.ofPools(objectives) {
		var o objective
		ours, err := d.readRule(object, &o, &o.Spec.PoolRef)
		unread = append(unread, err)
		if ours && !seen[object.GetName()] {
			seen[object.GetName()] = true
			priority := min(max(o.Spec.Priority, math.MinInt32), math.MaxInt32)
			t.Objectives = append(t.Objectives, snapshot.Objective{Name: object.GetName(), Priority: int32(priority)})
		}
	}
	for _, object := range d.ofPools(rewrites) {
		var r rewrite
		ours, err := d.readRule(object, &r, &r.Spec.PoolRef)
		if ours && r.empty() {
			ours, err = false, fmt.Errorf("%s is left out: spec.rules.targets.modelRewrite: nothing is there; the "+
				"model to ask for is right", called(object))
		}
		unread = append(unread, err)
		if ours {
			t.Rewrites = append(t.Rewrites, r.read()...)
		}
	}
	return errors.Join(unread...)
}

// readRule fills into, of which ref is a part, and reports whether it is there to be used: it can be read, and is of a
// configured InferencePool. One of which not even the pool can be read may be, and is an error as well.
func (d *Discovery) readRule(object *unstructured.Unstructured, into any, ref *poolRef) (ours bool, err error) {
	err = read(object, into)
	ours = d.has(object, *ref)
	switch {
	case err == nil:
		return ours, nil
	case ours || ref.Name == "":
		return false, fmt.Errorf("%s is left out: %w", called(object), err)
	}
	return false, nil
}

// ofPools returns the objects in the pools' namespaces, those of the first kind before those of the next, and the
// oldest of a kind first. One of the same name as an object of an earlier kind is left out, as it was moved there, and
// so is one that is deleted.
func (d *Discovery) ofPools(kinds []kind) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	moved := map[types.NamespacedName]bool{}
	for _, k := range kinds {
		from := len(objects)
		for _, o := range d.ofKind(k) {
			if !moved[nameOf(o)] && !deleted(o) {
				objects = append(objects, o)
			}
		}
		gslices.SortFunc(objects[from:], func(a, b *unstructured.Unstructured) int {
			return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
				cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
		for _, o := range objects[from:] {
			moved[nameOf(o)] = true
		}
	}
	return objects
}

// ofKind returns the objects of a kind in the pools' namespaces, in no order.
func (d *Discovery) ofKind(k kind) (objects []*unstructured.Unstructured) {
	for _, w := range d.order {
		if w.kind.GroupResource() == k.GroupResource() {
			objects = append(objects, all[*unstructured.Unstructured](w)...)
		}
	}
	return objects
}

func nameOf(o *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// has reports whether ref, in an object, names one of the configured InferencePools.
func (d *Discovery) has(object *unstructured.Unstructured, ref poolRef) bool {
	if ref.Name == "" || ref.Kind != nil && *ref.Kind != "InferencePool" ||
		ref.Group != nil && *ref.Group != inferencePools.Group {
		return false
	}
	return gslices.ContainsFunc(d.config.Pools, func(p Pool) bool {
		return p.InferencePool == ref.Name && p.Namespace == object.GetNamespace()
	})
}

// empty reports whether a target names no model: the kind's definition lets that through, and no server has it.
func (r *rewrite) empty() bool {
	for _, from := range r.Spec.Rules {
		for _, target := range from.Targets {
			if target.ModelRewrite == "" {
				return true
			}
		}
	}
	return false
}

// read returns the rules in their order. Targets without any weight are equally likely, as in the filter.
func (r *rewrite) read() []snapshot.Rewrite {
	var rules []snapshot.Rewrite
	for _, from := range r.Spec.Rules {
		var to snapshot.Rewrite
		for _, match := range from.Matches {
			to.Models = append(to.Models, match.Model.Value)
		}
		for _, target := range from.Targets {
			to.Targets = append(to.Targets,
				snapshot.RewriteTarget{Model: target.ModelRewrite, Weight: weight(target.Weight)})
		}
		if len(to.Targets) > 0 {
			rules = append(rules, to)
		}
	}
	return rules
}

// weight is the nearest one that a snapshot can tell.
func weight(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }
