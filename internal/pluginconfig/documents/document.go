package documents

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/registry"
)

// Generator draws configurations. It is not safe for concurrent use.
type Generator struct {
	random *rand.Rand
	wrong  float64
	// plugins and profiles are the names in the document that is being drawn.
	plugins, profiles []string
}

// New returns a generator whose configurations follow from the seed. wrong is the share of values that are odd.
func New(seed uint64, wrong float64) *Generator {
	return &Generator{random: rand.New(rand.NewPCG(seed, 1)), wrong: wrong}
}

// Mixed draws one configuration as JSON, by turns with no odd values, few and many. One seed in so many as resources
// says draws Heimdall's resources.
func Mixed(seed, resources uint64) []byte {
	g := New(seed, []float64{0, 0.02, 0.2}[seed%3])
	if seed%resources == 0 {
		return g.NextResources()
	}
	return g.Next()
}

// schema is what can stand in a configuration.
type schema struct {
	outer   []*Key
	plugins map[scoring.Dialect]map[string][]*Key
	// placed are the types that have a place in profiles.
	placed []string
}

var theSchema = sync.OnceValue(func() *schema {
	s := &schema{outer: outer(), plugins: map[scoring.Dialect]map[string][]*Key{}}
	for _, dialect := range []scoring.Dialect{scoring.DialectHeimdall, scoring.DialectLLMD} {
		s.plugins[dialect] = map[string][]*Key{}
		for _, plugin := range registry.Plugins {
			s.plugins[dialect][plugin.Type] = Parameters(plugin.Type, dialect)
		}
	}
	for _, plugin := range registry.Plugins {
		_, kinds := scoring.Describe(plugin, registry.Plugins)
		for _, kind := range []string{"filter", "scorer", "picker"} {
			if slices.Contains(kinds, kind) {
				s.placed = append(s.placed, plugin.Type)
				break
			}
		}
	}
	return s
})

// Next draws a configuration as JSON: a document, seven of ten with the filter's own keys around it.
func (g *Generator) Next() []byte {
	dialect := pick(g, scoring.DialectHeimdall, scoring.DialectLLMD)
	document := g.document(dialect)
	if g.chance(0.3) {
		return encode(document)
	}
	whole := map[string]any{"config": document}
	for _, k := range theSchema().outer {
		if g.chance(0.15) {
			whole[k.Name] = g.value(k)
		}
	}
	if delete(whole, "dialect"); g.chance(0.5) {
		whole["dialect"] = dialect.String()
	}
	if g.chance(0.1) {
		whole["shadow"] = map[string]any{"config": g.document(dialect)}
	}
	return encode(whole)
}

// document draws an EndpointPickerConfig.
func (g *Generator) document(dialect scoring.Dialect) map[string]any {
	d := map[string]any{"kind": "EndpointPickerConfig"}
	if dialect == scoring.DialectLLMD {
		d["apiVersion"] = pick(g, "llm-d.ai/v1alpha1", "llm-d.ai/v1")
	} else if g.chance(0.8) {
		d["apiVersion"] = "inference.networking.x-k8s.io/v1alpha1"
	}
	g.profiles = pick(g, nil, []string{"default"}, []string{"decode", "prefill"}, []string{"decode", "prefill", "a"})
	types := g.types()
	g.plugins = slices.Clone(types)
	var plugins []any
	for i, name := range types {
		p := map[string]any{"type": name}
		if g.chance(0.3) {
			g.plugins[i] = pick(g, "p", "q") + strconv.Itoa(i)
			p["name"] = g.plugins[i]
		}
		plugins = append(plugins, p)
	}
	for i, p := range plugins {
		if keys := theSchema().plugins[dialect][types[i]]; len(keys) > 0 && g.chance(0.7) {
			p.(map[string]any)["parameters"] = g.Object(keys, pick(g, 0.2, 0.5))
		}
	}
	d["plugins"] = plugins
	var profiles []any
	for _, name := range g.profiles {
		profiles = append(profiles, g.profile(name, types))
	}
	if len(profiles) > 0 {
		d["schedulingProfiles"] = profiles
	}
	g.around(d, dialect)
	if g.chance(g.wrong / 3) {
		d[pick(g, "kind", "apiVersion", "plugins", "schedulingProfiles", "unknown")] = g.odd()
	}
	return d
}

// types draws those of some plug-ins, seldom a profile handler but where several profiles need one.
func (g *Generator) types() (types []string) {
	handler := func(name string) bool { return strings.HasSuffix(name, "-profile-handler") }
	for range 1 + g.random.IntN(6) {
		name := pick(g, registry.Plugins...).Type
		if !handler(name) || g.chance(0.1) {
			types = append(types, name)
		}
	}
	if g.chance(g.wrong) {
		types = append(types, pick(g, "queue-scorrer", "low-queue-filter", "k8s-notification-source", ""))
	}
	for len(g.profiles) > 1 && !slices.ContainsFunc(types, handler) {
		types = append(types, pick(g, registry.Plugins...).Type)
	}
	return types
}

func (g *Generator) profile(name string, types []string) map[string]any {
	references := []any{}
	for i, plugin := range g.plugins {
		if !slices.Contains(theSchema().placed, types[i]) || g.chance(0.3) {
			continue
		}
		r := map[string]any{"pluginRef": plugin}
		if g.chance(0.5) {
			r["weight"] = g.value(&Key{kind: number, least: "0", most: "1000"})
		}
		references = append(references, r)
	}
	if g.chance(g.wrong) {
		references = append(references, map[string]any{"pluginRef": pick(g, "nowhere", "", "queue-scorer")})
	}
	return map[string]any{"name": name, "plugins": references}
}
