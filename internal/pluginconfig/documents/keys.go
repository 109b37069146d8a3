package documents

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/scoring"
)

// kind is what stands at a key.
type kind int

const (
	anything kind = iota // of a key whose value nobody looks at
	text
	boolean
	integer
	number
	duration
	choice
	texts
	textsByName
	object
	objects
)

// Key is a key of a configuration, as far as the reader's mistakes tell of it.
type Key struct {
	Name string
	kind kind
	// allowed are the values of a choice.
	allowed []string
	// least and most bound numbers, least durations, too.
	least, most string
	// keys are those of an object, or of each in a list of them.
	keys []*Key
}

// unknown is a key that nothing has.
const unknown = "zzzz"

var (
	known   = regexp.MustCompile(`^unknown key "` + unknown + `"; (?:known are (.*)|no keys are allowed here)$`)
	told    = regexp.MustCompile(` is not (a string|true or false|a list|a list of .*|a map of strings)$`)
	within  = regexp.MustCompile(` is not (a whole number|a number) from (\S+) to (\S+)$`)
	atLeast = regexp.MustCompile(` is not (a number|a duration such as .*), at least (\S+)$`)
	oneOf   = regexp.MustCompile(` is not one of (.*)$`)
)

// Parameters returns the keys of a plug-in's parameters in a dialect.
func Parameters(plugin string, dialect scoring.Dialect) []*Key {
	around := func(value any) any {
		return map[string]any{"dialect": dialect.String(), "config": map[string]any{
			"plugins": []any{map[string]any{"type": plugin, "name": "probed", "parameters": value}}}}
	}
	return probe("config.plugins[0](probed).parameters", around).keys
}

// outer returns the keys beside a document.
func outer() []*Key { return probe("configuration", func(value any) any { return value }).keys }

// probe finds out what stands at a path, where around puts a value, by what is said of an object there.
func probe(path string, around func(value any) any) *Key {
	for _, mistake := range mistakesOf(around(map[string]any{unknown: 1})) {
		at, what, _ := strings.Cut(mistake, ": ")
		switch found := known.FindStringSubmatch(what); {
		case at == path && found != nil:
			return &Key{kind: object, keys: keysOf(found[1], path, around)}
		case at == path+"."+unknown && strings.HasSuffix(what, "is not a string"):
			return &Key{kind: textsByName}
		case at == path:
			return scalar(what, path, around)
		}
	}
	return &Key{}
}

// scalar is what stands at a path where no object does, by what is said of one.
func scalar(what, path string, around func(value any) any) *Key {
	if m := within.FindStringSubmatch(what); m != nil {
		return &Key{kind: map[string]kind{"a whole number": integer, "a number": number}[m[1]], least: m[2], most: m[3]}
	}
	if m := atLeast.FindStringSubmatch(what); m != nil && m[1] == "a number" {
		return &Key{kind: number, least: m[2], most: "1e300"}
	} else if m != nil {
		return &Key{kind: duration, least: m[2]}
	}
	if m := oneOf.FindStringSubmatch(what); m != nil {
		return &Key{kind: choice, allowed: strings.Split(m[1], ", ")}
	}
	m := told.FindStringSubmatch(what)
	switch {
	case m == nil || m[1] == "a string":
		return &Key{kind: text}
	case m[1] == "true or false":
		return &Key{kind: boolean}
	case m[1] == "a list":
		item := probe(path+"[0]", func(value any) any { return around([]any{value}) })
		return &Key{kind: objects, keys: item.keys}
	case m[1] == "a map of strings":
		return &Key{kind: textsByName}
	}
	return &Key{kind: texts}
}

// keysOf probes each of the keys that an object is said to have. What a document holds is drawn by other means.
func keysOf(list, path string, around func(value any) any) (keys []*Key) {
	for name := range strings.SplitSeq(list, ", ") {
		at := path + "." + name
		if path == "configuration" {
			at = name
		}
		if list == "" || at == "config" || at == "shadow" {
			continue
		}
		key := probe(at, func(value any) any { return around(map[string]any{name: value}) })
		key.Name = name
		keys = append(keys, key)
	}
	return keys
}

func mistakesOf(configuration any) []string {
	if _, err := pluginconfig.Parse(encode(configuration)); err != nil {
		return strings.Split(err.Error(), "\n")
	}
	return nil
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // what is drawn can be written
	}
	return text
}
