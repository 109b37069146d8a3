// Package migrate writes the documents of other projects in today's form, with a comment at each line that means
// something else here than there.
package migrate

import (
	"errors"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/scoring"
)

// Kept says how much of a document is preserved.
type Kept uint8

// How much is preserved.
const (
	// Nothing is what a document comes to that no configuration follows from.
	Nothing Kept = iota
	Something
	Everything
)

// Result is what a document comes to.
type Result struct {
	Kept Kept
	// Text is the configuration in today's form; empty when nothing is preserved.
	Text string
	// Removed are the lines that have no effect here, Differs what means something else, both for people.
	Removed, Differs []string
	// Where is the place of the document in its file, empty when it is the whole file; Line its first line.
	Where string
	Line  int
}

// mostRounds bounds how often a document is read again without what was wrong with it.
const mostRounds = 64

// Migrate reads a file and writes the document in it. The error says why there is none, or what is wrong with it beyond
// what can be left out.
// dialect is whose reading holds where the document leaves that open.
func Migrate(text []byte, dialect scoring.Dialect) (*Result, error) {
	found, err := foreign.Read(text)
	if err != nil {
		return nil, err
	}
	d := &document{found: found, dialect: dialect, because: "you say so", root: wrap(found.Root())}
	before := d.ofResource()
	asWritten := found.Locate(d.asFound(strictjson.Mistakes(before)))
	d.convert()
	if len(before) > 0 && !d.converted {
		return nil, asWritten
	}
	config, err := d.readWhatCounts()
	switch {
	case err != nil && len(before) > 0:
		return nil, asWritten // with its own places and lines, which what it became has not
	case err != nil:
		return nil, err
	}
	d.addLost(before)
	d.addWarned(config.Plan.Warnings())
	d.explain(config)
	wrapped := d.root != found.Root()
	if wrapped || d.converted {
		d.sayDialect(config.Plan.Reading())
	}
	if wrapped {
		d.root.Content[0].HeadComment = strings.TrimSuffix(added+"\n"+d.root.Content[0].HeadComment, "\n")
	}
	return d.result()
}

// added is what Pintle does beside any document.
const added = `# Pintle does more than the document says. Each of these keys, beside config, has it do the same as elsewhere:
#   load: {correction: false}   # the metrics alone count, not what was sent to a server since they were read
#   failing: {policy: ignore}   # a server that fails or falls silent is not left out`

// document is a configuration on its way to today's form.
type document struct {
	found *foreign.Found
	// root is Pintle's configuration, with the document at config.
	root *goyaml.Node
	// dialect is whose reading holds where the document leaves that open, and because why.
	dialect          scoring.Dialect
	because          string
	removed, differs []string
	// converted is set where the document was a resource, and warned is what it was warned of.
	converted bool
	warned    []string
	// behind are the comments behind the last items of lists.
	behind map[*goyaml.Node]string
}

// wrap puts a document at the key config of a configuration, unless it is one. A configuration may leave the document
// out, which stands for an empty one.
func wrap(n *goyaml.Node) *goyaml.Node {
	given := func(key string) bool { return yamldoc.At(n, key) != nil }
	switch {
	case given("config"):
		return n
	case n.Kind != goyaml.MappingNode || len(n.Content) == 0 || pluginconfig.Bare(given):
		return mapping("config", n)
	}
	n.Content = append(n.Content, scalar("config"), mapping())
	return n
}

// read validates what the document is now.
func (d *document) read() (*pluginconfig.Config, error) {
	whole, err := yamldoc.Of(d.root)
	if err != nil {
		return nil, err
	}
	return pluginconfig.ParseAs(whole.JSON, nil, d.dialect)
}

// readWhatCounts reads the document without what is wrong with it. The error is all that was wrong, where the rest
// comes to nothing.
func (d *document) readWhatCounts() (*pluginconfig.Config, error) {
	var wrong strictjson.Mistakes
	for range mostRounds {
		config, err := d.read()
		if err == nil {
			if d.empty() {
				break
			}
			return config, nil
		}
		var mistakes, located strictjson.Mistakes
		if !errors.As(err, &mistakes) {
			return nil, err
		}
		errors.As(d.found.Locate(d.asFound(err)), &located)
		goesOn := d.leaveOut(mistakes)
		for _, line := range located {
			switch said := brief(line); {
			case slices.Contains(wrong, said): // which could not be left out the last time
			case goesOn:
				wrong = append(wrong, said)
			default:
				wrong = append(wrong, line)
			}
		}
		if !goesOn {
			break
		}
	}
	return nil, wrong
}

// asFound names mistakes as in the document that was found, which may have had no config around it.
func (d *document) asFound(err error) error {
	var mistakes strictjson.Mistakes
	if d.root == d.found.Root() || !errors.As(err, &mistakes) {
		return err
	}
	own := make(strictjson.Mistakes, len(mistakes))
	for i, m := range mistakes {
		own[i] = strings.TrimPrefix(strings.TrimPrefix(m, "config: "), "config.")
	}
	return own
}

func (d *document) result() (*Result, error) {
	text, err := d.encode()
	if err != nil {
		return nil, err
	}
	r := &Result{Kept: Everything, Text: text, Removed: d.removed, Differs: d.differs, Where: d.found.Where,
		Line: d.found.Line}
	if len(d.removed)+len(d.differs) > 0 {
		r.Kept = Something
	}
	return r, nil
}

// empty reports whether nothing is left that chooses endpoints, though the document had something.
func (d *document) empty() bool {
	plugins := yamldoc.At(yamldoc.At(d.root, "config"), "plugins")
	return len(d.removed) > 0 && (plugins == nil || len(plugins.Content) == 0)
}
