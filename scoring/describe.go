package scoring

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// Describe returns the parameters that a plug-in reads, with their types and defaults, and what the plug-in can be in a
// configuration. It is for documentation.
func Describe(r Registration, registry []Registration) (parameters []strictjson.Key, kinds []string) {
	none, plugin := describeIn(DialectHeimdall, r, registry)
	parameters = none.Known()
	inLLMD, _ := describeIn(DialectLLMD, r, registry)
	for _, key := range inLLMD.Known() {
		if !slices.ContainsFunc(parameters, func(k strictjson.Key) bool { return k.Name == key.Name }) {
			parameters = append(parameters, key)
		}
	}
	for _, k := range []struct {
		name string
		is   bool
	}{
		{"screener", is[Screener](plugin)},
		{"admitter", is[Admitter](plugin) && !is[ProfileHandler](plugin) || is[Confirmer](plugin)},
		{"model selector", is[ModelSelector](plugin)},
		{"profile handler", is[ProfileHandler](plugin)},
		{"prefill decider", is[PrefillDecider](plugin)},
		{"encode decider", is[EncodeDecider](plugin)},
		{"filter", is[Filter](plugin) || is[GroupFilter](plugin)},
		{"scorer", is[Scorer](plugin)},
		{"picker", is[Picker](plugin)},
		{"request hook", is[RequestHook](partOf(plugin))},
		{"response hook", is[ResponseHook](partOf(plugin))},
		{"producer", is[LoadProducer](plugin) || is[LatencyProducer](plugin)},
		{"prefix producer", is[PrefixProducer](plugin)},
		{"media producer", is[MediaProducer](plugin)},
		{"reporter", is[Reporter](plugin)},
		{"data source", is[DataSource](plugin)},
		{"data extractor", is[DataExtractor](plugin)},
		{"discovery", is[Discovery](plugin)},
		{"saturation detector", is[SaturationDetector](plugin)},
		{"parser", is[Parser](plugin)},
		{"store", is[ResponsesPart](plugin)},
	} {
		if k.is {
			kinds = append(kinds, k.name)
		}
	}
	return parameters, kinds
}

// describeIn builds a plug-in without parameters, to see which it asks for.
func describeIn(d Dialect, r Registration, registry []Registration) (*strictjson.Object, Plugin) {
	none, _ := strictjson.Parse([]byte("{}"), "")
	c := &compiler{plan: &Plan{}, registry: registry, profileNames: []string{defaultProfile}}
	c.setDialect(Reading{Dialect: d})
	return none, r.New(&Builder{Object: none, Type: r.Type, Name: r.Type, compiler: c})
}

func is[T any](p Plugin) bool {
	_, ok := p.(T)
	return ok
}
