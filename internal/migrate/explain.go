package migrate

import (
	"cmp"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/scoring"
)

// explain writes comments to what means something else here than where the document comes from.
func (d *document) explain(config *pluginconfig.Config) {
	plugins := yamldoc.At(yamldoc.At(d.root, "config"), "plugins")
	for _, warning := range config.Plan.Warnings() {
		warning = bare(warning)
		at, what := d.about(plugins, warning)
		if what == scoring.NothingRefers {
			comment(at, what) // there as here
			continue
		}
		d.differs = append(d.differs, warning)
		comment(at, "differs: "+what)
	}
	if plugins == nil {
		return
	}
	for _, item := range plugins.Content {
		name := cmp.Or(text(item, "name"), text(item, "type"))
		if slices.Contains(config.Plan.Idle(), name) {
			continue
		}
		for _, difference := range foreign.Differences(text(item, "type"), config.Plan.Reading().Dialect) {
			d.differs = append(d.differs, name+": "+difference)
			comment(item, "differs: "+difference)
		}
	}
}

// bare is a warning as in a document without a configuration around it.
func bare(warning string) string {
	return strings.TrimPrefix(strings.TrimPrefix(warning, "config: "), "config.")
}

// about is what a warning is about: the plug-in that it begins with, or the place, else the document; and the rest of
// it.
func (d *document) about(plugins *goyaml.Node, warning string) (at *goyaml.Node, what string) {
	name, what, _ := strings.Cut(warning, ": ")
	if plugins != nil {
		for _, item := range plugins.Content {
			if text(item, "name") == name || text(item, "name") == "" && text(item, "type") == name {
				return item, what
			}
		}
	}
	path := yamldoc.Path(yamldoc.At(d.root, "config"), warning)
	if len(path) < 2 {
		return d.root.Content[0], warning
	}
	for n := len(path) - 1; n > 0; n-- {
		parent := path[n-1]
		if i := slices.Index(parent.Content, path[n]); parent.Kind == goyaml.MappingNode && i > 0 {
			return parent.Content[i&^1], what
		}
	}
	return path[1], what
}

// sayDialect writes down in whose dialect the document was read.
func (d *document) sayDialect(r scoring.Reading) {
	if d.dialect != scoring.DialectUnsaid {
		r.Because = d.because
	}
	why := "read as " + r.Dialect.String() + "'s: " + r.Because
	if r.Unsure {
		d.differs = append(d.differs, "dialect: nothing in the document tells whose it is; it was read as "+
			r.Dialect.String()+"'s, see pintle validate")
		why = "differs: nothing in the document tells whose dialect it is; the other one has other labels, headers " +
			"and defaults"
	}
	if r.Shared {
		why += "; a document of llm-d before 0.10 needs llm-d here"
	}
	key := scalar("dialect")
	comment(key, why)
	d.root.Content = append([]*goyaml.Node{key, scalar(r.Dialect.String())}, d.root.Content...)
}
