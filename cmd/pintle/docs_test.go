package main

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness/pki"
	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// The documentation shows what `pintle explain` prints for its examples, word for word but for blanks at the ends of
// lines.
func TestDocumentedExamples(t *testing.T) {
	t.Chdir("../..")
	const prompt = "    $ bin/pintle explain "
	shown := 0
	for _, page := range []string{"README.md", "docs/configuration.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			command, ok := strings.CutPrefix(line, prompt)
			if !ok {
				continue
			}
			shown++
			got := pintle(append([]string{"explain"}, strings.Fields(command)...)...)
			if want := block(lines[i+1:]); got.code != 0 || trimLines(got.stdout) != want {
				t.Errorf("%s: %s\nprints:\n%s%s\nnot:\n%s", page, command, got.stdout, got.stderr, want)
			}
		}
	}
	if shown != 2 {
		t.Errorf("%d examples found, want 2", shown)
	}
}

// TestShippedFilesAreValid: the files in which a configuration of the filter is shipped are read as they are, with all
// its keys.
func TestShippedFilesAreValid(t *testing.T) {
	for _, file := range []struct{ path, where string }{
		{"envoy.yaml", "configuration.value"}, {"envoy.override-host.yaml", "configuration.value"},
		{"istio/base/wasmplugin.yaml", "spec.pluginConfig"},
		{"istio/components/pause/envoyfilter.yaml", "configuration.value"},
	} {
		got := pintle("validate", "-c", "../../"+file.path)
		if want := file.where + " (line "; got.code != 0 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d, %q; want 0 and %s", file.path, got.code, got.stderr, want)
		}
	}
}

// TestDocumentedDocumentsAreValid: what pages show of whole documents loads, with something in the place of "...".
func TestDocumentedDocumentsAreValid(t *testing.T) {
	document := regexp.MustCompile("^(plugins|config|apiVersion: inference.*):?(?: |\n)")
	given := strings.NewReplacer("plugins: [...]", "plugins: [{type: queue-scorer}]", "schedulingProfiles: [...]",
		"schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]", "config: ...", "config: {}",
		"{...}", "{}")
	for page, want := range map[string]int{
		"configuration.md": 4, "migrating.md": 1, "replay.md": 1, "responses.md": 1,
	} {
		shown := 0
		for _, block := range yamlBlocks(t, page) {
			if !document.MatchString(block) {
				continue
			}
			shown++
			path := files(t, map[string]string{"document.yaml": given.Replace(block)})
			if got := pintle("validate", "-c", path("document.yaml")); got.code != 0 {
				t.Errorf("docs/%s: exit code %d, %s, want 0, of:\n%s", page, got.code, got.stderr, block)
			}
		}
		if shown != want {
			t.Errorf("docs/%s: %d documents found, want %d", page, shown, want)
		}
	}
}

// TestDocumentedYAML: all blocks of YAML that pages show can be read.
func TestDocumentedYAML(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, page := range pages {
		for _, block := range yamlBlocks(t, filepath.Base(page)) {
			blocks++
			if _, err := yamldoc.Nodes([]byte(strings.TrimSuffix(block, "- name: pintle\n  ...\n"))); err != nil {
				t.Errorf("%s: %v, of:\n%s", filepath.Base(page), err, block)
			}
		}
	}
	if blocks < 40 {
		t.Errorf("%d blocks found, want 40 and more", blocks)
	}
}

// yamlBlocks are the blocks of YAML of a page, as they are without the indentation of the list in which they stand.
func yamlBlocks(t *testing.T, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")
	for _, match := range fenced.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, strings.ReplaceAll("\n"+match[2], "\n"+match[1], "\n")[1:])
	}
	return blocks
}

// TestDocumentedSidecarIsValid: the sidecar takes what pages show of its configuration, with what they leave out and
// the files that they name.
func TestDocumentedSidecarIsValid(t *testing.T) {
	const found = `discovery: {static: [{name: default/vllm-0, address: "10.0.0.1:8000"}]}` + "\n"
	keys := regexp.MustCompile("^(envoy|scrape|discovery|engines|responses):(?: |\n)")
	authority := pki.New(t)
	authority.Issue("client", &x509.Certificate{})
	path := files(t, map[string]string{"endpoints.yaml": "endpoints: []", "vllm.key": "secret",
		"cluster": "{clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], " +
			"contexts: [{name: c, context: {cluster: c}}], current-context: c}"})
	given := strings.NewReplacer("/run/keys/vllm", path("vllm.key"),
		"kubeconfig: /path", "kubeconfig: "+path("cluster"), "ca.pem", authority.File("ca.pem"),
		"client.pem", authority.File("client.pem"), "client.key", authority.File("client.key"))
	shown := 0
	for _, page := range []string{"configuration.md", "responses.md"} {
		for _, block := range yamlBlocks(t, page) {
			if !keys.MatchString(block) {
				continue
			}
			shown++
			whole := given.Replace(block)
			if !strings.HasPrefix(block, "envoy:") {
				whole += "envoy: {ingest: \"http://127.0.0.1:15099/pintle/v1/snapshot\", token: pintle-local}\n"
				if !strings.HasPrefix(block, "discovery:") {
					whole += found
				}
			}
			if err := os.WriteFile(path("sidecar.yaml"), []byte(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := pintle("sidecar", "-check", "-c", path("sidecar.yaml")); got.code != 0 {
				t.Errorf("docs/%s: exit code %d, %s, want 0, of:\n%s", page, got.code, got.stderr, block)
			}
		}
	}
	if shown != 6 {
		t.Errorf("%d blocks found, want 6", shown)
	}
}

// TestDocumentedEndpointsAreValid: pintle explain takes the endpoints that the page shows.
func TestDocumentedEndpointsAreValid(t *testing.T) {
	shown := 0
	for _, block := range yamlBlocks(t, "configuration.md") {
		if !strings.HasPrefix(block, "endpoints:") {
			continue
		}
		shown++
		path := files(t, map[string]string{"endpoints.yaml": block, "request.json": `{"model": "m1", "prompt": "a"}`})
		got := pintle("explain", "-c", "../../docs/examples/load-aware.yaml", "-e", path("endpoints.yaml"), "-r",
			path("request.json"))
		if got.code != 0 || !strings.Contains(got.stdout, "goes to 10.0.0.1:8000") {
			t.Errorf("exit code %d, %s%s, want 0 and where the request goes, of:\n%s", got.code, got.stdout, got.stderr,
				block)
		}
	}
	if shown != 1 {
		t.Errorf("%d blocks found, want 1", shown)
	}
}

// TestReasonsAreDocumented: every reason for which the code refuses a request stands in the table of what clients see.
func TestReasonsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n### What clients see\n")
	table, _, _ = strings.Cut(table, "\n### ")
	named := regexp.MustCompile(`(?:Reason:\s+|refuseUnknown\(|\breason :?= |\bSLOUnmet = )"(\w+)"`)
	reasons := map[string]string{}
	for _, folder := range []string{"../../filter", "../../scoring", "../../internal/pluginconfig"} {
		err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
			test := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "failpoint_on.go")
			if err != nil || test || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range named.FindAllStringSubmatch(string(text), -1) {
				reasons[match[1]] = path
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, known := range []string{"shed", "slo_unmet", "response_not_found", "model_missing", "management_path"} {
		if reasons[known] == "" {
			t.Errorf("%s was not found in the code, though it is a reason there", known)
		}
	}
	for reason, path := range reasons {
		if !strings.Contains(table, "`"+reason+"`") {
			t.Errorf("docs/configuration.md does not say when clients see %s, of %s", reason, path)
		}
	}
}

// TestExplainIsDocumented: every key of the header that explains a decision stands in the table of them.
func TestExplainIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Why a request went where it went\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var keys []string
	for _, file := range []string{"explain.go", "precise.go"} {
		code, err := os.ReadFile("../../filter/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile("`[{,\\]]+\"(\\w+)\":").FindAllStringSubmatch(string(code), -1) {
			keys = append(keys, match[1])
		}
	}
	inPrefix := map[string]bool{"tokens": true, "blocks": true, "matched": true}
	for _, key := range keys {
		if !inPrefix[key] && !strings.Contains(table, "\n| `"+key+"` |") {
			t.Errorf("docs/operations.md does not say what %s in x-pintle-explain is", key)
		}
	}
	if len(keys) < 10 {
		t.Errorf("%d keys found, want 10 and more: %v", len(keys), keys)
	}
}

// TestRefusedTypesAreDocumented: every plug-in that llm-d's router has today and that is refused stands among the
// documents of today, with what there is in its place.
func TestRefusedTypesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("../../scoring/notyet.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| documents of today ")
	table, _, _ = strings.Cut(table, "\n\n")
	_, list, _ := strings.Cut(string(code), "\nvar notYet = ")
	list, _, _ = strings.Cut(list, "\n}\n")
	types := regexp.MustCompile(`(?m)^\t"([a-z0-9-]+)":`).FindAllStringSubmatch(list, -1)
	if len(types) < 20 {
		t.Errorf("%d types found, want 20 and more", len(types))
	}
	for _, match := range types {
		name := match[1]
		if strings.HasPrefix(name, "multicluster-") {
			name = "multicluster-"
		}
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/migrating.md does not say what there is in place of %s", match[1])
		}
	}
}

// block is the indented text that the lines begin with.
func block(lines []string) string {
	end := 0
	for end < len(lines) && (lines[end] == "" || strings.HasPrefix(lines[end], "    ")) {
		end++
	}
	return trimLines(strings.ReplaceAll("\n"+strings.Join(lines[:end], "\n"), "\n    ", "\n"))
}

// trimLines removes blanks at the ends of lines, and empty lines at both ends.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
