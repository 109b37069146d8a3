package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fenced is code in a page, in which nothing is a heading or a link.
var fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```")

// TestLinksLeadSomewhere: what pages link to in this repository is there, and so is the heading that a link names.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Chdir("../..")
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "*/*.md", "internal/*/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range paths {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			pages[page] = fenced.ReplaceAllString(string(text), "")
		}
	}
	links := regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	found := 0
	for page, text := range pages {
		// What stands in code is no link, such as plugins[2](queue-scorer).
		text = regexp.MustCompile("`[^`]*`").ReplaceAllString(text, "code")
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			file, heading, _ := strings.Cut(link[1], "#")
			if strings.Contains(link[1], "://") {
				continue
			}
			found++
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, link[1])
			} else if heading != "" && !slices.Contains(anchors(pages[target]), heading) {
				t.Errorf("%s links to %s, and that page has no such heading", page, link[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("%d links found, want 100 and more", found)
	}
}

// anchors are the names by which links find the headings of a page: in lower case, with a hyphen for each blank and
// without punctuation.
func anchors(text string) (names []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
