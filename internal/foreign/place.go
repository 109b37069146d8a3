package foreign

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// place is where a document lies in another file.
type place struct {
	path string
	node *goyaml.Node
	// name is the key of a chart's pluginsCustomConfig, and chosen that of its pluginsConfigFile.
	name, chosen string
	// message is what Envoy's file says that the document is a message of, empty in other files.
	message string
}

// first is the line on which the document begins.
func (p *place) first() int {
	if p.block() {
		return p.node.Line + 1
	}
	return p.node.Line
}

// block reports whether the document is a text of lines of its own.
func (p *place) block() bool {
	return p.node.Kind == goyaml.ScalarNode && p.node.Style&(goyaml.LiteralStyle|goyaml.FoldedStyle) != 0
}

func (p *place) read() (*Found, error) {
	found := &Found{Where: strings.TrimSuffix(p.path, ": "), Line: p.first()}
	var err error
	switch {
	case p.node.Kind != goyaml.ScalarNode:
		found.Document, err = yamldoc.Of(p.node)
	case p.block():
		found.Document, err = yamldoc.ReadFrom(p.first(), []byte(p.node.Value))
	default:
		found.Document, err = yamldoc.ReadWithin(p.node.Line, []byte(p.node.Value))
	}
	found.Unfit = p.unfit()
	return found, err
}

// unfit says why Envoy would hand the filter something else than JSON: it hands on the text of a StringValue as it
// stands, and all other messages in protobuf's binary form.
func (p *place) unfit() error {
	at := strings.TrimSuffix(p.path, ": ")
	switch path.Base(p.message) {
	case "google.protobuf.StringValue":
		if p.node.Kind != goyaml.ScalarNode || json.Valid([]byte(p.node.Value)) {
			return nil
		}
		return fmt.Errorf("line %d: %s: is no JSON, and Envoy hands the filter the text as it stands; the same as "+
			"JSON is right", p.first(), at)
	case "google.protobuf.Struct":
		return fmt.Errorf("line %d: %s: Envoy hands the filter a google.protobuf.Struct in a form that is no JSON; "+
			"the same as JSON in a google.protobuf.StringValue is right", p.first(), at)
	}
	return nil
}

// chosen returns those of the places that a chart names beside them, or all.
func chosen(places []place) []place {
	named := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return p.name == "" || p.name != p.chosen })
	if len(named) > 0 {
		return named
	}
	return places
}

// distinct returns the places without those whose text another one before them has. Envoy's /config_dump has each
// listener in its bootstrap, too, and shipped listeners have the same filter.
func distinct(places []place) []place {
	texts := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(places), func(p place) bool {
		again := p.node.Kind == goyaml.ScalarNode && texts[p.node.Value]
		texts[p.node.Value] = true
		return again
	})
}

// chosenByArgument returns the one of several places that a container's arguments name as the picker's file, or all.
func chosenByArgument(roots []*goyaml.Node, places []place) []place {
	if len(places) < 2 {
		return places
	}
	var named []place
	for _, root := range roots {
		for _, file := range arguments(root) {
			i := slices.IndexFunc(places, func(p place) bool { return strings.HasSuffix(p.path, "."+path.Base(file)) })
			known := func(p place) bool { return p.node == places[i].node }
			if i >= 0 && !slices.ContainsFunc(named, known) {
				named = append(named, places[i])
			}
		}
	}
	if len(named) == 1 {
		return named
	}
	return places
}

// configFlags are the pickers' flags that name the file of a document.
var configFlags = []string{"configFile", "config-file"}

// arguments are the files that lists of arguments below a node name by a flag of configFlags.
func arguments(n *goyaml.Node) (files []string) {
	for i, item := range n.Content {
		files = append(files, arguments(item)...)
		name, value, given := strings.Cut(strings.TrimLeft(item.Value, "-"), "=")
		switch {
		case n.Kind != goyaml.SequenceNode || !strings.HasPrefix(item.Value, "-"):
		case !slices.Contains(configFlags, name):
		case given:
			files = append(files, value)
		case i+1 < len(n.Content):
			files = append(files, n.Content[i+1].Value)
		}
	}
	return files
}

// look finds the documents below a node, in the order of the file.
func look(n *goyaml.Node, at string) []place {
	if n.Kind == goyaml.AliasNode {
		return nil // what it stands for is found at its anchor
	}
	if at != "" && configuration(n) || document(n) {
		return []place{{path: at, node: n}}
	}
	switch n.Kind {
	case goyaml.ScalarNode:
		if embedded(n) {
			return []place{{path: at, node: n}}
		}
	case goyaml.SequenceNode:
		var all []place
		for i, item := range n.Content {
			all = append(all, look(item, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return all
	case goyaml.MappingNode:
		var all []place
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			below := look(n.Content[i+1], join(at, key))
			if key == "value" && len(below) == 1 && below[0].path == join(at, key) {
				below[0].message = yamldoc.Scalar(yamldoc.At(n, "@type"))
			}
			if key == customConfig {
				for j := range below {
					below[j].name = strings.TrimPrefix(below[j].path, join(at, key)+".")
					below[j].chosen = yamldoc.Scalar(yamldoc.At(n, "pluginsConfigFile"))
				}
			}
			all = append(all, below...)
		}
		return all
	}
	return nil
}

// customConfig is the key of llm-d's and the Inference Extension's charts under which documents lie by the names of
// files.
const customConfig = "pluginsCustomConfig"

// meant tells a text that cannot be read and was meant for the filter.
var meant = regexp.MustCompile(`\bkind["']?\s*:\s*["']?EndpointPickerConfig\b|` +
	`(?s:^\s*\{.*"(?:ingest|schedulingProfiles)"\s*:)`)

// embedded reports whether a text is a document of its own.
func embedded(n *goyaml.Node) bool {
	named := strings.Contains(n.Value, kinds[0])
	// Istio writes a WasmPlugin's configuration as JSON in one line.
	lines := (strings.Contains(n.Value, "\n") || strings.HasPrefix(n.Value, "{")) &&
		(strings.Contains(n.Value, "plugins") || strings.Contains(n.Value, "kind:") ||
			strings.Contains(n.Value, "ingest"))
	if !named && !lines {
		return false
	}
	roots, err := yamldoc.Nodes([]byte(n.Value))
	if err != nil {
		return meant.MatchString(n.Value)
	}
	return len(roots) == 1 && (document(roots[0]) || configuration(roots[0]))
}

func join(at, key string) string {
	if at == "" || strings.HasSuffix(at, ": ") {
		return at + key
	}
	return at + "." + key
}
