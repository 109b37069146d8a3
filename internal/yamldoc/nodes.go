package yamldoc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Nodes returns the roots of all documents of a text; empty ones are left out.
func Nodes(text []byte) ([]*goyaml.Node, error) {
	text = withoutForeign(text)
	d := goyaml.NewDecoder(bytes.NewReader(text))
	var roots []*goyaml.Node
	for {
		var n goyaml.Node
		err := d.Decode(&n)
		if err != nil && isEOF(err) {
			return roots, nil
		}
		if err != nil {
			return nil, syntaxError(text, err)
		}
		if len(n.Content) > 0 && n.Content[0].ShortTag() != "!!null" {
			roots = append(roots, n.Content[0])
		}
	}
}

// At returns what stands at a key of a mapping, nil for nothing.
func At(n *goyaml.Node, key string) *goyaml.Node {
	if n == nil || n.Kind != goyaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// Scalar returns the text of a scalar, empty for anything else.
func Scalar(n *goyaml.Node) string {
	if n == nil || n.Kind != goyaml.ScalarNode {
		return ""
	}
	return n.Value
}

// Of returns the document that a part of another one is, with all that its aliases stand for. Lines are those of the
// whole.
func Of(n *goyaml.Node) (*Document, error) {
	if mistake := cmp.Or(badKey(n), badNumber(n), twiceGiven(n)); mistake != "" {
		return nil, errors.New(mistake)
	}
	root, mistake := expand(n)
	if mistake != "" {
		return nil, errors.New(mistake)
	}
	text, err := goyaml.Marshal(root)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	json, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	return &Document{JSON: json, root: root}, nil
}

// ReadFrom is Read for a text whose first line is a later one of a file.
func ReadFrom(line int, text []byte) (*Document, error) {
	return Read(append(bytes.Repeat([]byte("\n"), max(line-1, 0)), text...))
}

// ReadWithin is Read for a text that stands in one line of a file, such as a string of JSON: that is the line of all in
// it.
func ReadWithin(line int, text []byte) (*Document, error) {
	d, err := Read(text)
	if err != nil {
		return nil, errors.New(anyLine.ReplaceAllString(err.Error(), fmt.Sprintf("line %d: ", line)))
	}
	d.moveTo(line)
	return d, nil
}

var anyLine = regexp.MustCompile(`(?m)^line \d+: `)

func (d *Document) moveTo(line int) {
	var move func(n *goyaml.Node)
	move = func(n *goyaml.Node) {
		n.Line = line
		for _, child := range n.Content {
			move(child)
		}
	}
	if d.root != nil {
		move(d.root)
	}
}
