package explain_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/scoring/registry"
)

var update = flag.Bool("update", false, "write the golden files' results anew")

const (
	// goldenNow is the time of all requests, in nanoseconds since 1970.
	goldenNow = int64(1_700_000_000_000_000_000)
	// goldenSeed makes the random choices of the cases that have some.
	goldenSeed = 1
	// tolerance is how far a number may be off.
	tolerance = 1e-9
)

// A golden file is a comment that says what the case shows, and sections. testdata/README.md lists them.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".golden"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := readCase(string(text))
			if err != nil {
				t.Fatal(err)
			}
			kind, got := c.run()
			// The list of plug-ins grows; no case is about it.
			got = strings.ReplaceAll(got, "known are "+pluginTypes()+"\n", "known are ALL\n")
			if *update {
				if err := os.WriteFile(file, []byte(c.input+"-- "+kind+" --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			c.compare(t, kind, got)
		})
	}
}

// pluginTypes lists every plug-in as mistakes do.
func pluginTypes() string {
	var types []string
	for _, plugin := range registry.Plugins {
		types = append(types, plugin.Type)
	}
	return strings.Join(types, ", ")
}

// goldenCase is one golden file.
type goldenCase struct {
	// input is all before the result.
	input             string
	config, endpoints string
	environment       map[string]string
	requests          []explain.Request
	// kind is want or error, result what stands below it.
	kind, result string
}

func readCase(text string) (*goldenCase, error) {
	comment, sections := split(text)
	if strings.TrimSpace(comment) == "" {
		return nil, fmt.Errorf("the file does not begin with a comment that says what it shows")
	}
	c := &goldenCase{input: text}
	seen := map[string]bool{}
	var headers map[string]string
	for _, s := range sections {
		if seen[s.name] && s.name != "request" && s.name != "headers" {
			return nil, fmt.Errorf("section %s stands there twice", s.name)
		}
		if c.kind != "" {
			return nil, fmt.Errorf("section %s stands below the result", s.name)
		}
		seen[s.name] = true
		switch s.name {
		case "config":
			c.config = s.text
		case "environment":
			c.environment = map[string]string{}
			for _, line := range lines(s.text) {
				name, value, _ := strings.Cut(line, "=")
				c.environment[name] = value
			}
		case "endpoints":
			c.endpoints = s.text
		case "headers":
			headers = map[string]string{}
			for line := range strings.Lines(s.text) {
				name, value, ok := explain.HeaderFlag(strings.TrimSuffix(line, "\n"))
				if !ok {
					return nil, fmt.Errorf("header %q is not of the form name: value", line)
				}
				headers[name] = value
			}
		case "request":
			c.requests = append(c.requests,
				explain.Request{Headers: headers, Body: []byte(strings.TrimSuffix(s.text, "\n"))})
		case "want", "error":
			c.kind, c.result = s.name, s.text
			c.input = text[:s.start]
		default:
			return nil,
				fmt.Errorf("section %q is not one of config, environment, endpoints, headers, request, want, error",
					s.name)
		}
	}
	if !seen["config"] {
		return nil, fmt.Errorf("section config is missing; it may be empty")
	}
	return c, nil
}

// run returns what came of the case: want and a line of JSON for each request, or error and the mistakes.
func (c *goldenCase) run() (kind, result string) {
	document, err := yamldoc.Read([]byte(c.config))
	if err != nil {
		return "error", err.Error() + "\n"
	}
	config, err := pluginconfig.ParseIn(document.JSON, func(name string) (value string, ok bool) {
		value, ok = c.environment[name]
		return value, ok
	})
	if err != nil {
		return "error", err.Error() + "\n"
	}
	pool, err := explain.ReadEndpoints([]byte(c.endpoints), goldenNow)
	if err != nil {
		return "error", err.Error() + "\n"
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	x := explain.New(config, pool, goldenSeed)
	for _, request := range c.requests {
		if err := encoder.Encode(x.Explain(request, goldenNow)); err != nil {
			return "error", err.Error() + "\n"
		}
	}
	return "want", lines.String()
}

// compare reports where the result is not the one in the file: numbers may differ by tolerance, all else must be equal.
func (c *goldenCase) compare(t *testing.T, kind, got string) {
	t.Helper()
	if kind != c.kind {
		t.Fatalf("got %s:\n%s\nthe file has %q:\n%s", kind, got, c.kind, c.result)
	}
	if kind == "error" {
		if got != c.result {
			t.Errorf("mistakes:\n%s\nwant:\n%s", got, c.result)
		}
		return
	}
	gots, wants := lines(got), lines(c.result)
	if len(gots) != len(wants) {
		t.Fatalf("%d results, want %d:\n%s", len(gots), len(wants), got)
	}
	if len(gots) == 0 {
		t.Fatal("the case has no request")
	}
	for i := range gots {
		var got, want any
		if err := json.Unmarshal([]byte(wants[i]), &want); err != nil {
			t.Fatalf("result %d in the file: %v", i+1, err)
		}
		if err := json.Unmarshal([]byte(gots[i]), &got); err != nil {
			t.Fatalf("result %d: %v", i+1, err)
		}
		if !alike(got, want) {
			t.Errorf("result of request %d\ngot  %s\nwant %s", i+1, gots[i], wants[i])
		}
	}
}

// alike compares JSON values: two numbers may differ by tolerance.
func alike(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && math.Abs(a-b) <= tolerance
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !alike(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key := range a {
			other, ok := b[key]
			if !ok || !alike(a[key], other) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// section is one part of a golden file: what follows the line "-- name --", which starts at byte start.
type section struct {
	name, text string
	start      int
}

// split cuts a golden file into what stands before the first section and the sections.
func split(text string) (comment string, sections []section) {
	at := 0
	for line := range strings.Lines(text) {
		name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
		name, end := strings.CutSuffix(name, " --")
		switch {
		case ok && end:
			sections = append(sections, section{name: name, start: at})
		case len(sections) == 0:
			comment += line
		default:
			sections[len(sections)-1].text += line
		}
		at += len(line)
	}
	return comment, sections
}

// Every plug-in has a case that names it in its configuration and is not about a mistake.
func TestGoldenCoversPlugins(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := readCase(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if c.kind != "want" {
			continue
		}
		for _, plugin := range registry.Plugins {
			if strings.Contains(c.config, "type: "+plugin.Type) {
				named[plugin.Type] = true
			}
		}
	}
	for _, plugin := range registry.Plugins {
		if !named[plugin.Type] {
			t.Errorf("no golden file shows %s: write testdata/%s.golden", plugin.Type,
				strings.ReplaceAll(plugin.Type, "-", "_"))
		}
	}
}
