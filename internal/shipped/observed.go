package shipped

import (
	_ "embed"
	"encoding/json"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed access_log.yaml
var accessLog []byte

// AccessLog is the format of the access log: names, and Envoy's formats of their values.
func AccessLog() map[string]string {
	format := map[string]string{}
	if err := yaml.UnmarshalStrict(accessLog, &format); err != nil {
		panic("internal/shipped/access_log.yaml: " + err.Error())
	}
	return format
}

// AccessLogJSON is AccessLog as JSON in one line.
func AccessLogJSON() string { return toJSON(AccessLog()) }

// tagged are the first parts of the access log's names that spans have as tags, too: the others Envoy gives them
// itself.
var tagged = []string{"error.", "gen_ai.", "pintle."}

// Tag is a custom tag of Envoy's tracers.
type Tag struct {
	Tag   string `json:"tag"`
	Value string `json:"value"`
}

// TagsJSON are the custom tags of a span, as JSON in one line.
func TagsJSON() string {
	tags := []Tag{}
	for line := range strings.SplitSeq(string(accessLog), "\n") { // in the order of the file
		name, _, ok := strings.Cut(line, ": ")
		for _, prefix := range tagged {
			if ok && strings.HasPrefix(name, prefix) {
				tags = append(tags, Tag{name, AccessLog()[name]})
			}
		}
	}
	return toJSON(tags)
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
