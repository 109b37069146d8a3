// Package foreign finds the documents that a filter can read in the files that people have them in: values.yaml of
// Heimdall's and llm-d's charts, ConfigMaps, Deployments, KServe's resources, and Heimdall's own resources in one file.
package foreign

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// Found is a document that a filter can read, and where it lay.
type Found struct {
	*yamldoc.Document
	// Where is empty when the whole file is the document.
	Where string
	// Line is the document's first.
	Line int
	// Besides are the places beside it that say which servers there are and how they are read.
	Besides []string
	// Unfit says why the filter would not get the document from the file, though it can be read: nil where it would.
	Unfit error
}

// ownKeys are the keys by which a file is a configuration of the filter, or an EndpointPickerConfig.
var ownKeys = append([]string{
	"plugins", "schedulingProfiles", "featureGates", "saturationDetector", "dataLayer", "data", "flowControl",
	"requestHandler", "parser",
}, pluginconfig.OwnKeys...)

// Read finds the document in a file. Errors are of one line each and begin with the line, where there is one.
func Read(text []byte) (*Found, error) {
	roots, err := yamldoc.Nodes(text)
	if err == nil && len(roots) == 0 {
		return nil, errors.New("the document is empty; {} is the one with all defaults")
	}
	if err != nil || len(roots) == 1 && own(roots[0]) {
		document, err := yamldoc.Read(text)
		return &Found{Document: document, Line: 1}, err
	}
	if list := resources(roots); list != nil {
		if places := amongResources(roots); places != nil {
			return nil, several(places)
		}
		document, err := yamldoc.Of(list)
		return &Found{Document: document, Line: 1}, err
	}
	var places []place
	for i, root := range roots {
		at := ""
		if len(roots) > 1 {
			at = fmt.Sprintf("document %d: ", i+1)
		}
		places = append(places, look(root, at)...)
	}
	places = chosenByArgument(roots, distinct(chosen(places)))
	switch len(places) {
	case 0:
		if err := without(roots); err != nil {
			return nil, err
		}
		document, err := yamldoc.Read(text)
		return &Found{Document: document, Line: 1}, err
	case 1:
		found, err := places[0].read()
		for _, root := range roots {
			found.Besides = append(found.Besides, besides(root, "")...)
		}
		return found, err
	}
	return nil, several(places)
}

// without says why there is no document in a file that is known to be of another kind.
func without(roots []*goyaml.Node) error {
	for _, root := range roots {
		if n := search(root, "pluginsConfigFile"); n != nil {
			return fmt.Errorf("line %d: pluginsConfigFile: %s does not lie in this file; when the chart makes it, "+
				"give what helm template makes, and when it is built into the endpoint picker, take it from there",
				n.Line, strconv.Quote(n.Value))
		}
	}
	for _, root := range roots {
		if n := search(root, customConfig); n != nil {
			return fmt.Errorf("line %d: %s: no %s lies in it", n.Line, customConfig, kinds[0])
		}
	}
	if kind := yamldoc.At(roots[0], "kind"); kind != nil && yamldoc.At(roots[0], "metadata") != nil {
		return fmt.Errorf("line %d: kind: no %s lies in this %s", kind.Line, kinds[0], yamldoc.Scalar(kind))
	}
	return nil
}

// search returns what stands at a key, wherever it is.
func search(n *goyaml.Node, key string) *goyaml.Node {
	if found := yamldoc.At(n, key); found != nil {
		return found
	}
	for _, child := range n.Content {
		if found := search(child, key); found != nil {
			return found
		}
	}
	return nil
}

func several(places []place) error {
	lines := make([]string, len(places))
	for i, p := range places {
		lines[i] = fmt.Sprintf("%s (line %d)", strings.TrimSuffix(p.path, ": "), p.first())
	}
	return errors.New("several documents lie in the file: " + strings.Join(lines, ", ") +
		"; give the one that you mean in a file of its own")
}

// own reports whether a file is meant for the filter: an EndpointPickerConfig, a SchedulingProfile, or Pintle's own
// keys, be some of them mistyped.
func own(root *goyaml.Node) bool {
	if root.Kind != goyaml.MappingNode {
		return true
	}
	switch kind := yamldoc.Scalar(yamldoc.At(root, "kind")); {
	case slices.Contains(kinds, kind):
		return true
	case kind == kindList && sequence(yamldoc.At(root, "items")):
		return resources([]*goyaml.Node{root}) != nil
	case kind != "" && yamldoc.At(root, "metadata") != nil:
		return false
	}
	return (document(yamldoc.At(root, "config")) || len(look(root, "")) == 0) && ownOnly(root)
}

// ownOnly reports whether all keys of a mapping are such as a configuration of the filter has, be some of them
// mistyped.
func ownOnly(n *goyaml.Node) bool {
	return !slices.ContainsFunc(keys(n), func(key string) bool {
		return !slices.Contains(ownKeys, key) && strictjson.Nearest(key, ownKeys) == ""
	})
}

// configuration reports whether n is a whole configuration of the filter: a document with keys beside it, or the keys
// that only the filter has.
func configuration(n *goyaml.Node) bool {
	if n == nil || n.Kind != goyaml.MappingNode || !ownOnly(n) {
		return false
	}
	ingest := yamldoc.At(n, "ingest")
	return document(yamldoc.At(n, "config")) && len(n.Content) > 2 || ingest != nil && ingest.Kind == goyaml.MappingNode
}

// resources returns the list of Heimdall's resources that the documents hold, nil when there is none. Of what else lies
// there in documents of its own, nothing is for a filter.
func resources(roots []*goyaml.Node) *goyaml.Node {
	var found []*goyaml.Node
	for _, root := range roots {
		if isList(root) {
			return root
		}
		if isResource(root) {
			found = append(found, root)
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	word := func(text string) *goyaml.Node {
		return &goyaml.Node{Kind: goyaml.ScalarNode, Tag: "!!str", Value: text, Line: 1}
	}
	list := &goyaml.Node{Kind: goyaml.SequenceNode, Tag: "!!seq", Line: 1, Content: found}
	return &goyaml.Node{Kind: goyaml.MappingNode, Tag: "!!map", Line: 1,
		Content: []*goyaml.Node{word("kind"), word(kindList), word("items"), list}}
}

// amongResources returns the places of all documents where others lie beside Heimdall's resources, of which either may
// be meant; else nil.
func amongResources(roots []*goyaml.Node) (places []place) {
	others := false
	for i, root := range roots {
		for _, p := range look(root, fmt.Sprintf("document %d: ", i+1)) {
			others = others || !isResource(p.node) && !isList(p.node)
			places = append(places, p)
		}
	}
	if !others {
		return nil
	}
	return places
}

const kindList = "List"

// isList reports whether n is a list in which one of Heimdall's resources lies.
func isList(n *goyaml.Node) bool {
	items := yamldoc.At(n, "items")
	return yamldoc.Scalar(yamldoc.At(n, "kind")) == kindList && sequence(items) &&
		slices.ContainsFunc(items.Content, isResource)
}

func isResource(n *goyaml.Node) bool {
	kind := yamldoc.Scalar(yamldoc.At(n, "kind"))
	return kind == "SchedulingProfile" || kind == "AIGateway"
}

// kinds are the documents that a filter reads.
var kinds = []string{"EndpointPickerConfig", "SchedulingProfile", "AIGateway"}

// document reports whether n is a document for the filter.
func document(n *goyaml.Node) bool {
	return n != nil && (slices.Contains(kinds, yamldoc.Scalar(yamldoc.At(n, "kind"))) || isList(n) ||
		n.Kind == goyaml.MappingNode && yamldoc.At(n, "kind") == nil && sequence(yamldoc.At(n, "plugins")) &&
			sequence(yamldoc.At(n, "schedulingProfiles")))
}

func sequence(n *goyaml.Node) bool { return n != nil && n.Kind == goyaml.SequenceNode }

func keys(n *goyaml.Node) (all []string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		all = append(all, n.Content[i].Value)
	}
	return all
}
