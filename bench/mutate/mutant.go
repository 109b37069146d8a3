package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// mutant is one change.
type mutant struct {
	// file is the path from the repository's root; name says what the change does to the behaviour.
	file, name string
	// before and after are the texts; before is in the file just once.
	before, after string
	// tests are the packages whose tests run, in this order; empty is the file's own.
	tests []string
	// equivalent is why nobody can notice the change.
	equivalent string
}

func (m mutant) String() string { return m.file + ": " + m.name }

// line is m's in the table.
func (m mutant) line(verdict string) string {
	if m.equivalent != "" {
		return fmt.Sprintf("%-10s %v (%s)", "equivalent", m, m.equivalent)
	}
	return fmt.Sprintf("%-10s %v", verdict, m)
}

// compiled reports whether the file is one of the module's own, whose tests run the module as it was built.
func (m mutant) compiled() bool { return strings.HasPrefix(m.file, "filter/") }

// packages are those whose tests run.
func (m mutant) packages() []string {
	return append([]string{"./" + path.Dir(m.file)}, m.tests...)
}

// apply returns the file with the change.
func (m mutant) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(m.before)); n != 1 {
		return nil, fmt.Errorf("%v: %q is there %d times, want once; mend the list", m, m.before, n)
	}
	changed := bytes.Replace(text, []byte(m.before), []byte(m.after), 1)
	if _, err := format.Source(changed); err != nil {
		return nil, fmt.Errorf("%v: %w", m, err)
	}
	return changed, nil
}

// mutants are all changes.
func mutants() []mutant {
	var all []mutant
	for _, list := range [][]mutant{openaiMutants, journalMutants, snapshotMutants, stateMutants, scoringMutants,
		sidecarMutants, replayMutants, filterMutants} {
		all = append(all, list...)
	}
	return all
}
