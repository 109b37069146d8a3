package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fencedText = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	codeSpan   = regexp.MustCompile("`[^`]*`")
	pageLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headline   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linked     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noAnchor   = regexp.MustCompile(`[^\pL\pN_ -]`)
)

// TestLinks: what pages link to within the repository is there, and has the headline that the link names.
func TestLinks(t *testing.T) {
	t.Chdir("../..")
	pages := []string{"README.md", "CONTRIBUTING.md", "RATIONALE.md", "openai/SCANNER.md", "journal/FORMAT.md",
		"snapshot/FORMAT.md", "internal/recording/FORMAT.md"}
	docs, err := filepath.Glob("docs/*.md")
	if err != nil || len(docs) < 10 {
		t.Fatalf("%d pages in docs, %v; want 10 and more", len(docs), err)
	}
	followed := 0
	for _, page := range append(pages, docs...) {
		text := codeSpan.ReplaceAllString(withoutFences(t, page), "")
		for _, match := range pageLink.FindAllStringSubmatch(text, -1) {
			path, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(match[1], ":") {
				continue
			}
			followed++
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: (%s) leads nowhere", page, match[1])
			} else if anchor != "" && !anchors(t, target)[anchor] {
				t.Errorf("%s: (%s): %s has no such headline", page, match[1], target)
			}
		}
	}
	if followed < 200 {
		t.Errorf("%d links found, want 200 and more", followed)
	}
}

// anchors are those that a page's headlines have on GitHub, but for headlines that are there twice.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, match := range headline.FindAllStringSubmatch(withoutFences(t, page), -1) {
		plain := noAnchor.ReplaceAllString(strings.ToLower(linked.ReplaceAllString(match[1], "$1")), "")
		all[strings.ReplaceAll(plain, " ", "-")] = true
	}
	return all
}

func withoutFences(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return fencedText.ReplaceAllString(string(text), "")
}
