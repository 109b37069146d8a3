package migrate

import (
	"bytes"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// leaveOut takes what the mistakes are about out of the document, and reports whether it could.
func (d *document) leaveOut(mistakes []string) bool {
	// All places first: what is taken out moves what follows it.
	paths := make([][]*goyaml.Node, len(mistakes))
	for i, mistake := range mistakes {
		if !strings.HasPrefix(mistake, "config.") && !strings.HasPrefix(mistake, "config: ") {
			return false // one of Pintle's own keys: the operator's to mend
		}
		paths[i] = yamldoc.Path(d.root, mistake)
	}
	changed := false
	for i, mistake := range mistakes {
		changed = d.drop(paths[i], mistake) || changed
	}
	return changed
}

// keptKeys are the parts of a document without which nothing of it is left.
var keptKeys = []string{"config", "plugins", "schedulingProfiles"}

// drop takes the last thing on the path that can be left out from what it is in.
func (d *document) drop(path []*goyaml.Node, mistake string) bool {
	for n := 1; n < len(path); n++ {
		if !slices.Contains(path[n-1].Content, path[n]) {
			return true // what it was in is gone already
		}
	}
	_, what, _ := strings.Cut(mistake, ": ")
	last := path[len(path)-1]
	if last.Kind == goyaml.SequenceNode && len(last.Content) > 0 && last.Content[0].Kind == goyaml.ScalarNode {
		// One of several names: the mistake begins with it.
		for i, item := range last.Content {
			if strings.HasPrefix(what, `"`+item.Value+`"`) {
				d.remove(last, path[:len(path)-1], i, 1, mistake)
				return true
			}
		}
	}
	for n := len(path) - 1; n > 0; n-- {
		parent := path[n-1]
		switch i := slices.Index(parent.Content, path[n]); {
		case parent.Kind == goyaml.SequenceNode:
			d.remove(parent, path[:n-1], i, 1, mistake)
			return true
		case n == len(path)-1 && strings.Contains(mistake, " is missing; "):
			continue
		case neededKey(parent, parent.Content[i&^1].Value, strings.Contains(mistake, "unknown key")):
			continue // what has it goes as a whole
		default:
			d.remove(parent, path[:n-1], i&^1, 2, mistake)
			return true
		}
	}
	return false
}

// neededKey reports whether what has the key is nothing without it.
func neededKey(parent *goyaml.Node, key string, unknown bool) bool {
	if unknown {
		return false
	}
	switch key {
	case "type", "pluginRef":
		return true
	case "name":
		return yamldoc.At(parent, "plugins") != nil || yamldoc.At(parent, "type") != nil
	}
	return slices.Contains(keptKeys, key)
}

// remove takes n nodes out of parent and leaves a comment in their place. above is the way to parent.
func (d *document) remove(parent *goyaml.Node, above []*goyaml.Node, at, n int, mistake string) {
	gone := slices.Clone(parent.Content[at : at+n])
	parent.Content = slices.Delete(parent.Content, at, at+n)
	where, why := place(mistake), short(mistake)
	if gone[0].Value == "weight" && yamldoc.At(parent, "pluginRef") != nil {
		why += "; without it the weight is 1"
	}
	// What is missing may take two things with it, one in the other.
	if line := where + ": " + why; !slices.Contains(d.removed, line) {
		d.removed = append(d.removed, line)
	}
	before, behind := gone[0].HeadComment, gone[0].FootComment
	gone[0].HeadComment, gone[0].FootComment = "", ""
	key := keyOf(where)
	if last := strings.LastIndex(key, "."); last > 0 && !holds(gone, key[last+1:]) {
		why = key + ": " + why // nothing of what is taken out shows what this is about
	}
	text := remark("no effect here: " + why)
	for line := range strings.Lines(render(parent.Kind, gone)) {
		text += "\n#   " + strings.TrimRight(line, "\n")
	}
	for _, comment := range []string{before, behind} {
		if comment != "" {
			text = comment + "\n" + text
		}
	}
	switch {
	case at < len(parent.Content):
		prepend(parent.Content[at], text)
	case at > 0 && parent.Kind == goyaml.MappingNode:
		appendTo(&parent.Content[at-2].FootComment, text)
	case at > 0:
		d.putBehind(parent, text)
	case len(above) > 0:
		if d.behind[parent] != "" {
			text += "\n" + d.behind[parent]
			delete(d.behind, parent)
		}
		holder := above[len(above)-1]
		i := slices.Index(holder.Content, parent)
		prepend(holder.Content[max(i, 0)&^boolBit(holder.Kind == goyaml.MappingNode)], text)
	}
}

// putBehind has a comment stand behind the last item of a list, above what is there.
func (d *document) putBehind(list *goyaml.Node, text string) {
	if d.behind == nil {
		d.behind = map[*goyaml.Node]string{}
	}
	d.behind[list] = strings.TrimSuffix(text+"\n"+d.behind[list], "\n")
}

// behindMark is an item that a comment stands above.
const behindMark = "pintle-has-a-comment-here"

// encode writes the document. A comment behind an item with keys of its own has no place in a list: it would be written
// below the next key, or nowhere. So it stands above one more item, which is taken out of the text.
func (d *document) encode() (string, error) {
	for list, text := range d.behind {
		mark := scalar(behindMark)
		mark.HeadComment = text
		list.Content = append(list.Content, mark)
	}
	var out bytes.Buffer
	e := goyaml.NewEncoder(&out)
	e.SetIndent(2)
	err := e.Encode(d.root)
	var text strings.Builder
	for line := range strings.Lines(out.String()) {
		if strings.TrimSpace(line) != "- "+behindMark {
			text.WriteString(line)
		}
	}
	return text.String(), err
}

func boolBit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func prepend(n *goyaml.Node, text string) {
	if n.HeadComment != "" {
		text += "\n" + n.HeadComment
	}
	n.HeadComment = text
}

func appendTo(comment *string, text string) {
	if *comment != "" {
		text = *comment + "\n" + text
	}
	*comment = text
}

// place is where a mistake says that it is, as in a document without a configuration around it.
func place(mistake string) string {
	where, _, _ := strings.Cut(mistake, ": ")
	return strings.TrimPrefix(where, "config.")
}

// keyOf is what a place says of its last item, or all that it says.
func keyOf(where string) string {
	if at := strings.LastIndexAny(where, ")]"); at >= 0 {
		where = where[at+1:]
	}
	return strings.TrimPrefix(where, ".")
}

// holds reports whether a key, or a value, is among nodes and what is in them.
func holds(nodes []*goyaml.Node, text string) bool {
	return slices.ContainsFunc(nodes, func(n *goyaml.Node) bool { return n.Value == text || holds(n.Content, text) })
}

// short is a mistake without its place and the list of all that would be right.
func short(mistake string) string {
	_, what, _ := strings.Cut(mistake, ": ")
	return strings.TrimSuffix(brief(what), "; no keys are allowed here")
}

// brief is a mistake without the list of all that would be right.
func brief(mistake string) string {
	mistake, _, _ = strings.Cut(mistake, "; known are ")
	return mistake
}

// render writes what was taken out of a mapping or a list.
func render(kind goyaml.Kind, gone []*goyaml.Node) string {
	n := &goyaml.Node{Kind: kind, Content: gone}
	var out bytes.Buffer
	e := goyaml.NewEncoder(&out)
	e.SetIndent(2)
	if e.Encode(n) != nil {
		return ""
	}
	return out.String()
}
