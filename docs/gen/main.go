// Command gen writes docs/plugins.md from the plug-ins' own doc comments and parameters. Run it from the repository's
// root:
//
//	go run ./docs/gen > docs/plugins.md
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/registry"
)

const preface = `# Plug-ins

Every plug-in that a configuration may name, in the groups of its folders. This page is generated from the code
(` + "`make docs`" + `); the text of each is the doc comment of its file.
`

const stale = `
For an endpoint whose metrics are missing or older than ` + "`stale.after`" + `, scorers that use metrics do what
` + "`stale.policy`" + ` says:

- ` + "`neutral`" + `: it gets the middle of the range, as each plug-in says under "Missing data".
- ` + "`exclude`" + `: it is no candidate while any endpoint is fresh.
- ` + "`last`" + `: its last sample counts.
- ` + "`zero`" + `, the default of llm-d's dialect: its last sample counts, or no load if there was none.
`

// folders are the packages of plug-ins in the order of the page, with what the plug-ins of each say.
var folders = []struct{ name, title, says string }{
	{"handlers", "Profile handlers", "which scheduling profiles run for a request"},
	{"admitters", "Admitters", "whether a request is let in"},
	{"selectors", "Model selectors", "which model a virtual model stands for"},
	{"deciders", "Deciders", "whether a stage of prefill or encode runs"},
	{"filters", "Filters", "which endpoints stay candidates"},
	{"scorers", "Scorers", "how good a candidate is, from 0 to 1"},
	{"pickers", "Pickers", "which of the scored candidates are taken"},
	{"producers", "Producers", "what other plug-ins use, such as prefixes, load and predictions"},
	{"headers", "Header handlers", "what headers say about the decision"},
	{"reporters", "Reporters", "what access logs get to know about a request"},
	{"data", "Data layer", "how the sidecar finds servers and reads them"},
	{"parsers", "Parsers", "which requests are read, and as which API"},
	{"stores", "Stores", "where conversations are kept"},
	{"salts", "Salts", "whose prompts are kept apart in the servers' caches"},
}

// sharedFolders have parameters that plug-ins of several folders read, in structs named in shared.
var sharedFolders = []string{"scoring/internal/multifactor", "scoring/internal/affinity"}

func main() {
	fmt.Print(preface)
	index()
	fmt.Print(stale)
	for _, f := range folders {
		source, err := read(append([]string{filepath.Join("scoring", f.name)}, sharedFolders...)...)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("\n## %s\n", f.title)
		for _, r := range pluginsOf(f.name) {
			if err := write(r, strings.TrimPrefix(constructorName(r), f.name+"."), f.title, source); err != nil {
				fmt.Fprintf(os.Stderr, "gen: %s: %v\n", r.Type, err)
				os.Exit(1)
			}
		}
	}
}

// index writes a table of all plug-ins by group, each with a link to its text.
func index() {
	fmt.Print("\n| group | says | plug-ins |\n| --- | --- | --- |\n")
	for _, f := range folders {
		var links []string
		for _, r := range pluginsOf(f.name) {
			links = append(links, fmt.Sprintf("[%s](#%s)", r.Type, r.Type))
		}
		fmt.Printf("| %s | %s | %s |\n", f.title, f.says, strings.Join(links, ", "))
	}
}

// pluginsOf returns the plug-ins whose constructors lie in a folder.
func pluginsOf(name string) (found []scoring.Registration) {
	for _, r := range registry.Plugins {
		if strings.HasPrefix(constructorName(r), name+".") {
			found = append(found, r)
		}
	}
	return found
}

// constructorName returns package.Function of a registration.
func constructorName(r scoring.Registration) string {
	full := runtime.FuncForPC(reflect.ValueOf(r.New).Pointer()).Name()
	return full[strings.LastIndexByte(full, '/')+1:]
}

// folder is what the page needs of a package: the doc comments of its types, and of the fields of its structs.
type folder struct {
	types  map[string]string
	fields map[string]map[string]string
}

func read(dirs ...string) (*folder, error) {
	var files []string
	for _, dir := range dirs {
		more, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	f := &folder{types: map[string]string{}, fields: map[string]map[string]string{}}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				f.add(d)
			}
			return true
		})
	}
	return f, nil
}

func (f *folder) add(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t := spec.(*ast.TypeSpec)
		f.types[t.Name.Name] = d.Doc.Text()
		s, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		fields := map[string]string{}
		for _, field := range s.Fields.List {
			for _, name := range field.Names {
				fields[name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
			}
		}
		f.fields[t.Name.Name] = fields
	}
}

func write(r scoring.Registration, constructor, group string, source *folder) error {
	typeName := lowerFirst(strings.TrimPrefix(constructor, "New"))
	doc := source.types[typeName]
	if doc == "" {
		return fmt.Errorf("type %s has no doc comment", typeName)
	}
	fmt.Printf("\n### %s\n\n", r.Type)
	parameters, kinds := scoring.Describe(r, registry.Plugins)
	if len(kinds) == 0 { // others read it through an interface of their own
		kinds = []string{strings.ToLower(strings.TrimSuffix(group, "s"))}
	}
	fmt.Printf("*%s*\n\n%s", strings.Join(kinds, ", "), text(doc, typeName))
	if len(parameters) == 0 {
		fmt.Print("\nNo parameters.\n")
		return nil
	}
	fmt.Print("\n| parameter | type | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, p := range parameters {
		meaning, err := source.meaning(typeName, p)
		if err != nil {
			return err
		}
		fmt.Printf("| `%s` | %s | %s | %s |\n", p.Name, p.Type, orDash(p.Default), meaning)
	}
	return nil
}

// labels begin the paragraphs of a doc comment that every plug-in has, and those that are like them.
var labels = regexp.MustCompile(`\n\n(Formula[^:\n]*|Range|Units|Missing data|Source|Ties):`)

// text turns a doc comment into paragraphs that do not begin with the Go name.
func text(doc, typeName string) string {
	doc = strings.TrimPrefix(strings.TrimPrefix(doc, typeName+" "), "is ")
	return labels.ReplaceAllString(upperFirst(doc), "\n\n**$1:**")
}

// meaning finds the doc comment of a parameter's field: in the plug-in's own parameters, else in ones that the folder
// shares.
func (f *folder) meaning(typeName string, p strictjson.Key) (string, error) {
	for _, structName := range append([]string{typeName + "Parameters"}, f.shared()...) {
		for field, doc := range f.fields[structName] {
			if !strings.EqualFold(field, strings.ReplaceAll(p.Name, "_", "")) || doc == "" {
				continue
			}
			_, meaning, ok := strings.Cut(doc, " ")
			if !ok {
				return "", fmt.Errorf("parameter %s: its doc comment has one word", p.Name)
			}
			return strings.ReplaceAll(upperFirst(strings.TrimPrefix(strings.TrimPrefix(meaning, "is "), "are ")), "|",
				`\|`), nil
		}
	}
	return "", fmt.Errorf("parameter %s has no documented field in %sParameters", p.Name, typeName)
}

func (f *folder) shared() []string {
	return []string{"parameters", "pageParameters", "roleParameters", "prefixCacheScorerParameters", "Policy",
		"AffinityParameters"}
}

func lowerFirst(s string) string {
	// Leading initialisms are lowered as a whole: PDProfileHandler, KVCache..., LoRA... follow the types' names.
	for _, initialism := range []struct{ from, to string }{{"PD", "pd"}, {"KV", "kv"}, {"LoRA", "lora"},
		{"OpenAI", "openai"}, {"AIBrix", "aibrix"}, {"VTC", "vtc"},
		{"DCGM", "dcgm"}, {"MM", "mm"}} {
		if strings.HasPrefix(s, initialism.from) {
			return initialism.to + strings.TrimPrefix(s, initialism.from)
		}
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return "`" + s + "`"
}
