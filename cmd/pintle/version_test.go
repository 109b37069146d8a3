package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVersionIsLinked: what the Makefile and the Containerfile have the linker set is what pintle says it is, and both
// set the chart's version.
func TestVersionIsLinked(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary")
	}
	chart, err := os.ReadFile("../../istio/chart/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	release := regexp.MustCompile(`(?m)^appVersion: (v\S+)$`).FindSubmatch(chart)
	if release == nil {
		t.Fatal("the chart has no appVersion")
	}
	set := regexp.MustCompile(`-X (\S+?)=`)
	for _, file := range []string{"../../Makefile", "../../build/Containerfile"} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			variable := set.FindSubmatch(text)
			if variable == nil || !strings.Contains(string(text), `sed -n 's/^appVersion: //p' istio/chart/Chart.yaml`) {
				t.Fatalf("the linker is not told the chart's version")
			}
			binary := filepath.Join(t.TempDir(), "pintle")
			flags := "-X " + string(variable[1]) + "=" + string(release[1])
			build := exec.Command("go", "build", "-ldflags", flags, "-o", binary, ".")
			if output, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			got, err := exec.Command(binary, "version").Output()
			if want := "pintle " + string(release[1]); err != nil || !strings.HasPrefix(string(got), want) {
				t.Errorf("got %q (%v), want %s at its beginning", got, err, want)
			}
		})
	}
}
