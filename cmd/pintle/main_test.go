package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// outcome is what a command did.
type outcome struct {
	code           int
	stdout, stderr string
}

func pintle(args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := run(args, &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// files writes files of these names and contents and returns a function that gives their paths.
func files(t *testing.T, contents map[string]string) func(name string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(folder, name) }
}

// TestOutputIsLost: a command whose output cannot be written failed, and says why.
func TestOutputIsLost(t *testing.T) {
	path := files(t, map[string]string{"config.yaml": "plugins: [{type: queue-scorer}]\n"})
	for _, args := range [][]string{{"validate", "-c", path("config.yaml")}, {"version"}, {"validate", "-h"}} {
		var stderr bytes.Buffer
		code := run(args, full{}, &stderr)
		want := "pintle " + args[0] + ": no space left on device\n"
		if code != 1 || !strings.HasSuffix(stderr.String(), want) {
			t.Errorf("%v: got code %d and %q, want 1 and %q", args, code, stderr.String(), want)
		}
	}
}

func TestUsage(t *testing.T) {
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // a part of it; empty: nothing at all
	}{
		{"nothing", nil, 2, "", "pintle validate"},
		{"help", []string{"help"}, 0, "pintle explain", ""},
		{"-h", []string{"-h"}, 0, "pintle explain", ""},
		{"--help", []string{"--help"}, 0, "pintle explain", ""},
		{"unknown command", []string{"explian"}, 2, "",
			`unknown command "explian"; known are explain, migrate, record, replay, sidecar, sim, validate, version`},
		{"validate -h", []string{"validate", "-h"}, 0, "the plug-in configuration", ""},
		{"validate without -c", []string{"validate"}, 2, "",
			"pintle validate: flag -c is missing: the plug-in configuration, YAML or JSON (required)\n"},
		{"validate with a stray argument", []string{"validate", "-c", "x", "y"}, 2, "",
			"pintle validate: argument \"y\" is unknown; flags alone are right\n"},
		{"file without its flag", []string{"validate", "y"}, 2, "",
			"pintle validate: argument \"y\" is unknown; flags alone are right, such as -c y\n"},
		{"validate with an unknown flag", []string{"validate", "-x"}, 2, "", "flag provided but not defined: -x"},
		{"explain -h", []string{"explain", "-h"}, 0, "makes random choices repeatable", ""},
		{"explain without -c", []string{"explain"}, 2, "", "pintle explain: flag -c is missing"},
		{"explain without -e", []string{"explain", "-c", "x"}, 2, "", "pintle explain: flag -e is missing"},
		{"explain without -r", []string{"explain", "-c", "x", "-e", "y"}, 2, "", "pintle explain: flag -r is missing"},
		{"explain in another format", []string{"explain", "-c", "x", "-e", "y", "-r", "z", "-o", "xml"}, 2, "",
			`flag -o: "xml" is not text or json`},
		{"migrate -h", []string{"migrate", "-h"}, 0, "Usage of pintle migrate FILE:\n", ""},
		{"record in files of no size", []string{"record", "-c", "x", "-o", "y", "-size", "0"}, 2, "",
			"pintle record: flag -size 0: want 1 to 1048576\n"},
		{"record in too many files", []string{"record", "-c", "x", "-o", "y", "-keep", "1001"}, 2, "",
			"pintle record: flag -keep 1001: want 0 to 1000\n"},
		{"record until the past", []string{"record", "-c", "x", "-o", "y", "-for", "-1s"}, 2, "",
			"pintle record: flag -for -1s: want 0s or more\n"},
		{"replay -h", []string{"replay", "-h"}, 0, "Usage of pintle replay TRACE:\n", ""},
		{"sidecar -h", []string{"sidecar", "-h"}, 0, "only check the configuration", ""},
		{"sidecar without -c", []string{"sidecar"}, 2, "", "pintle sidecar: flag -c is missing"},
		{"sim with a stray argument", []string{"sim", "y"}, 2, "",
			"pintle sim: argument \"y\" is unknown; flags alone are right\n"},
		{"version", []string{"version"}, 0, "snapshot format ", ""},
		{"--version", []string{"--version"}, 0, "snapshot format ", ""},
		{"version with a stray argument", []string{"version", "y"}, 2, "",
			"pintle version: argument \"y\" is unknown; flags alone are right\n"},
		{"explain with half a header", []string{"explain", "-H", "x-user"}, 2, "",
			`"x-user" is not of the form name: value`},
		{"explain with a seed in words", []string{"explain", "-seed", "one"}, 2, "",
			`invalid value "one" for flag -seed`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := pintle(test.args...)
			if got.code != test.code {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			checkOutput(t, "stdout", got.stdout, test.stdout)
			checkOutput(t, "stderr", got.stderr, test.stderr)
		})
	}
}

// checkOutput checks that got holds part, or is empty when that is.
func checkOutput(t *testing.T, stream, got, part string) {
	t.Helper()
	if part == "" && got != "" || !strings.Contains(got, part) {
		t.Errorf("%s is %q, want %q", stream, got, part)
	}
}

func TestValidate(t *testing.T) {
	path := files(t, map[string]string{
		"empty.yaml": "# nothing\n",
		"none.yaml":  `{}`,
		"good.yaml":  "config:\n  plugins: [{type: queue-scorer}]\ningest: {port: 15099, token: pintle-local}\n",
		"good.json":  `{"plugins": [{"type": "queue-scorer"}]}`,
		"bad.yaml":   "hold: wait\nconfig:\n  plugins: [{type: random-picker, parameters: {maxNumOfEndpoints: 0}}]\n",
		"broken":     "plugins: [",
		"warns.yaml": "featureGates: [flowControl]",
		"tried.yaml": "shadow: {config: {featureGates: [flowControl]}}",
		"redis.yaml": "plugins: [{type: precise-prefix-cache-scorer, parameters: {indexerConfig: " +
			"{tokenizersPoolConfig: {modelName: m}, " +
			"kvBlockIndexConfig: {redisConfig: {address: 'redis://h?ssl=1'}}}}}]\n",
		"shadow.yaml": "config: {plugins: [{type: precise-prefix-cache-scorer, parameters: {indexerConfig: " +
			"{tokenizersPoolConfig: {modelName: m}, " +
			"kvBlockIndexConfig: {redisConfig: {address: 'redis://h?ssl=1'}}}}}]}\n" +
			"shadow:\n  config:\n    plugins: [{type: nothing}]\n",
	})
	tests := []struct {
		file   string
		code   int
		stderr string
	}{
		{"empty.yaml", 2, "empty.yaml: the document is empty; {} is the one with all defaults\n"},
		{"none.yaml", 0, ""},
		{"good.yaml", 0, ""},
		{"good.json", 0, ""},
		{"bad.yaml", 2, "bad.yaml: line 1: hold: \"wait\" is not one of buffer, pause\n"},
		{"bad.yaml", 2, "bad.yaml: line 3: config.plugins[0](random-picker).parameters.maxNumOfEndpoints: 0 is not a " +
			"whole number from 1 to 1024\n"},
		{"broken", 2, "broken: line 1: not valid YAML"},
		{"missing", 2, "no such file"},
		{"redis.yaml", 2, `redis.yaml: precise-prefix-cache-scorer: kvBlockIndexConfig: "redis://h?xxxxx" has an option`},
		{"shadow.yaml", 2, "shadow.yaml: line 4: shadow.config.plugins[0](nothing).type: \"nothing\" is not a known"},
		{"shadow.yaml", 2, `shadow.yaml: precise-prefix-cache-scorer: kvBlockIndexConfig: "redis://h?xxxxx"`},
		{"warns.yaml", 0, "warning: featureGates: flowControl has no effect"},
		{"tried.yaml", 0, "warning: shadow: config: featureGates: flowControl has no effect"},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			got := pintle("validate", "-c", path(test.file))
			if got.code != test.code {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			if says := strings.HasPrefix(got.stdout, "dialect: heimdall, as "); says != (test.code == 0) {
				t.Errorf("stdout is %q", got.stdout)
			}
			checkOutput(t, "stderr", got.stderr, test.stderr)
			for line := range strings.Lines(got.stderr) {
				checkOutput(t, "line", line, "pintle validate: ")
			}
		})
	}
}

// TestDocumentsThatLookLikeHeimdalls: of llm-d's own from before 0.10 the commands say that they may be.
func TestDocumentsThatLookLikeHeimdalls(t *testing.T) {
	const loads = "pintle validate: read as llm-d's it loads: say dialect: llm-d beside config if it is of llm-d\n"
	const more = "pintle migrate: more is preserved with -dialect llm-d: take that if the document is of llm-d\n"
	const older = "; a document of llm-d"
	path := files(t, map[string]string{
		"tokenizer.yaml": "plugins: [{type: tokenizer, parameters: {modelName: m}}, {type: queue-scorer}]\n" +
			"schedulingProfiles: [{name: p, plugins: [{pluginRef: tokenizer}, {pluginRef: queue-scorer}]}]\n",
		"marked.yaml": "plugins: [{type: prefix-cache-scorer, parameters: {maxPrefixBlocksToMatch: 256}}]\n",
		"own.yaml":    "plugins: [{type: by-label, parameters: {label: mif.moreh.io/role, validValues: [a]}}]\n",
		"wrong.yaml":  "plugins: [{type: queue-scorrer}]\n",
	})
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // which of the three texts, empty for none
	}{
		{"refused", []string{"validate", "-c", path("tokenizer.yaml")}, 2, "", loads},
		{"refused as said", []string{"validate", "-dialect", "heimdall", "-c", path("tokenizer.yaml")}, 2, "", ""},
		{"refused in both", []string{"validate", "-c", path("wrong.yaml")}, 2, "", ""},
		{"marked", []string{"validate", "-c", path("marked.yaml")}, 0, older, ""},
		{"Heimdall's own", []string{"validate", "-c", path("own.yaml")}, 0, "", ""},
		{"migrated in part", []string{"migrate", path("tokenizer.yaml")}, 1, "", more},
		{"migrated as said", []string{"migrate", "-dialect", "heimdall", path("tokenizer.yaml")}, 1, "", ""},
		{"migrated, marked", []string{"migrate", path("marked.yaml")}, 1, older, ""},
		{"migrated, Heimdall's own", []string{"migrate", path("own.yaml")}, 0, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := pintle(test.args...)
			if got.code != test.code {
				t.Errorf("exit code %d, want %d: %s", got.code, test.code, got.stderr)
			}
			for _, text := range []string{loads, more, older} {
				if strings.Contains(got.stdout, text) != (test.stdout != "" && text == older) ||
					strings.Contains(got.stderr, text) != (test.stderr == text) {
					t.Errorf("got\n%s\n%s\nwant %q and %q", got.stdout, got.stderr, test.stdout, test.stderr)
				}
			}
		})
	}
}

const endpointsYAML = `
endpoints:
- {name: a, address: "10.0.0.1:8000", metrics: {waiting: 3}}
- {name: b, address: "10.0.0.2:8000", metrics: {waiting: 1}}
- {name: c, address: "10.0.0.3:8000", metrics: {waiting: 2}}
`

var explainFiles = map[string]string{
	"queue.yaml":     "plugins: [{type: queue-scorer}]",
	"random.yaml":    "plugins: [{type: random-picker}]",
	"session.yaml":   "plugins: [{type: session-affinity-scorer}]",
	"warns.yaml":     "featureGates: [flowControl]\nplugins: [{type: queue-scorer}]",
	"bad.yaml":       "hold: wait",
	"endpoints.yaml": endpointsYAML,
	"bad-endpoints":  "endpoints: [{name: a}]",
	"good.json":      `{"model": "m", "prompt": "<hi>"}`,
	"refused.json":   `{"prompt": "hi"}`,
	"broken.json":    `{"model": <}`,
	"empty":          ``,
}

func TestExplain(t *testing.T) {
	path := files(t, explainFiles)
	tests := []struct {
		name, config, endpoints string
		requests                []string
		more                    []string
		code                    int
		stdout, stderr          string
	}{
		{"text", "queue.yaml", "endpoints.yaml", []string{"good.json"}, nil, 0, "goes to 10.0.0.2:8000\n", ""},
		{"refused", "queue.yaml", "endpoints.yaml", []string{"refused.json"}, nil, 1, "refused with 400 model_missing",
			""},
		{"the second is refused", "queue.yaml", "endpoints.yaml", []string{"good.json", "broken.json"}, nil, 1,
			"refused with 400 invalid_body", ""},
		{"the first is refused", "queue.yaml", "endpoints.yaml", []string{"broken.json", "good.json"}, nil, 1,
			"goes to 10.0.0.2:8000\n", ""},
		{"no endpoints", "queue.yaml", "empty", []string{"good.json"}, nil, 1, "refused with 503 no_endpoints", ""},
		{"no body", "queue.yaml", "endpoints.yaml", []string{"empty"}, nil, 0, "goes to 10.0.0.", ""},
		{"a header", "session.yaml", "endpoints.yaml", []string{"good.json"}, []string{"-H", "X-Session-Token: Yw=="},
			0, "goes to 10.0.0.3:8000\n", ""},
		{"a header twice", "session.yaml", "endpoints.yaml", []string{"good.json"},
			[]string{"-H", "X-Session-Token: Yw==", "-H", "x-session-token: YQ=="}, 0, "goes to 10.0.0.3:8000\n", ""},
		{"a path of management", "queue.yaml", "endpoints.yaml", []string{"good.json"},
			[]string{"-H", ":path: /sleep"}, 1, "refused with 403 management_path", ""},
		{"a path", "queue.yaml", "endpoints.yaml", []string{"refused.json"}, []string{"-H", ":path: /metrics"}, 0,
			"goes to 10.0.0.", ""},
		{"a warning", "warns.yaml", "endpoints.yaml", []string{"good.json"}, nil, 0, "goes to 10.0.0.2:8000\n",
			"warning: featureGates"},
		{"bad configuration", "bad.yaml", "endpoints.yaml", []string{"good.json"}, nil, 2, "",
			`hold: "wait" is not one of buffer, pause`},
		{"no configuration", "missing", "endpoints.yaml", []string{"good.json"}, nil, 2, "", "no such file"},
		{"bad endpoints", "queue.yaml", "bad-endpoints", []string{"good.json"}, nil, 2, "",
			"bad-endpoints: line 1: endpoints[0].address: is missing; ip:port is right"},
		{"no endpoints document", "queue.yaml", "missing", []string{"good.json"}, nil, 2, "", "no such file"},
		{"no request", "queue.yaml", "endpoints.yaml", []string{"missing"}, nil, 2, "", "no such file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := []string{"explain", "-c", path(test.config), "-e", path(test.endpoints)}
			for _, request := range test.requests {
				args = append(args, "-r", path(request))
			}
			got := pintle(append(args, test.more...)...)
			if got.code != test.code {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			checkOutput(t, "stdout", got.stdout, test.stdout)
			checkOutput(t, "stderr", got.stderr, test.stderr)
		})
	}
}

// The keys of the JSON output are a promise; new ones may join them.
func TestExplainJSON(t *testing.T) {
	path := files(t, explainFiles)
	got := pintle("explain", "-c", path("queue.yaml"), "-e", path("endpoints.yaml"), "-o", "json", "-seed", "1",
		"-r", path("good.json"), "-r", path("refused.json"), "-r", path("good.json"))
	if got.code != 1 || got.stderr != "" {
		t.Errorf("exit code %d and stderr %q, want 1 and nothing", got.code, got.stderr)
	}
	lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), got.stdout)
	}
	const decided = `{"profiles":{"default":{"filteredOut":{},"scores":{"queue-scorer":{"a":0,"b":1,"c":0.5}},"totals":{"a":0,"b":1,"c":0.5},` +
		`"picked":["b"]}},"primary":"default","destination":["10.0.0.2:8000"],"requestHeaders":{},"error":null}`
	const refused = `{"profiles":{},"primary":"","destination":[],"requestHeaders":{},"error":{"status":400,"reason":"model_missing",` +
		`"message":"the request names no model; set \"model\" to the name of one"}}`
	// The first request still waits at b when the third is decided.
	const again = `{"profiles":{"default":{"filteredOut":{},"scores":{"queue-scorer":{"a":0,"b":1,"c":1}},"totals":{"a":0,"b":1,"c":1},` +
		`"picked":["c"]}},"primary":"default","destination":["10.0.0.3:8000"],"requestHeaders":{},"error":null}`
	for i, want := range []string{decided, refused, again} {
		checkPromised(t, lines[i], want)
	}
}

// checkPromised checks that every top-level key of want is in the line with the same value.
func checkPromised(t *testing.T, line, want string) {
	t.Helper()
	var gots, wants map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &gots); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if err := json.Unmarshal([]byte(want), &wants); err != nil {
		t.Fatal(err)
	}
	for key := range wants {
		if !bytes.Equal(gots[key], wants[key]) {
			t.Errorf("%s is %s, want %s", key, gots[key], wants[key])
		}
	}
}

// TestHelpIsTheSame: the help of a command is the same each time.
func TestHelpIsTheSame(t *testing.T) {
	for name := range commands {
		if one, other := pintle(name, "-h"), pintle(name, "-h"); one != other {
			t.Errorf("pintle %s -h prints\n%s\nand then\n%s", name, one.stdout, other.stdout)
		}
	}
}

func TestExplainSeed(t *testing.T) {
	path := files(t, explainFiles)
	decide := func(seed string) string {
		args := []string{"explain", "-c", path("random.yaml"), "-e", path("endpoints.yaml"), "-o", "json", "-seed",
			seed}
		for range 20 {
			args = append(args, "-r", path("good.json"))
		}
		got := pintle(args...)
		if got.code != 0 {
			t.Fatalf("exit code %d: %s", got.code, got.stderr)
		}
		return got.stdout
	}
	first, again, other := decide("7"), decide("7"), decide("8")
	if first != again {
		t.Errorf("seed 7 decided\n%sand then\n%s", first, again)
	}
	if first == other {
		t.Error("seeds 7 and 8 decided alike, 20 times")
	}
	if lines := strings.Split(first, "\n"); len(slices.Compact(lines[:20])) == 1 {
		t.Error("20 random choices went to one endpoint")
	}
}
