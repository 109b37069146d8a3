package explain_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/explain/golden"
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

func TestGolden(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			kind, got := c.run()
			// The list of plug-ins grows; no case is about it.
			got = strings.ReplaceAll(got, "known are "+pluginTypes()+"\n", "known are ALL\n")
			if *update {
				file, text := "testdata/"+c.Name+".golden", c.Input+"-- "+kind+" --\n"+got
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			c.compare(t, kind, got)
		})
	}
}

func goldenCases(t *testing.T) (cases []goldenCase) {
	t.Helper()
	all, err := golden.All("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		cases = append(cases, goldenCase{c})
	}
	return cases
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
type goldenCase struct{ *golden.Case }

// run returns what came of the case: want and a line of JSON for each request, or error and the mistakes.
func (c goldenCase) run() (kind, result string) {
	config, err := c.configuration()
	if err != nil {
		return "error", err.Error() + "\n"
	}
	pool, err := explain.ReadEndpoints([]byte(c.Endpoints), goldenNow)
	if err != nil {
		return "error", err.Error() + "\n"
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	x := explain.New(config, pool, goldenSeed)
	for _, request := range c.Requests {
		if err := encoder.Encode(x.Explain(request, goldenNow)); err != nil {
			return "error", err.Error() + "\n"
		}
	}
	return "want", lines.String()
}

// configuration is that of the case, in its environment.
func (c goldenCase) configuration() (*pluginconfig.Config, error) {
	document, err := yamldoc.Read([]byte(c.Config))
	if err != nil {
		return nil, err
	}
	return pluginconfig.ParseIn(document.JSON, func(name string) (value string, ok bool) {
		value, ok = c.Environment[name]
		return value, ok
	})
}

// compare reports where the result is not the one in the file: numbers may differ by tolerance, all else must be equal.
func (c goldenCase) compare(t *testing.T, kind, got string) {
	t.Helper()
	if kind != c.Kind {
		t.Fatalf("got %s:\n%s\nthe file has %q:\n%s", kind, got, c.Kind, c.Result)
	}
	if kind == "error" {
		if got != c.Result {
			t.Errorf("mistakes:\n%s\nwant:\n%s", got, c.Result)
		}
		return
	}
	gots, wants := golden.Lines(got), golden.Lines(c.Result)
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

// Every plug-in has a case that names it in its configuration and is not about a mistake.
func TestGoldenCoversPlugins(t *testing.T) {
	named := map[string]bool{}
	for _, c := range goldenCases(t) {
		if c.Kind != "want" {
			continue
		}
		for _, plugin := range registry.Plugins {
			if strings.Contains(c.Config, "type: "+plugin.Type) {
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
