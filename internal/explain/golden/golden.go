// Package golden reads the cases of internal/explain/testdata, for those who decide them natively and in Envoy.
package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle/internal/explain"
)

// Case is one golden file: a comment that says what it shows, and sections. testdata/README.md lists them.
type Case struct {
	Name string
	// Input is all before the result.
	Input             string
	Config, Endpoints string
	Environment       map[string]string
	Requests          []explain.Request
	// Kind is want or error, Result what stands below it.
	Kind, Result string
	// headers are those of the requests that follow.
	headers map[string]string
}

// All reads the cases of a folder, in the order of their names.
func All(folder string) (all []*Case, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.golden"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no golden file", folder)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		c, err := read(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		c.Name = strings.TrimSuffix(filepath.Base(file), ".golden")
		all = append(all, c)
	}
	return all, err
}

func read(text string) (*Case, error) {
	comment, sections := split(text)
	if strings.TrimSpace(comment) == "" {
		return nil, fmt.Errorf("the file does not begin with a comment that says what it shows")
	}
	c := &Case{Input: text}
	seen := map[string]bool{}
	for _, s := range sections {
		if seen[s.name] && s.name != "request" && s.name != "headers" {
			return nil, fmt.Errorf("section %s stands there twice", s.name)
		}
		if c.Kind != "" {
			return nil, fmt.Errorf("section %s stands below the result", s.name)
		}
		seen[s.name] = true
		if err := c.take(s); err != nil {
			return nil, err
		}
	}
	if !seen["config"] {
		return nil, fmt.Errorf("section config is missing; it may be empty")
	}
	return c, nil
}

// take takes a section.
func (c *Case) take(s section) error {
	switch s.name {
	case "config":
		c.Config = s.text
	case "environment":
		c.Environment = map[string]string{}
		for _, line := range Lines(s.text) {
			name, value, _ := strings.Cut(line, "=")
			c.Environment[name] = value
		}
	case "endpoints":
		c.Endpoints = s.text
	case "headers":
		c.headers = map[string]string{}
		for line := range strings.Lines(s.text) {
			name, value, ok := explain.HeaderFlag(strings.TrimSuffix(line, "\n"))
			if !ok {
				return fmt.Errorf("header %q is not of the form name: value", line)
			}
			c.headers[name] = value
		}
	case "request":
		c.Requests = append(c.Requests,
			explain.Request{Headers: c.headers, Body: []byte(strings.TrimSuffix(s.text, "\n"))})
	case "want", "error":
		c.Kind, c.Result = s.name, s.text
		c.Input = c.Input[:s.start]
	default:
		return fmt.Errorf("section %q is not one of config, environment, endpoints, headers, request, want, error",
			s.name)
	}
	return nil
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

// Lines are those of a text that are not empty.
func Lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}
