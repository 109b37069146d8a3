package yamldoc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
)

// mostNodes bounds what a document is with all that its aliases stand for.
const mostNodes = 1 << 20

// refers reports whether an alias, or the keys of another mapping (<<), stand anywhere in n.
func refers(n *goyaml.Node) bool {
	return n.Kind == goyaml.AliasNode || n.Kind == goyaml.MappingNode && merges(n) ||
		slices.ContainsFunc(n.Content, refers)
}

func merges(mapping *goyaml.Node) bool {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if isMerge(mapping.Content[i]) {
			return true
		}
	}
	return false
}

func isMerge(key *goyaml.Node) bool {
	return key.Kind == goyaml.ScalarNode && key.ShortTag() == "!!merge"
}

// expander writes a document out: what aliases stand for takes their place.
type expander struct {
	nodes   int
	open    []*goyaml.Node // the anchors that are being written out
	mistake string
}

// expand returns n with all that its aliases stand for in their places, each with the lines of its anchor, and with the
// keys of the mappings that << names. The mistake is empty when that can be done.
func expand(n *goyaml.Node) (whole *goyaml.Node, mistake string) {
	e := &expander{}
	whole = e.copy(n, false)
	return whole, e.mistake
}

func (e *expander) fail(n *goyaml.Node, text string) {
	if e.mistake == "" {
		e.mistake = fmt.Sprintf("line %d: %s", n.Line, text)
	}
}

// copy is n written out. Comments stay where they stand, so that none is there twice.
func (e *expander) copy(n *goyaml.Node, aliased bool) *goyaml.Node {
	if e.nodes++; e.nodes > mostNodes {
		e.fail(n, "aliases make the document too large")
	}
	if n.Kind == goyaml.AliasNode {
		return e.alias(n)
	}
	to := *n
	to.Anchor, to.Content = "", nil
	if aliased {
		to.HeadComment, to.LineComment, to.FootComment = "", "", ""
	}
	if e.mistake != "" {
		return &to
	}
	if n.Kind == goyaml.MappingNode && merges(n) {
		to.Content = e.merged(n, aliased)
		return &to
	}
	for _, child := range n.Content {
		to.Content = append(to.Content, e.copy(child, aliased))
	}
	return &to
}

// alias is what n stands for.
func (e *expander) alias(n *goyaml.Node) *goyaml.Node {
	if slices.Contains(e.open, n.Alias) {
		e.fail(n, "an alias stands within what it stands for")
		return &goyaml.Node{Kind: goyaml.ScalarNode, Tag: "!!null", Line: n.Line}
	}
	e.open = append(e.open, n.Alias)
	to := e.copy(n.Alias, true)
	e.open = e.open[:len(e.open)-1]
	return to
}

// merged are the keys and values of a mapping with those that it takes from others: its own come first, and then those
// of the first other that has them.
func (e *expander) merged(n *goyaml.Node, aliased bool) (content []*goyaml.Node) {
	var given []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			given = append(given, n.Content[i].Value)
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !isMerge(key) {
			content = append(content, e.copy(key, aliased), e.copy(value, aliased))
			continue
		}
		for _, other := range e.sources(key, e.copy(value, aliased)) {
			for j := 0; j+1 < len(other.Content); j += 2 {
				if name := other.Content[j].Value; !slices.Contains(given, name) {
					given = append(given, name)
					content = append(content, other.Content[j], other.Content[j+1])
				}
			}
		}
	}
	return content
}

// sources are the mappings that the value of a merge key names: itself, or those in its list.
func (e *expander) sources(key, value *goyaml.Node) (mappings []*goyaml.Node) {
	from := []*goyaml.Node{value}
	if value.Kind == goyaml.SequenceNode {
		from = value.Content
	}
	for _, n := range from {
		if n.Kind != goyaml.MappingNode {
			e.fail(key, "<< is followed by something else than a mapping, or a list of them")
			continue
		}
		mappings = append(mappings, n)
	}
	return mappings
}

var word = regexp.MustCompile(`^[\w./-]+$`)

// twiceGiven tells each key that stands in a mapping twice, on a line of its own. It shows no key that may be a value.
func twiceGiven(n *goyaml.Node) string {
	var all []string
	if n.Kind == goyaml.MappingNode {
		var seen []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if slices.Contains(seen, key.Value) {
				shown := "a key"
				if word.MatchString(key.Value) {
					shown = fmt.Sprintf("key %q", key.Value)
				}
				all = append(all, fmt.Sprintf("line %d: %s is given twice", key.Line, shown))
			}
			seen = append(seen, key.Value)
		}
	}
	for _, child := range n.Content {
		if mistakes := twiceGiven(child); mistakes != "" {
			all = append(all, mistakes)
		}
	}
	return strings.Join(all, "\n")
}
