package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// documented is a part of a block of YAML in a page of docs, which above begins: from begin to end, as it stands in the
// connection manager of a shipped Envoy.
func documented(t *testing.T, page, above, begin, end string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(harness.Root(), "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(content), "```yaml\n"+above+begin)
	text, _, cut := strings.Cut(text, end)
	if !found || !cut {
		t.Fatalf("docs/%s has no block with %q", page, begin)
	}
	return indent(10, begin+text)
}

// indent puts blanks before each line of a text.
func indent(blanks int, text string) string {
	var indented strings.Builder
	for line := range strings.Lines(text) {
		indented.WriteString(strings.Repeat(" ", blanks) + line)
	}
	return indented.String()
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// TestDocumentedBlocks: Envoy takes what pages of docs show of its configuration, all of it put into the shipped one.
func TestDocumentedBlocks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(harness.Root(), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var filters, behind, routes, options string
	log := "access_log:\n- name: envoy.access_loggers.file\n"
	blocks := 0
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range yamlBlock.FindAllStringSubmatch(string(content), -1) {
			block := strings.TrimSuffix(match[1], "- name: pintle\n  ...\n")
			first, rest, _ := strings.Cut(block, "\n")
			if !strings.Contains(block, "type.googleapis.com/") && first != "access_log:" {
				continue
			}
			blocks++
			switch {
			case first == "http_filters:":
				filters += rest
			case first == "access_log:":
				log = block
			case strings.HasPrefix(first, "- match: "):
				routes += block
			case strings.HasPrefix(first, "- name: envoy.filters.http."):
				behind += block
			case strings.HasSuffix(first, ":"):
				options += block
			default:
				t.Errorf("docs/%s: no place is known for the block with %q", filepath.Base(page), first)
			}
		}
	}
	if blocks < 10 {
		t.Errorf("%d blocks found, want 10 and more", blocks)
	}
	const router = "          - &router\n"
	text := loadShipped(t, "envoy.yaml").text
	for _, edit := range [][2]string{
		{"          access_log:\n          - name: envoy.access_loggers.file\n", indent(10, log)},
		{"          use_remote_address: true\n", indent(10, options) + "          use_remote_address: true\n"},
		{"              routes:\n", "              routes:\n" + indent(14, routes)},
		{"          - &pintle\n", indent(10, filters) + filter("lua", "lua.v3.Lua") + "          - &pintle\n"},
		{router, filter("buffer", "buffer.v3.Buffer", "max_request_bytes: 33554432") + indent(10, behind) + router},
		{"\n  clusters:\n", "\n  clusters:\n  - {name: elsewhere}\n  - {name: ratelimit}\n"},
	} {
		if !strings.Contains(text, edit[0]) {
			t.Fatalf("envoy.yaml has no %q", edit[0])
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	if err := harness.Validate(text); err != nil {
		t.Error(err)
	}
}

// TestUnfitConfigurations: what pintle validate says that Envoy would not hand over is refused by the filter.
func TestUnfitConfigurations(t *testing.T) {
	t.Parallel()
	const document = "ingest: {port: 15099, token: pintle-local}\nhold: pause\n"
	for _, tc := range []struct{ name, kind, value string }{
		{"YAML in a StringValue", "StringValue", "|\n" + indent(20, document)},
		{"a Struct", "Struct", "\n" + indent(20, document)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text := loadShipped(t, "envoy.yaml").text
			before, rest, _ := strings.Cut(text, "google.protobuf.StringValue\n                  value: |\n")
			_, after, found := strings.Cut(rest, "          - &router\n")
			if !found {
				t.Fatal("envoy.yaml has no configuration where it was")
			}
			err := harness.Validate(before + "google.protobuf." + tc.kind + "\n                  value: " + tc.value +
				"          - &router\n" + after)
			for _, want := range []string{"refuses its configuration", "not valid JSON"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("envoy --mode validate: %v, want %q in it", err, want)
				}
			}
		})
	}
}
