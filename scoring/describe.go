package scoring

import "github.com/pintle-dev/pintle/internal/strictjson"

// Describe returns the parameters that a plug-in reads, with their types and defaults, and what the plug-in can be in a
// configuration. It is for documentation.
func Describe(r Registration, registry []Registration) (parameters []strictjson.Key, kinds []string) {
	none, _ := strictjson.Parse([]byte("{}"), "")
	c := &compiler{plan: &Plan{}, defaults: DefaultsOf(DialectUnsaid), registry: registry, profileNames: []string{defaultProfile}}
	plugin := r.New(&Builder{Object: none, Type: r.Type, Name: r.Type, compiler: c})
	for _, k := range []struct {
		name string
		is   bool
	}{
		{"model selector", is[ModelSelector](plugin)},
		{"profile handler", is[ProfileHandler](plugin)},
		{"prefill decider", is[PrefillDecider](plugin)},
		{"encode decider", is[EncodeDecider](plugin)},
		{"filter", is[Filter](plugin) || is[GroupFilter](plugin)},
		{"scorer", is[Scorer](plugin)},
		{"picker", is[Picker](plugin)},
		{"request hook", is[RequestHook](partOf(plugin))},
		{"response hook", is[ResponseHook](partOf(plugin))},
		{"producer", is[LoadProducer](plugin)},
		{"data source", is[DataSource](plugin)},
		{"data extractor", is[DataExtractor](plugin)},
	} {
		if k.is {
			kinds = append(kinds, k.name)
		}
	}
	return none.Known(), kinds
}

func is[T any](p Plugin) bool {
	_, ok := p.(T)
	return ok
}
