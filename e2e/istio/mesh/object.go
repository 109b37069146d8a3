package mesh

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Object is a Kubernetes object.
type Object map[string]any

// Parse reads the objects of a YAML stream.
func Parse(text []byte) ([]Object, error) {
	var objects []Object
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o Object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if o != nil {
			objects = append(objects, o)
		}
	}
}

// Kind is the object's kind.
func (o Object) Kind() string { kind, _ := o["kind"].(string); return kind }

// Name is the object's name.
func (o Object) Name() string { return o.metadata("name") }

func (o Object) namespace() string { return o.metadata("namespace") }

func (o Object) apiVersion() string { version, _ := o["apiVersion"].(string); return version }

func (o Object) metadata(key string) string {
	value, _ := o.At("metadata", key).(string)
	return value
}

// String is the kind and the name.
func (o Object) String() string { return o.Kind() + " " + o.Name() }

// At returns what is at a path of keys and indexes, nil where there is nothing.
func (o Object) At(path ...any) any {
	var at any = map[string]any(o)
	for _, step := range path {
		switch step := step.(type) {
		case string:
			switch m := at.(type) {
			case map[string]any:
				at = m[step]
			case Object:
				at = m[step]
			default:
				return nil
			}
		case int:
			list, _ := at.([]any)
			if step >= len(list) {
				return nil
			}
			at = list[step]
		}
	}
	return at
}

// Set puts a value at a path whose parent is there; it panics when that is not so, as the manifests have then changed.
func (o Object) Set(value any, path ...any) {
	parent, last := o.At(path[:len(path)-1]...), path[len(path)-1]
	switch parent := parent.(type) {
	case map[string]any:
		parent[last.(string)] = value
	case Object:
		parent[last.(string)] = value
	case []any:
		parent[last.(int)] = value
	default:
		panic(fmt.Sprintf("%s: nothing to set at %v", o, path))
	}
}

// Find returns the object of a kind and a name, nil when it is not there.
func Find(objects []Object, kind, name string) Object {
	for _, o := range objects {
		if o.Kind() == kind && o.Name() == name {
			return o
		}
	}
	return nil
}
