package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// folder is one of CONTRIBUTING.md's table, of the row at a line, with the words of the last column.
type folder struct {
	path  string
	line  int
	words []string
}

// mayImport reports whether a row says that its folders import another one.
func (f folder) mayImport(other folder) bool {
	return f.line == other.line || slices.Contains(f.words, path.Base(other.path)) ||
		slices.Contains(f.words, "own") && strings.HasPrefix(other.path, f.path+"/")
}

// TestImportsAreInTheTable: of CONTRIBUTING.md's table, the last column names each folder that one imports. Rows that
// have none there, or all below, are not looked at.
func TestImportsAreInTheTable(t *testing.T) {
	t.Chdir("../..")
	const module = "github.com/pintle-dev/pintle/"
	folders := tableOfFolders(t)
	owner := func(place string) (found folder) {
		for _, f := range folders {
			if (place == f.path || strings.HasPrefix(place, f.path+"/")) && len(f.path) > len(found.path) {
				found = f
			}
		}
		return found
	}
	looked := 0
	for _, file := range sourceFiles(t) {
		own := owner(path.Dir(file))
		if len(own.words) == 0 {
			continue
		}
		looked++
		for _, imported := range importsOf(t, file) {
			place, ours := strings.CutPrefix(imported, module)
			if other := owner(place); ours && !own.mayImport(other) {
				t.Errorf("%s imports %s, but CONTRIBUTING.md:%d does not say %s", file, place, own.line,
					path.Base(other.path))
			}
		}
	}
	if looked < 100 {
		t.Errorf("%d files belong to a row, want most of them", looked)
	}
}

// TestNobodyElseCollects: what the module is made of does not call runtime.GC, which frees what a function that is
// running has in its local variables.
func TestNobodyElseCollects(t *testing.T) {
	t.Chdir("../..")
	looked := 0
	for _, file := range sourceFiles(t) {
		top, _, _ := strings.Cut(strings.TrimPrefix(file, "internal/"), "/")
		if !slices.Contains([]string{"filter", "scoring", "state", "snapshot", "journal", "openai", "hostcalls",
			"pluginconfig", "strictjson"}, top) || strings.Contains(file, "wazerohost/") {
			continue
		}
		looked++
		for _, imported := range importsOf(t, file) {
			if imported == "runtime" || imported == "runtime/debug" {
				t.Errorf("%s imports %s", file, imported)
			}
		}
	}
	if looked < 100 {
		t.Errorf("looked at %d files, want most of the module's", looked)
	}
}

// tableOfFolders reads the table. What is no folder by itself lies beside the one before.
func tableOfFolders(t *testing.T) (all []folder) {
	t.Helper()
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)/`")
	for i, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		words := strings.FieldsFunc(cells[3], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if slices.Contains(words, "below") {
			words = nil
		}
		beside := "."
		for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
			place := name[1]
			if _, err := os.Stat(place); err != nil {
				place = path.Join(beside, place)
			}
			beside = path.Dir(place)
			all = append(all, folder{place, i + 1, words})
		}
	}
	return all
}

func sourceFiles(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name == ".git" || name == ".cache"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			all = append(all, filepath.ToSlash(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func importsOf(t *testing.T, file string) (paths []string) {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range source.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, name)
	}
	return paths
}
