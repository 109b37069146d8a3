package topology

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/snapshot"
)

// Reader reads lists of endpoints, in the sidecar's documents and in those of explain alike.
type Reader struct {
	// Engine returns the name of an engine by its name or alias, or "" for one that is unknown; nil takes any.
	Engine func(name string) string
	// Engines are the names to choose from.
	Engines []string
	// Folder is where relative paths start from, Access what holds for endpoints that say nothing else.
	Folder string
	Access Access
	// More reads what else a document says of an endpoint; nil is nothing.
	More func(o *strictjson.Object)
}

// Part reads a document's lists: endpoints, objectives and modelRewrites.
func (r *Reader) Part(root *strictjson.Object) Part {
	return Part{Endpoints: r.Endpoints(root, "endpoints"), Objectives: Objectives(root), Rewrites: Rewrites(root)}
}

// Endpoints reads the list that stands under key.
func (r *Reader) Endpoints(parent *strictjson.Object, key string) []Endpoint {
	items := List(parent, key)
	endpoints := make([]Endpoint, len(items))
	names := map[string]bool{}
	for i, o := range items {
		e := &endpoints[i]
		o.String("name", &e.Name)
		// It is remembered when the endpoint has left, and would keep the whole document.
		e.Name = strings.Clone(e.Name)
		o.String("address", &e.Address)
		r.Traits(o, &e.Engine, &e.Labels, &e.Models)
		e.Access = r.ReadAccess(o)
		if r.More != nil {
			r.More(o)
		}
		o.Close()
		switch {
		case e.Name == "":
			o.Missing("name", "a unique name such as default/vllm-0 is right")
		case names[e.Name]:
			o.Mistake("name", strictjson.Quote(e.Name)+" is the name of another endpoint; each name once is right")
		}
		names[e.Name] = true
		CheckAddress(o, "address", &e.Address)
	}
	return endpoints
}

// List reads the list of objects that stands under key. A key with nothing behind it, as in the first half of a
// document, is not taken for an empty list.
func List(parent *strictjson.Object, key string) []*strictjson.Object {
	items := parent.Objects(key)
	if items == nil && parent.Given(key) && !parent.Has(key) {
		parent.Mistake(key, "nothing is there; a list is right, [] when empty")
	}
	return items
}

// Traits reads what a pool says of all its endpoints, or an endpoint of itself.
func (r *Reader) Traits(o *strictjson.Object, engine *string, labels *[]snapshot.Label, models *[]string) {
	o.String("engine", engine)
	if *engine != "" && r.Engine != nil {
		name := r.Engine(*engine)
		if name == "" {
			o.Mistake("engine", strictjson.Quote(*engine)+" is no known engine; right is one of "+
				strings.Join(r.Engines, ", ")+
				", or no engine, which is then detected")
		}
		*engine = name
	}
	var pairs []strictjson.Pair
	o.StringMap("labels", &pairs)
	for _, p := range pairs {
		*labels = append(*labels, snapshot.Label(p))
	}
	slices.SortFunc(*labels, func(a, b snapshot.Label) int { return cmp.Compare(a.Key, b.Key) })
	o.Strings("models", models)
}

// ReadAccess reads how the endpoints of o are asked; nil is plain HTTP without credentials.
func (r *Reader) ReadAccess(o *strictjson.Object) *Access {
	a := ReadAccess(o, &r.Access, r.Folder)
	if *a == (Access{}) {
		return nil
	}
	return a
}

// CheckAddress notes an address that is missing or no ip:port, and writes one that is in the one way that there is.
func CheckAddress(o *strictjson.Object, key string, address *string) {
	if *address == "" {
		o.Missing(key, "ip:port is right")
		return
	}
	a, err := netip.ParseAddrPort(*address)
	if err != nil || a.Port() == 0 || a.Addr().Zone() != "" || a.Addr().IsUnspecified() {
		o.Mistake(key, strictjson.Quote(*address)+" is no address; ip:port is right, an IPv6 address in brackets")
		return
	}
	*address = a.String()
}

// Objectives reads the classes of requests that clients may name, and their priorities.
func Objectives(root *strictjson.Object) []snapshot.Objective {
	var all []snapshot.Objective
	for _, o := range root.Objects("objectives") {
		name, priority := "", 0
		o.String("name", &name)
		o.Int("priority", &priority, math.MinInt32, math.MaxInt32)
		o.Close()
		switch {
		case name == "":
			o.Missing("name", "a unique name such as batch is right")
		case slices.ContainsFunc(all, func(other snapshot.Objective) bool { return other.Name == name }):
			o.Mistake("name", strictjson.Quote(name)+" is the name of another objective; each name once is right")
		}
		all = append(all, snapshot.Objective{Name: name, Priority: int32(priority)})
	}
	return all
}

// mostWeight is the largest weight of a rewrite target, as in the Gateway API Inference Extension.
const mostWeight = 1_000_000

// Rewrites reads the rules that replace model names.
func Rewrites(root *strictjson.Object) []snapshot.Rewrite {
	var all []snapshot.Rewrite
	for _, o := range root.Objects("modelRewrites") {
		var rewrite snapshot.Rewrite
		o.Strings("models", &rewrite.Models)
		for _, target := range o.Objects("targets") {
			model, weight := "", 1
			target.String("model", &model)
			target.Int("weight", &weight, 0, mostWeight)
			target.Close()
			if model == "" {
				target.Missing("model", "the model to ask for is right")
			}
			rewrite.Targets = append(rewrite.Targets, snapshot.RewriteTarget{Model: model, Weight: uint32(weight)})
		}
		o.Close()
		if len(rewrite.Targets) == 0 {
			o.Missing("targets", "at least one model is right")
		}
		all = append(all, rewrite)
	}
	return all
}
