package foreign_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/scoring"
)

// Every file in testdata begins with a comment of one line: what validating it comes to.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
			if got := validate(text); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

var known = regexp.MustCompile(`\? known are .*`)

// validate returns the mistakes, or where the document lies, in one line.
func validate(text []byte) string {
	found, err := foreign.Read(text)
	if err == nil {
		_, err = pluginconfig.ParseIn(found.JSON, nil)
		err = errors.Join(found.Unfit, found.Locate(err))
	}
	if err != nil {
		// The lists of what is known grow; no case is about them.
		return strings.ReplaceAll(known.ReplaceAllString(err.Error(), "? KNOWN"), "\n", " | ")
	}
	if found.Where == "" {
		return "valid"
	}
	return "valid at " + found.Where
}

// TestKnownKeys: a file with any key of the filter's configuration beside config is one, and counts as a whole.
func TestKnownKeys(t *testing.T) {
	_, err := pluginconfig.Parse([]byte(`{"zzzz": 1}`))
	_, list, ok := strings.Cut(err.Error(), "known are ")
	if !ok {
		t.Fatal(err)
	}
	for _, key := range strings.Split(strings.Replace(list, "config, ", "", 1), ", ") {
		found, err := foreign.Read([]byte(key + ": {}\nconfig:\n  plugins: []\n  schedulingProfiles: []\n"))
		if err == nil && found.Where != "" {
			t.Errorf("a file with the key %s is read at %s alone", key, found.Where)
		}
	}
}

// TestBrokenTexts: a text for the filter that cannot be read is told by its line in the file that it lies in; other
// texts are nobody's concern.
func TestBrokenTexts(t *testing.T) {
	const unclosed = "not valid YAML: brackets, braces or quotes do not match, or a comma is missing"
	for _, tc := range []struct{ name, text, want string }{
		{"a configuration", "configuration:\n  value: |\n    {\n      \"ingest\": {\"port\": 1},\n" +
			"      \"hold\": \"pause\"\n      \"debug\": true\n    }\n", "line 6: " + unclosed},
		{"one in a line", "configuration: {value: '{\"ingest\": {\"port\": 1}'}\n", "line 1: " + unclosed},
		{"a document as JSON", "a:\n  b: |\n    {\"plugins\": [],\n    \"kind\": \"EndpointPickerConfig\"\n",
			"line 4: " + unclosed},
		{"profiles", "a:\n  b: |\n    {\"plugins\": [],\n    \"schedulingProfiles\": [\n", "line 4: " + unclosed},
		{"a document", "a:\n  b: |\n    kind: EndpointPickerConfig\n    plugins: [\n", "line 4: " + unclosed},
		{"beside a good one", "a:\n  b: |\n    {\"ingest\": {}\n  c: |\n    {\"ingest\": {}}\n",
			"several documents lie in the file: a.b (line 3), a.c (line 5); give the one that you mean in a file of " +
				"its own"},
		{"words about one", "a: |\n  {Write an EndpointPickerConfig\n  with plugins: [\nplugins: []\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			if _, err := foreign.Read([]byte(tc.text)); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestAdded: what is added is said unless the configuration leaves it out; what a chart says of servers is named.
func TestAdded(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		lines      int
	}{
		{"all", "plugins: []\n", 3}, {"no correction", "load: {correction: false}\n", 2},
		{"neither", "load: {correction: false}\nfailing: {policy: ignore}\n", 1},
	} {
		found, err := foreign.Read([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := found.Added(); len(got) != tc.lines {
			t.Errorf("%s: got %q, want %d lines", tc.name, got, tc.lines)
		}
	}
	found, err := foreign.Read([]byte("router:\n  metricsDataSource: {path: /m}\n" +
		"  modelServers:\n    type: trtllm-serve\n  epp:\n    pluginsCustomConfig:\n" +
		"      a.yaml: {kind: EndpointPickerConfig, plugins: [{type: queue-scorer}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(found.Besides, " "); got != "router.metricsDataSource.path router.modelServers.type" {
		t.Errorf("beside the document: got %q", got)
	}
}

// TestDifferences: what a plug-in does otherwise is said in the dialects of which that is so, and in no other.
func TestDifferences(t *testing.T) {
	const h, l = scoring.DialectHeimdall, scoring.DialectLLMD
	for _, tc := range []struct {
		kind    string
		dialect scoring.Dialect
		want    string // empty for nothing
	}{
		{"active-request-scorer", h, "maxBusyScore is 1"}, {"active-request-scorer", l, "workers count together"},
		{"agent-identity", l, "no flow"}, {"agent-identity", h, ""},
		{"destination-endpoint-served-verifier", h, "missing"}, {"destination-endpoint-served-verifier", l, "missing"},
		{"header-based-testing-filter", h, "first endpoint"}, {"header-based-testing-filter", l, "first endpoint"},
		{"latency-slo-admitter", l, "KV cache"}, {"passthrough-parser", l, "path is known"},
		{"precise-prefix-cache-scorer", h, "more than none"}, {"precise-prefix-cache-scorer", l, "discoverPods"},
		{"precise-prefix-cache-producer", l, "podCacheSize"}, {"predicted-latency-scorer", h, "training"},
		{"prefix-based-pd-decider", h, "JSON"}, {"prefix-based-pd-decider", l, "default one"},
		{"queue-scorer", h, ""}, {"queue-scorer", l, ""},
	} {
		got := strings.Join(foreign.Differences(tc.kind, tc.dialect), "\n")
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s, %v: got %q, want %q", tc.kind, tc.dialect, got, tc.want)
		}
	}
}

// TestIdleDiffersInNothing: what a plug-in would do otherwise is not said of one that nothing refers to.
func TestIdleDiffersInNothing(t *testing.T) {
	const document = "plugins: [{type: lora-affinity-scorer}, {type: lora-affinity-scorer, name: idle}]\n" +
		"schedulingProfiles: [{name: default, plugins: [{pluginRef: lora-affinity-scorer}]}]\n"
	found, err := foreign.Read([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	config, err := pluginconfig.ParseIn(found.JSON, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(found.Differences(config.Plan), "\n")
	if !strings.HasPrefix(got, "line 1: lora-affinity-scorer: ") || strings.Contains(got, "idle") {
		t.Errorf("got %q, want the first plug-in's and not the second one's", got)
	}
}

// TestNamedByArguments: of several files the one is meant that containers' arguments name, however many name it.
func TestNamedByArguments(t *testing.T) {
	const files = "kind: ConfigMap\nmetadata: {name: c}\ndata:\n" +
		"  one.yaml: |\n    kind: EndpointPickerConfig\n    plugins: [{type: queue-scorer}]\n" +
		"  two.yaml: |\n    kind: EndpointPickerConfig\n    plugins: [{type: no-hit-lru-scorer}]\n"
	const one, two = "--config-file=/etc/one.yaml", "--config-file=/etc/two.yaml"
	for _, tc := range []struct {
		name string
		args []string
		want string // empty for a mistake
	}{
		{"nobody", nil, ""},
		{"one", []string{one}, "document 1: data.one.yaml"},
		{"the other", []string{two}, "document 1: data.two.yaml"},
		{"one, twice", []string{one, one}, "document 1: data.one.yaml"},
		{"both", []string{one, two}, ""},
	} {
		text := files
		for _, arg := range tc.args {
			text += "---\nkind: Deployment\nmetadata: {name: d}\nspec: {containers: [{args: [" + arg + "]}]}\n"
		}
		if len(tc.args) == 0 {
			text += "---\nkind: Service\nmetadata: {name: s}\n"
		}
		found, err := foreign.Read([]byte(text))
		if tc.want == "" {
			if err == nil || !strings.Contains(err.Error(), "several documents lie in the file") {
				t.Errorf("%s: got %v, want that it is not told which document is meant", tc.name, err)
			}
			continue
		}
		if err != nil || found.Where != tc.want {
			t.Errorf("%s: got %v, %v, want %s", tc.name, found, err, tc.want)
		}
	}
}
