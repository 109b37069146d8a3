package explain_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

// goldenConfigs are the configurations of all golden cases whose result is of a kind, by file.
func goldenConfigs(t *testing.T, kind string) map[string]goldenCase {
	t.Helper()
	cases := map[string]goldenCase{}
	for _, c := range goldenCases(t) {
		if c.Kind == kind {
			cases[c.Name+".golden"] = c
		}
	}
	return cases
}

// mistakes are what pintle validate says of a configuration, a line each.
func (c goldenCase) mistakes(config string) []string {
	found, err := foreign.Read([]byte(config))
	if err == nil {
		_, err = pluginconfig.ParseIn(found.JSON, func(name string) (value string, ok bool) {
			value, ok = c.Environment[name]
			return value, ok
		})
		err = found.Locate(err)
	}
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

var (
	located = regexp.MustCompile(`^line \d+: `)
	// unnamed is a plug-in or a profile without its name.
	unnamed = regexp.MustCompile(`(?:plugins|schedulingProfiles|pluginRefs)\[\d+\]\.`)
)

// Every mistake of every golden case has its line, and the names of the plug-ins on the way to it.
func TestMistakesAreLocated(t *testing.T) {
	n := 0
	for file, c := range goldenConfigs(t, "error") {
		for _, mistake := range c.mistakes(c.Config) {
			n++
			if !located.MatchString(mistake) {
				t.Errorf("%s: without a line: %s", file, mistake)
			}
			path, _, _ := strings.Cut(strings.TrimPrefix(located.ReplaceAllString(mistake, ""), "config."), ": ")
			nameless := strings.Contains(mistake, "is missing") || strings.Contains(mistake, "is empty") ||
				strings.Contains(mistake, "in quotes it is one")
			if unnamed.MatchString(path) && !nameless {
				t.Errorf("%s: without a name: %s", file, mistake)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d mistakes were looked at", n)
	}
}

var typeOfPlugin = regexp.MustCompile(`type: ([a-z][a-z-]+[a-z])`)

// A plug-in's type that is mistyped is one mistake, on its line, with what was meant, whatever depends on the plug-in.
func TestMistypedTypeIsOneMistake(t *testing.T) {
	n := 0
	for file, c := range goldenConfigs(t, "want") {
		for _, at := range typeOfPlugin.FindAllStringSubmatchIndex(c.Config, -1) {
			kind := c.Config[at[2]:at[3]]
			if !strings.Contains(pluginTypes()+",", kind+",") {
				continue // the type of something else
			}
			n++
			got := c.mistakes(c.Config[:at[3]] + "x" + c.Config[at[3]:])
			line := strings.Count(c.Config[:at[2]], "\n") + 1
			if len(got) != 1 || !strings.Contains(got[0], "did you mean "+kind+"?") ||
				!strings.HasPrefix(got[0], "line "+strconv.Itoa(line)+": ") {
				t.Errorf("%s, %sx on line %d: got\n%s", file, kind, line, strings.Join(got, "\n"))
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d plug-ins were mistyped", n)
	}
}
