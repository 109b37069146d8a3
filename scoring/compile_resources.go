package scoring

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// What Heimdall's resources say of themselves since 0.5. A list of them is what kubectl get -o yaml prints.
const (
	resourceVersion = "heimdall.moreh.io/v1alpha1"
	kindProfile     = "SchedulingProfile"
	kindGateway     = "AIGateway"
	kindList        = "List"
)

// resourcePlugins are the plug-ins that a SchedulingProfile may name, and what they are called here.
var resourcePlugins = []struct{ there, here string }{
	{"constant-scorer", "constant-scorer"},
	{"inflight-requests-scorer", "least-request"},
	{"kv-cache-utilization-scorer", "cached-blocks-scorer"},
	{"kv-utilization-scorer", "kv-cache-utilization-scorer"},
	{"prefix-cache-scorer", "prefix-share-scorer"},
	{"running-requests-scorer", "running-requests-size-scorer"},
	{"token-length-scorer", "token-length-scorer"},
	{"waiting-requests-scorer", "queue-scorer"},
	{"max-score-picker", "max-score-picker"},
	{"random-picker", "random-picker"},
	{"weighted-random-picker", "weighted-random-picker"},
}

// ResourcePlugin returns what a plug-in of a SchedulingProfile is called in an EndpointPickerConfig; ok is false when
// there is none.
func ResourcePlugin(there string) (here string, ok bool) {
	for _, p := range resourcePlugins {
		if p.there == there {
			return p.here, true
		}
	}
	return "", false
}

// The handlers of a SchedulingProfile, and the scheduling profiles that each runs.
const (
	handlerE2E = "e2e"
	handlerPD  = "pd"
	profileD   = "decode"
	profileP   = "prefill"
)

// resource is a SchedulingProfile.
type resource struct {
	spec *strictjson.Object
	// name is the resource's, handler e2e or pd.
	name, handler string
	profiles      []named
}

type named struct {
	*strictjson.Object
	name string
}

// isResource reports whether doc is of Heimdall's resources, by its kind.
func isResource(doc *strictjson.Object) bool {
	switch doc.Text("kind") {
	case kindProfile, kindGateway, kindList:
		return true
	}
	return false
}

// compileResources fills the plan from a SchedulingProfile, or from a list of them with the AIGateway that binds models
// to them.
func (c *compiler) compileResources(doc *strictjson.Object) {
	var profiles []resource
	var gateways []*strictjson.Object
	items := []*strictjson.Object{doc}
	if doc.Text("kind") == kindList {
		items = doc.Objects("items")
	}
	for _, item := range items {
		switch kind := item.Text("kind"); kind {
		case kindProfile:
			profiles = append(profiles, readResource(item))
		case kindGateway:
			readHeader(item)
			gateways = append(gateways, item)
		default:
			item.Mistake("kind", strconv.Quote(kind)+" is not one of "+kindProfile+", "+kindGateway)
		}
	}
	switch {
	case len(profiles) == 0 && len(gateways) == 0:
		doc.Mistake("items", "has no "+kindProfile)
	case len(profiles) == 0:
		gateways[0].Mistake("spec.schedulingProfiles",
			"names SchedulingProfiles that are not here; put them behind it, each behind a line ---: "+
				joinNames(bindings(gateways[0])))
	case len(gateways) > 1:
		gateways[1].Mistake("kind", "is a second "+kindGateway+"; give each of them a configuration of its own")
	case len(gateways) == 1:
		c.bind(gateways[0], profiles)
	case len(profiles) > 1:
		doc.Mistake("items", "are several "+kindProfile+"s, and no "+kindGateway+" says which model goes by which")
	default:
		c.addResource(&profiles[0], "")
	}
}

// readHeader reads what all resources have, and returns the name.
func readHeader(o *strictjson.Object) (name string) {
	version, kind := "", ""
	o.OneOf("apiVersion", &version, resourceVersion)
	if version == "" {
		o.Missing("apiVersion", resourceVersion+" is right")
	}
	o.String("kind", &kind)
	o.Object("metadata").String("name", &name)
	o.Object("status")
	return name
}

func readResource(o *strictjson.Object) resource {
	r := resource{handler: handlerE2E, name: readHeader(o), spec: o.Object("spec")}
	o.Close()
	if !r.spec.Present() {
		o.Missing("spec", "it holds profileHandler, plugins and profiles")
		return r
	}
	r.spec.OneOf("profileHandler", &r.handler, handlerE2E, handlerPD)
	if !r.spec.Has("profileHandler") {
		r.spec.Missing("profileHandler", "e2e or pd is right")
	}
	r.spec.Each("profiles", func(name string, inner *strictjson.Object) {
		r.profiles = append(r.profiles, named{inner, name})
	})
	return r
}

// addResource makes a SchedulingProfile the plan, or one of its profiles: then prefix begins the names of all that it
// brings.
func (c *compiler) addResource(r *resource, prefix string) {
	if !r.spec.Present() {
		return // which has been noted
	}
	wanted := []string{defaultProfile}
	if r.handler == handlerPD {
		wanted = []string{profileD, profileP}
	}
	first, own := len(c.profileNames), len(c.plugins)
	for _, name := range wanted {
		if prefix != "" {
			name = r.name
		}
		c.profileNames = append(c.profileNames, name)
		c.plan.profiles = append(c.plan.profiles, profile{name: name})
	}
	c.declareResource(r.spec.Objects("plugins"), prefix)
	for i, name := range wanted {
		if r.handler == handlerPD {
			c.plan.profiles[first+i].add(c.imply(r.spec, name+"-filter"), 1)
		}
		c.fillResource(r, name, prefix, &c.plan.profiles[first+i])
	}
	for _, p := range r.profiles {
		if p.name != wanted[0] && p.name != wanted[len(wanted)-1] {
			r.spec.Mistake("profiles."+p.name, "is never run by profileHandler "+r.handler+
				strictjson.Hint(p.name, wanted, "it runs"))
		}
	}
	r.spec.Close()
	c.addPickers(r.spec, c.plugins[own:], c.plan.profiles[first:])
	if r.handler == handlerPD {
		c.imply(r.spec, "disagg-headers-handler")
		c.imply(r.spec, "paired-profile-handler")
	}
}

// imply adds a plug-in that the handler pd implies. Its name is not one of the resource's own.
func (c *compiler) imply(spec *strictjson.Object, kind string) *declared {
	name := ImpliedName(kind, func(name string) bool { return c.find(name) != nil })
	c.build(spec, strictjson.Empty(spec), kind, name)
	return &c.plugins[len(c.plugins)-1]
}

// ImpliedName is what a plug-in is called that a SchedulingProfile implies: its type, or what a plug-in of the resource
// has not taken.
func ImpliedName(kind string, taken func(name string) bool) string {
	name := kind
	for i := 2; taken(name); i++ {
		name = kind + "-" + strconv.Itoa(i)
	}
	return name
}

// declareResource builds the plug-ins of a SchedulingProfile.
func (c *compiler) declareResource(list []*strictjson.Object, prefix string) {
	for _, o := range list {
		e := readEntry(o, "config")
		if e.name == "" {
			e.name = e.kind
		}
		e.name = prefix + e.name
		here, ok := ResourcePlugin(e.kind)
		switch {
		case ok:
			e.kind = here
		case e.kind != "":
			o.Mistake("type", strconv.Quote(e.kind)+" is not a plug-in of a SchedulingProfile"+
				strictjson.Hint(e.kind, typesThere(), "known are"))
			c.unknown = true
			c.plugins = append(c.plugins,
				declared{name: e.name, meant: prefix + strictjson.Nearest(e.kind, typesThere())})
			continue
		}
		if e.parameters.Drop("blockSize") {
			c.warn(o, "config.blockSize has no effect, as in Heimdall: the servers tell the size of their blocks")
		}
		c.declaredNames = append(c.declaredNames, e.name)
		c.declare(&e)
	}
}

// declaredOf are the names of a resource's plug-ins as it has them, without the prefix.
func (c *compiler) declaredOf(prefix string) (names []string) {
	for _, name := range c.declaredNames {
		if own, ok := strings.CutPrefix(name, prefix); ok {
			names = append(names, own)
		}
	}
	return names
}

func typesThere() []string {
	names := make([]string, len(resourcePlugins))
	for i, p := range resourcePlugins {
		names[i] = p.there
	}
	return names
}

// fillResource puts the plug-ins of one of a SchedulingProfile's profiles in their places.
func (c *compiler) fillResource(r *resource, name, prefix string, p *profile) {
	at := slices.IndexFunc(r.profiles, func(n named) bool { return n.name == name })
	if at < 0 {
		r.spec.Missing("profiles."+name, "profileHandler "+r.handler+" runs it")
		return
	}
	found := r.profiles[at]
	references := found.Objects("pluginRefs")
	found.Close()
	for _, reference := range references {
		weight, ref := 1.0, ""
		reference.LabelBy("name")
		reference.String("name", &ref)
		reference.Float("weight", &weight, 0, mostWeight)
		reference.Close()
		d := c.use(prefix + ref)
		switch {
		case ref == "":
			reference.Missing("name", "name one of the plug-ins")
		case d == nil:
			reference.Mistake("name", notAmong(ref, c.declaredOf(prefix)))
		default:
			if problem := p.add(d, weight); problem != "" && d.plugin != nil {
				reference.Mistake("name", problem)
			}
		}
	}
}
