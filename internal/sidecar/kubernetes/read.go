package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// inferencePool is what is read of an InferencePool.
type inferencePool struct {
	Spec struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		TargetPorts []struct {
			Number uint16 `json:"number"`
		} `json:"targetPorts"`
	} `json:"spec"`
}

// inferencePool is the object that the configured pool names, nil when it is not there.
func (d *Discovery) inferencePool(p *Pool) *unstructured.Unstructured {
	return get[*unstructured.Unstructured](d.watchers[watched{inferencePools.GroupResource(), p.Namespace}],
		p.Namespace, p.InferencePool)
}

// deleted reports whether an object is deleted and only kept by its finalizers. Endpoint pickers take one for gone,
// too.
func deleted(object *unstructured.Unstructured) bool { return object.GetDeletionTimestamp() != nil }

// ofInferencePool returns no endpoints for a pool that is not there, as when its pods were gone; missing tells of it.
// One that cannot be read has those of the pods that it chose when it last could, none if it never could.
func (d *Discovery) ofInferencePool(p *Pool) ([]portOf, error) {
	object := d.inferencePool(p)
	if object == nil || deleted(object) {
		delete(d.readable, p)
		return nil, nil
	}
	var pool inferencePool
	err := read(object, &pool)
	switch last, known := d.readable[p]; {
	case err == nil:
		d.readable[p] = pool
	case known:
		pool, err = last, fmt.Errorf("%s holds as it was before: %w", called(object), err)
	default:
		return nil, fmt.Errorf("%s cannot be read: %w", called(object), err)
	}
	var ports []uint16
	for _, port := range pool.Spec.TargetPorts {
		ports = append(ports, port.Number)
	}
	return d.ofPods(p, labels.SelectorFromSet(pool.Spec.Selector.MatchLabels), ports), err
}

// read fills into from an object's spec. A field that cannot be read is an error that names it; the others are filled
// all the same. API servers let through what the kind's definition allows, which is not always the one known here.
func read(object *unstructured.Unstructured, into any) error {
	text, err := json.Marshal(map[string]any{"spec": object.Object["spec"]})
	if err != nil {
		return err
	}
	err = json.Unmarshal(text, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: %s does not fit", wrong.Field, wrong.Value)
	}
	return err
}

// called is how people find an object: its kind and group, its namespace and its name.
func called(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s", object.GroupVersionKind().GroupKind(), nameOf(object))
}
