package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// value is one YAML value and the path of keys that leads to it. Its methods fail with one line that names the path, what
// stands there and what would be right.
type value struct {
	node *yaml.Node
	path string
}

// parseYAML returns the document's root.
func parseYAML(content []byte) (value, error) {
	d := yaml.NewDecoder(bytes.NewReader(content))
	var document, second yaml.Node
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		return value{}, errors.New("the file is empty")
	case err != nil:
		return value{}, errors.New(oneLine(err.Error()))
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return value{}, errors.New("the file has more than one document; one is right")
	}
	return value{node: document.Content[0]}, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (v value) resolved() *yaml.Node {
	if v.node.Kind == yaml.AliasNode {
		return v.node.Alias
	}
	return v.node
}

// errorf says that something is wrong with v: "line 3: scrape.interval: ...".
func (v value) errorf(format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if v.path != "" {
		message = v.path + ": " + message
	}
	return fmt.Errorf("line %d: %s", v.node.Line, message)
}

// shown is how v appears in messages.
func (v value) shown() string {
	switch n := v.resolved(); n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		if n.Tag == "!!null" {
			return "nothing"
		}
		if n.Tag == "!!str" {
			return fmt.Sprintf("%q", n.Value)
		}
		return n.Value
	}
}

func (v value) wrongType(right string) error {
	return v.errorf("%s is wrong; %s is right", v.shown(), right)
}

// entry is one pair of a mapping.
type entry struct {
	key string
	value
}

// entries returns a mapping's pairs in the order of the file. Keys are strings, each once.
func (v value) entries() ([]entry, error) {
	n := v.resolved()
	if n.Kind != yaml.MappingNode {
		return nil, v.wrongType("a mapping")
	}
	var all []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := value{node: n.Content[i], path: v.path}
		if k := key.resolved(); k.Kind != yaml.ScalarNode || k.Tag != "!!str" {
			return nil, key.errorf("key %s is wrong; a string is right", key.shown())
		}
		e := entry{key: key.resolved().Value}
		e.value = value{node: n.Content[i+1], path: e.key}
		if v.path != "" {
			e.path = v.path + "." + e.key
		}
		if slices.ContainsFunc(all, func(o entry) bool { return o.key == e.key }) {
			return nil, value{node: n.Content[i], path: e.path}.errorf("the key is there twice; once is right")
		}
		all = append(all, e)
	}
	return all, nil
}

// fields reads a mapping whose keys are those of read, each with its own reader.
func (v value) fields(read map[string]func(value) error) error {
	entries, err := v.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if read[e.key] == nil {
			known := make([]string, 0, len(read))
			for key := range read {
				known = append(known, key)
			}
			slices.Sort(known)
			return e.errorf("unknown key with value %s; known keys are %s", e.shown(), strings.Join(known, ", "))
		}
		if err := read[e.key](e.value); err != nil {
			return err
		}
	}
	return nil
}

// items returns a list's items.
func (v value) items() ([]value, error) {
	n := v.resolved()
	if n.Kind != yaml.SequenceNode {
		return nil, v.wrongType("a list, [] when empty,")
	}
	all := make([]value, len(n.Content))
	for i, item := range n.Content {
		all[i] = value{node: item, path: fmt.Sprintf("%s[%d]", v.path, i)}
	}
	return all, nil
}

// text reads a string.
func (v value) text() (string, error) {
	n := v.resolved()
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		return n.Value, nil
	}
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return "", v.errorf("%s is no string; write it in quotes: %q", n.Value, n.Value)
	}
	return "", v.wrongType("a string")
}

// texts reads a list of strings.
func (v value) texts() ([]string, error) {
	items, err := v.items()
	if err != nil {
		return nil, err
	}
	all := make([]string, len(items))
	for i, item := range items {
		if all[i], err = item.text(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// boolean reads true or false.
func (v value) boolean() (bool, error) {
	n := v.resolved()
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		return false, v.wrongType("true or false")
	}
	var b bool
	err := n.Decode(&b)
	return b, err
}

// integer reads a whole number from least to most.
func (v value) integer(least, most int32) (int32, error) {
	n := v.resolved()
	number, err := strconv.ParseInt(n.Value, 10, 32)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || number < int64(least) || number > int64(most) {
		return 0, v.errorf("%s is wrong; a whole number from %d to %d is right", v.shown(), least, most)
	}
	return int32(number), nil
}

// duration reads a duration of at least least.
func (v value) duration(least time.Duration) (time.Duration, error) {
	n := v.resolved()
	if n.Kind != yaml.ScalarNode {
		return 0, v.wrongType("a duration such as 50ms")
	}
	d, err := time.ParseDuration(n.Value)
	if err != nil {
		return 0, v.errorf("%s is no duration; one with a unit, such as 50ms, is right", v.shown())
	}
	if d < least {
		return 0, v.errorf("%s is too short; %v or more is right", n.Value, least)
	}
	return d, nil
}
