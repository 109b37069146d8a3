package migrate

import (
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// text returns the scalar at a key, empty for none.
func text(n *goyaml.Node, key string) string { return yamldoc.Scalar(yamldoc.At(n, key)) }

func scalar(value string) *goyaml.Node {
	n := &goyaml.Node{}
	n.SetString(value)
	return n
}

// mapping makes a mapping of keys and values, which are strings or nodes. Nodes that are nil are left out.
func mapping(pairs ...any) *goyaml.Node {
	m := &goyaml.Node{Kind: goyaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(pairs); i += 2 {
		switch value := pairs[i+1].(type) {
		case string:
			m.Content = append(m.Content, scalar(pairs[i].(string)), scalar(value))
		case *goyaml.Node:
			if value != nil {
				m.Content = append(m.Content, scalar(pairs[i].(string)), value)
			}
		}
	}
	return m
}

// take takes a key out of a mapping, and reports whether it was there.
func take(m *goyaml.Node, key string) bool {
	if yamldoc.At(m, key) == nil {
		return false
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content = slices.Delete(m.Content, i, i+2)
			break
		}
	}
	return true
}

func list(items ...*goyaml.Node) *goyaml.Node {
	return &goyaml.Node{Kind: goyaml.SequenceNode, Tag: "!!seq", Content: items}
}

// comment puts a text above a node, below what is there.
func comment(n *goyaml.Node, text string) {
	if text = remark(text); !strings.Contains(n.HeadComment, text) {
		appendTo(&n.HeadComment, text)
	}
}

// remarkWidth is where the lines of a comment break.
const remarkWidth = 110

// remark writes a text as a comment.
func remark(text string) string {
	var out strings.Builder
	length := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case length == 0:
			out.WriteString("#")
			length = 1
		case length+1+len(word) > remarkWidth:
			out.WriteString("\n# ")
			length = 2
		}
		out.WriteString(" " + word)
		length += 1 + len(word)
	}
	return out.String()
}

// block has a node and all in it written in lines of their own where it has more than scalars in it. A comment behind
// its brace stands above it then: behind its last line it would be written to what follows, or nowhere.
func block(n *goyaml.Node) {
	if n.Style&goyaml.FlowStyle != 0 && len(n.Content) > 0 && n.LineComment != "" {
		appendTo(&n.HeadComment, n.LineComment)
		n.LineComment = ""
	}
	n.Style &^= goyaml.FlowStyle
	for _, child := range n.Content {
		block(child)
	}
}
