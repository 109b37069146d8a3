package foreign

import (
	"fmt"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/scoring"
)

// differences say what a plug-in does otherwise here than where it comes from, whichever project that is.
var differences = []struct{ kind, text string }{
	{"active-request-scorer", "the most requests are those of a candidate, not of any endpoint, and all of Envoy's " +
		"workers count together"},
	{"approx-prefix-cache-producer", samePrefixes + "; the blocks of all producers of one decision are 1,024 at most"},
	{"cached-blocks-scorer", "what servers have cached is what they answered, not what they report"},
	{"latency-slo-admitter", "a request that is refused is answered with 429, not 500"},
	{"lora-affinity-scorer", "a server that has reported no adapter yet counts as one with room for one"},
	{"no-hit-lru-scorer", "used endpoints are ranked among the candidates, not among all"},
	{"prefix-cache-scorer", samePrefixes},
	{"prefix-share-scorer", "what servers have cached is what they answered, not what they report"},
	{"probabilistic-admitter", "a request that is refused is answered with 429, not 500"},
	{"token-length-scorer", "the formula is Pintle's own: Heimdall's is not published"},
	{"token-load-scorer", "a prompt's tokens are those that are not cached, always; there it is by chance of a start " +
		"whether the cache counts"},
}

const samePrefixes = "a match ends at the first block that the endpoint lacks, the last blocks of a prompt go first, " +
	"and a prompt counts " +
	"when it was answered; blocks have the size of the servers' own"

// Differences are what a plug-in of the type does otherwise here than where it comes from.
func Differences(kind string) (texts []string) {
	for _, d := range differences {
		if d.kind == kind {
			texts = append(texts, d.text)
		}
	}
	return texts
}

// Differences are what the plug-ins of the document do otherwise here than where it comes from, each with its line.
func (f *Found) Differences() (lines []string) {
	root := f.Root()
	if config := value(root, "config"); config != nil {
		root = config
	}
	eachProfile(root, func(document *goyaml.Node, resource bool) {
		plugins := value(document, "plugins")
		if !sequence(plugins) {
			return
		}
		for _, item := range plugins.Content {
			kind := text(value(item, "type"))
			name := kind
			if alias := text(value(item, "name")); alias != "" {
				name = alias
			}
			if here, ok := scoring.ResourcePlugin(kind); ok && resource {
				kind = here
			}
			for _, difference := range Differences(kind) {
				lines = append(lines, fmt.Sprintf("line %d: %s: %s", item.Line, name, difference))
			}
		}
	})
	return lines
}

// eachProfile calls do with what has the list of plug-ins: a document, or what a SchedulingProfile, or each of a list,
// specifies.
func eachProfile(root *goyaml.Node, do func(document *goyaml.Node, resource bool)) {
	if items := value(root, "items"); sequence(items) {
		for _, item := range items.Content {
			eachProfile(item, do)
		}
		return
	}
	if spec := value(root, "spec"); spec != nil {
		do(spec, true)
		return
	}
	do(root, false)
}
