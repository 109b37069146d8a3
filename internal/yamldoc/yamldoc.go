// Package yamldoc reads YAML documents for the readers of package strictjson, and tells on which lines the mistakes are
// that these find.
package yamldoc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// Document is one YAML document.
type Document struct {
	// JSON is what it says; nil when it is empty.
	JSON []byte
	root *goyaml.Node
}

// Mistakes of the document as a whole begin with one of these, as its reader calls it, until Locate has put the line
// there.
const (
	document      = "document"
	configuration = "configuration"
)

// Read reads one document. JSON is YAML, so it may be given too. A key given twice is an error, and so is a second
// document, unless it is empty. Errors are one line each, and show no value.
func Read(text []byte) (*Document, error) {
	text = withoutForeign(text)
	d := goyaml.NewDecoder(bytes.NewReader(text))
	var first goyaml.Node
	if err := d.Decode(&first); err != nil && len(bytes.TrimSpace(text)) > 0 && first.Kind == 0 && !isEOF(err) {
		return nil, syntaxError(text, err)
	}
	if err := d.Decode(&goyaml.Node{}); err == nil {
		return readOnly(text)
	} else if !isEOF(err) {
		return nil, syntaxError(text, err)
	}
	if mistake := cmp.Or(badKey(&first), badNumber(&first), twiceGiven(&first)); mistake != "" {
		return nil, errors.New(mistake)
	}
	if refers(&first) {
		return Of(first.Content[0])
	}
	json, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	doc := &Document{JSON: json}
	if string(json) == "null" {
		doc.JSON = nil
	}
	if len(first.Content) > 0 {
		doc.root = first.Content[0]
	}
	return doc, nil
}

// readOnly is Read for a text of several documents, of which one at most may have something in it.
func readOnly(text []byte) (*Document, error) {
	roots, err := Nodes(text)
	switch {
	case err != nil:
		return nil, err
	case len(roots) > 1:
		return nil, fmt.Errorf("line %d: another YAML document begins; one alone is right", roots[1].Line)
	case len(roots) == 0:
		return &Document{}, nil
	}
	return Of(roots[0])
}

func isEOF(err error) bool { return err.Error() == "EOF" }

var quote = regexp.MustCompile(`'[^']*'|"[^"]*"|` + "`[^`]*`")

// badKey finds a key that is no word, which JSON could not tell.
func badKey(n *goyaml.Node) string {
	if n.Kind == goyaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == goyaml.AliasNode {
				key = key.Alias
			}
			if key.Kind != goyaml.ScalarNode {
				return fmt.Sprintf("line %d: a key is a list or a mapping; a string is right", n.Content[i].Line)
			}
			if key.ShortTag() == "!!null" {
				return fmt.Sprintf("line %d: a key is null; a string is right", n.Content[i].Line)
			}
		}
	}
	for _, child := range n.Content {
		if mistake := badKey(child); mistake != "" {
			return mistake
		}
	}
	return ""
}

// badNumber finds a number that JSON cannot tell.
func badNumber(n *goyaml.Node) string {
	if n.Kind == goyaml.ScalarNode && n.ShortTag() == "!!float" && strings.ContainsAny(n.Value, "fFnN") {
		return fmt.Sprintf("line %d: %s is not a number that there is; a finite one is right", n.Line, n.Value)
	}
	for _, child := range n.Content {
		if mistake := badNumber(child); mistake != "" {
			return mistake
		}
	}
	return ""
}

// Parse returns the document's root, for a reader that asks it for its keys. An empty document has none.
func (d *Document) Parse() (*strictjson.Object, *strictjson.Document) {
	text := d.JSON
	if text == nil {
		text = []byte("{}")
	}
	return strictjson.Parse(text, document)
}

// Locate puts the line before each mistake that a reader of d found, and sorts them by it. Other errors stay as they
// are.
func (d *Document) Locate(err error) error {
	var mistakes strictjson.Mistakes
	if !errors.As(err, &mistakes) {
		return err
	}
	type located struct {
		line int
		text string
	}
	all := make([]located, len(mistakes))
	for i, text := range mistakes {
		line := 1
		if d.root != nil {
			line = lineOf(d.root, text)
		}
		if bare.MatchString(text) {
			text += "; in quotes it is one"
		}
		all[i] = located{line, strings.TrimPrefix(strings.TrimPrefix(text, document+": "), configuration+": ")}
	}
	slices.SortStableFunc(all, func(a, b located) int { return cmp.Compare(a.line, b.line) })
	told := make(strictjson.Mistakes, len(all))
	for i, l := range all {
		told[i] = fmt.Sprintf("line %d: %s", l.line, l.text)
	}
	return told
}

var (
	bare    = regexp.MustCompile(`: (true|false|-?[\d.e+]+) is not a string$`)
	index   = regexp.MustCompile(`^\[(\d+)\]`)
	label   = regexp.MustCompile(`^\([\w./-]+\)`) // see strictjson.Object.LabelBy
	unknown = regexp.MustCompile(`^(?:` + document + `|` + configuration + `)?: unknown key ("(?:[^"\\]|\\.)*")`)
)

// lineOf is the line of the value that a mistake names by its path, such as discovery.static[0].address, or of the
// unknown key that it names.
func lineOf(n *goyaml.Node, mistake string) int {
	path := Path(n, mistake)
	return path[len(path)-1].Line
}

// Path returns the nodes on the way from n to what a mistake is about, as far as they are there. Of an unknown key the
// last one is the key, else a value.
func Path(n *goyaml.Node, mistake string) []*goyaml.Node {
	path := []*goyaml.Node{n}
	for {
		if m := unknown.FindStringSubmatch(mistake); m != nil && n.Kind == goyaml.MappingNode {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if fmt.Sprintf("%q", n.Content[i].Value) == m[1] {
					return append(path, n.Content[i])
				}
			}
			return path
		}
		next, rest := step(n, mistake)
		if next == nil {
			return path
		}
		n, mistake = next, rest
		path = append(path, n)
	}
}

// Root is the document's root, nil for an empty one.
func (d *Document) Root() *goyaml.Node { return d.root }

// step goes one key or one item down the path at the beginning of mistake. Keys may have dots in them: the longest that
// fits is meant.
func step(n *goyaml.Node, mistake string) (next *goyaml.Node, rest string) {
	switch n.Kind {
	case goyaml.SequenceNode:
		m := index.FindStringSubmatch(mistake)
		var i int
		if m == nil {
			return nil, ""
		}
		if _, err := fmt.Sscan(m[1], &i); err != nil || i >= len(n.Content) {
			return nil, ""
		}
		return n.Content[i], within(mistake[len(m[0]):])
	case goyaml.MappingNode:
		longest := -1
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			after, ok := strings.CutPrefix(mistake, key)
			if ok && key != "" && len(key) > longest && after != "" && strings.ContainsRune(".[:(", rune(after[0])) {
				longest = len(key)
				// A value that begins on a later line is wrong there; one that is missing, at its key.
				next, rest = n.Content[i+1], within(after)
			}
		}
	}
	return next, rest
}

// within is what a path says behind a key or an index, without the name of what is there.
func within(rest string) string { return strings.TrimPrefix(rest[len(label.FindString(rest)):], ".") }
