package servers

import (
	"regexp"
	"strconv"
	"testing"
)

// Page is a metrics page as tests read it, which is not how the sidecar does.
type Page string

var (
	seriesLine = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_]+)="([^"]*)"`)
)

// Sum adds all series of a name that have the given labels, NAME, VALUE and so on.
func (p Page) Sum(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	total, found := p.Find(t, name, labels...)
	if !found {
		t.Fatalf("metrics: no %s with labels %q", name, labels)
	}
	return total
}

// Find is Sum where there may be none.
func (p Page) Find(t testing.TB, name string, labels ...string) (total float64, found bool) {
	t.Helper()
	for _, line := range seriesLine.FindAllStringSubmatch(string(p), -1) {
		if line[1] != name || !hasLabels(line[2], labels) {
			continue
		}
		value, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			t.Fatalf("metrics: %s: %v", line[0], err)
		}
		total, found = total+value, true
	}
	return total, found
}

func hasLabels(text string, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		if labelOf(text, labels[i]) != labels[i+1] {
			return false
		}
	}
	return true
}

func labelOf(text, name string) string {
	for _, pair := range labelPair.FindAllStringSubmatch(text, -1) {
		if pair[1] == name {
			return pair[2]
		}
	}
	return ""
}

// Label is a label of the first series of a name, as a number.
func (p Page) Label(t testing.TB, name, label string) uint32 {
	t.Helper()
	for _, line := range seriesLine.FindAllStringSubmatch(string(p), -1) {
		if line[1] == name {
			value, err := strconv.ParseUint(labelOf(line[2], label), 10, 32)
			if err != nil {
				t.Fatalf("metrics: %s of %s: %v", label, name, err)
			}
			return uint32(value)
		}
	}
	t.Fatalf("metrics: no %s", name)
	return 0
}
