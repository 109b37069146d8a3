package migrate

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/scoring"
)

// convert writes a SchedulingProfile as an EndpointPickerConfig, and old names as they are today.
func (d *document) convert() {
	config := yamldoc.At(d.root, "config")
	d.root.Style &^= goyaml.FlowStyle // in which nothing could be written in lines of its own
	block(config)
	kind := text(config, "kind")
	if kind == "SchedulingProfile" || kind == "List" {
		d.dialect, d.because = scoring.DialectHeimdall, "it is a resource of Heimdall's"
	}
	switch kind {
	case "SchedulingProfile":
		d.converted = true
		d.set("config", pickerConfig([]*goyaml.Node{config}, ""))
	case "List":
		if resources, handler := bound(config); resources != nil {
			d.converted = true
			c := pickerConfig(resources, text(handler, "type"))
			if handler != nil {
				yamldoc.At(c, "plugins").Content = append(yamldoc.At(c, "plugins").Content, handler)
			}
			d.set("config", c)
		}
	}
	if d.converted {
		take(d.root, "dialect") // which a resource does not go by
	}
}

// ofResource returns the mistakes of a resource, and keeps what it is warned of: an EndpointPickerConfig made of it
// does not show them, as its keys are others.
func (d *document) ofResource() []string {
	if kind := text(yamldoc.At(d.root, "config"), "kind"); kind != "SchedulingProfile" && kind != "List" {
		return nil
	}
	var mistakes strictjson.Mistakes
	config, err := d.read()
	if config != nil {
		d.warned = config.Plan.Warnings()
	}
	errors.As(err, &mistakes)
	return mistakes
}

// addWarned says what the resource was warned of and the document that it became is not.
func (d *document) addWarned(again []string) {
	for _, warning := range d.warned {
		if !slices.Contains(again, warning) {
			d.differs = append(d.differs, bare(warning))
		}
	}
}

// addLost says which mistakes of the resource are about what has no effect, or is missing, beside what is said of it
// already. A plug-in and its parameters are judged as they are after the conversion.
func (d *document) addLost(mistakes []string) {
	for _, mistake := range mistakes {
		where, what := place(mistake), short(mistake)
		judged := strings.HasSuffix(where, ".type") || strings.Contains(where, ").config") ||
			strings.Contains(what, "is not the name of a declared plug-in")
		switch {
		case judged || slices.ContainsFunc(d.removed, func(r string) bool { return strings.Contains(r, ": "+what) }):
		case strings.Contains(what, "is missing; "):
			d.differs = append(d.differs, where+": "+what)
		default:
			d.removed = append(d.removed, where+": "+what)
		}
	}
}

// set replaces what stands at a key of the configuration.
func (d *document) set(key string, value *goyaml.Node) {
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value == key {
			d.root.Content[i+1] = value
		}
	}
}

// pickerConfig is SchedulingProfiles in the form of an EndpointPickerConfig. Of several, by the handler that chooses
// among them, each brings one profile of its name. What is wrong with them is found when that is read.
func pickerConfig(resources []*goyaml.Node, handler string) *goyaml.Node {
	plugins, profiles := list(), list()
	for _, resource := range resources {
		spec, own := yamldoc.At(resource, "spec"), ""
		if handler != "" {
			own = text(yamldoc.At(resource, "metadata"), "name")
		}
		if p := yamldoc.At(spec, "plugins"); p != nil {
			for _, item := range p.Content {
				plugins.Content = append(plugins.Content, pickerPlugin(item, own))
			}
		}
		var filters map[string]string
		if text(spec, "profileHandler") == "pd" {
			filters = addImplied(plugins)
		}
		if p := yamldoc.At(spec, "profiles"); p != nil {
			for i := 0; i+1 < len(p.Content); i += 2 {
				name := p.Content[i].Value
				profiles.Content = append(profiles.Content, pickerProfile(name, p.Content[i+1], filters[name], own))
			}
		}
	}
	if handler != "" && slices.ContainsFunc(plugins.Content, picks) {
		for _, profile := range profiles.Content {
			namePicker(plugins, yamldoc.At(profile, "plugins"), text(profile, "name")+"/")
		}
	}
	return mapping("apiVersion", "inference.networking.x-k8s.io/v1alpha1", "kind", "EndpointPickerConfig",
		"plugins", plugins, "schedulingProfiles", profiles)
}

// picks reports whether a plug-in is a picker.
func picks(plugin *goyaml.Node) bool { return strings.HasSuffix(text(plugin, "type"), "-picker") }

// namePicker has a profile that refers to no picker do so, as it would get the first one of all resources: it is the
// first one of those whose names begin with own, or the default.
func namePicker(plugins, references *goyaml.Node, own string) {
	picker := ""
	for _, plugin := range plugins.Content {
		name := text(plugin, "name")
		if !picks(plugin) || !strings.HasPrefix(name, own) {
			continue
		}
		if slices.ContainsFunc(references.Content, func(r *goyaml.Node) bool { return text(r, "pluginRef") == name }) {
			return
		}
		picker = cmp.Or(picker, name)
	}
	if picker == "" {
		picker = own + "max-score-picker"
		plugins.Content = append(plugins.Content, mapping("name", picker, "type", "max-score-picker"))
	}
	references.Content = append(references.Content, mapping("pluginRef", picker))
}

// bound are the SchedulingProfiles of a list that its AIGateway binds to models, and the handler that chooses among
// them, nil for one.
func bound(resources *goyaml.Node) (profiles []*goyaml.Node, handler *goyaml.Node) {
	byName, models, fallback := map[string]*goyaml.Node{}, mapping(), ""
	var gateway *goyaml.Node
	items := yamldoc.At(resources, "items")
	if items == nil {
		return nil, nil // a mistake that is told when the list is read
	}
	for _, item := range items.Content {
		if text(item, "kind") == "AIGateway" {
			gateway = item
		} else {
			byName[text(yamldoc.At(item, "metadata"), "name")] = item
		}
	}
	if len(items.Content) == 1 && text(items.Content[0], "kind") == "SchedulingProfile" {
		return items.Content, nil
	}
	bindings := yamldoc.At(yamldoc.At(gateway, "spec"), "schedulingProfiles")
	if bindings == nil {
		return nil, nil
	}
	var seen []string
	for _, binding := range bindings.Content {
		name, model := text(binding, "profile"), text(binding, "model")
		if byName[name] == nil {
			return nil, nil // a mistake of that kind, too
		}
		if slices.Contains(seen, model) {
			continue // the first one holds, which is told as well
		}
		seen = append(seen, model)
		if !slices.Contains(profiles, byName[name]) {
			profiles = append(profiles, byName[name])
		}
		if model == "default" {
			fallback = name
		} else {
			models.Content = append(models.Content, scalar(model), scalar(name))
		}
	}
	if len(profiles) < 2 {
		return profiles, nil
	}
	parameters := mapping("models", models)
	if fallback != "" {
		parameters.Content = append(parameters.Content, scalar("default"), scalar(fallback))
	}
	return profiles, mapping("type", "model-profile-handler", "parameters", parameters)
}

// pickerPlugin is a plug-in of a SchedulingProfile; own begins its name when there are several of these.
func pickerPlugin(item *goyaml.Node, own string) *goyaml.Node {
	there := text(item, "type")
	here, ok := scoring.ResourcePlugin(there)
	if !ok {
		here = there
	}
	name := text(item, "name")
	if name == "" && here != there {
		name = there
	}
	if own != "" {
		name = own + "/" + cmp.Or(name, there)
	}
	var named *goyaml.Node
	if name != "" {
		named = scalar(name)
	}
	plugin := mapping("name", named, "type", here, "parameters", yamldoc.At(item, "config"))
	if ok && take(yamldoc.At(plugin, "parameters"), "blockSize") {
		comment(plugin, "blockSize had no effect in Heimdall: the servers tell the size of their blocks")
	}
	return plugin
}

// addImplied adds the plug-ins that the handler pd implies, and returns the names of its profiles' filters.
func addImplied(plugins *goyaml.Node) (filters map[string]string) {
	own := slices.Clone(plugins.Content)
	taken := func(name string) bool {
		return slices.ContainsFunc(own, func(p *goyaml.Node) bool {
			return cmp.Or(text(p, "name"), text(p, "type")) == name
		})
	}
	add := func(kind string) string {
		name := scoring.ImpliedName(kind, taken)
		plugin := mapping("type", kind)
		if name != kind {
			plugin = mapping("name", name, "type", kind)
		}
		plugins.Content = append(plugins.Content, plugin)
		return name
	}
	add("disagg-headers-handler")
	add("paired-profile-handler")
	return map[string]string{"decode": add("decode-filter"), "prefill": add("prefill-filter")}
}

// pickerProfile is a profile of a SchedulingProfile, with the filter that is implied, if any.
func pickerProfile(name string, profile *goyaml.Node, filter, own string) *goyaml.Node {
	references := list()
	if filter != "" {
		references.Content = append(references.Content, mapping("pluginRef", filter))
	}
	if refs := yamldoc.At(profile, "pluginRefs"); refs != nil {
		for _, ref := range refs.Content {
			plugin := text(ref, "name")
			if own != "" {
				plugin = own + "/" + plugin
			}
			weight := yamldoc.At(ref, "weight")
			references.Content = append(references.Content, mapping("pluginRef", plugin, "weight", weight))
		}
	}
	if own != "" {
		name = own
	}
	return mapping("name", name, "plugins", references)
}
