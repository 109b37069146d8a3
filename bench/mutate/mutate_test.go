package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// TestLists: every change has what it needs and a name of its own, and fits the code as it is.
func TestLists(t *testing.T) {
	root, err := stack.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range mutants() {
		if m.file == "" || m.name == "" || m.before == "" || m.before == m.after || seen[m.String()] {
			t.Errorf("%v: want a file, a name that is not taken, and two texts", m)
		}
		seen[m.String()] = true
		if _, err := m.apply(root); err != nil {
			t.Error(err)
		}
	}
}

// scratchModule is a module with one function and, when tested, a test of it.
func scratchModule(t *testing.T, tested bool) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"a/a.go":      "package a\n\n// Add adds.\nfunc Add(x, y int) int { return x + y }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {}\n",
		"b/b_test.go": "package b\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/a\"\n)\n\nfunc TestAdd(t " +
			"*testing.T) {\n\tif a.Add(1, 2) != 3 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n",
		"b/b.go":        "package b\n",
		"other/file.go": "package other\n",
	}
	if !tested {
		delete(files, "b/b_test.go")
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTry(t *testing.T) {
	minus := mutant{file: "a/a.go", name: "subtracts", before: "x + y", after: "x - y", tests: []string{"./b"}}
	for _, test := range []struct {
		name   string
		tested bool
		after  string
		want   string
		fails  string
	}{
		{"noticed by the second package", true, "x - y", killed, ""},
		{"not noticed", false, "x - y", survived, ""},
		{"the same", true, "y + x", survived, ""},
		{"does not compile", true, "x + nothing", "", "does not compile"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, root := minus, scratchModule(t, test.tested)
			m.after = test.after
			got, err := (&runner{root: root, scratch: t.TempDir(), timeout: time.Minute}).try(t.Context(), m)
			if got != test.want || (err == nil) != (test.fails == "") || err != nil &&
				!strings.Contains(err.Error(), test.fails) {
				t.Errorf("got %q, %v, want %q, %q", got, err, test.want, test.fails)
			}
			if text, _ := os.ReadFile(filepath.Join(root, "a/a.go")); !strings.Contains(string(text), "x + y") {
				t.Error("the file itself was changed")
			}
		})
	}
}

// TestControl: tests that fail anyway notice nothing, and the tests of a package are run as they are once.
func TestControl(t *testing.T) {
	root := scratchModule(t, true)
	broken := filepath.Join(root, "b", "broken_test.go")
	text := "package b\n\nimport \"testing\"\n\nfunc TestBroken(t *testing.T) { t.Error(\"always\") }\n"
	if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &runner{root: root, scratch: t.TempDir(), timeout: time.Minute}
	m := mutant{file: "a/a.go", name: "means the same", before: "x + y", after: "y + x", tests: []string{"./b"}}
	const want = "the tests of ./b fail without any change"
	if verdict, err := r.try(t.Context(), m); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, %v, want %q", verdict, err, want)
	}
	runs := 0
	for range 2 {
		if err := r.control("./c", func() (string, error) { runs++; return survived, nil }); err != nil || runs != 1 {
			t.Errorf("got %v, %d runs, want one", err, runs)
		}
	}
}

func TestApply(t *testing.T) {
	root := scratchModule(t, false)
	for _, test := range []struct{ name, before, want string }{
		{"not there", "x * y", "is there 0 times"},
		{"twice", "Add", "is there 2 times"},
		{"no Go afterwards", "func", "expected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := (mutant{file: "a/a.go", name: "m", before: test.before, after: "["}).apply(root); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
