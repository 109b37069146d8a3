package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// piped has the standard input hold what a file does, for the rest of the test.
func piped(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = file
	t.Cleanup(func() { os.Stdin = before; _ = file.Close() })
}

// TestStandardInput: what is piped in is read where a file is called "-", once.
func TestStandardInput(t *testing.T) {
	path := files(t, explainFiles)
	warns := files(t, map[string]string{"warns.yaml": "featureGates: [flowControl]"})("warns.yaml")
	explained := []string{"explain", "-c", path("queue.yaml"), "-e", path("endpoints.yaml"), "-r", path("good.json")}
	with := func(name string) []string {
		args := slices.Clone(explained)
		for i := range args {
			if args[i] == path(name) {
				args[i] = "-"
			}
		}
		return args
	}
	const config = "../../internal/shipped/config.yaml"
	for _, tc := range []struct {
		name, input string
		args        []string
		code        int
		want        string
	}{
		{"validate", path("queue.yaml"), []string{"validate", "-c", "-"}, 0, "dialect: "},
		{"validate what is wrong", path("bad.yaml"), []string{"validate", "-c", "-"}, 2,
			`pintle validate: standard input: line 1: hold: "wait" is not one of`},
		{"migrate", path("queue.yaml"), []string{"migrate", "-"}, 1, "config:"},
		{"migrate what is wrong", path("bad.yaml"), []string{"migrate", "-"}, 2,
			`pintle migrate: standard input: line 1: hold: "wait" is not one of`},
		{"a configuration", path("queue.yaml"), with("queue.yaml"), 0, "goes to 10.0.0.2:8000"},
		{"endpoints", path("endpoints.yaml"), with("endpoints.yaml"), 0, "goes to 10.0.0.2:8000"},
		{"a request", path("good.json"), with("good.json"), 0, "goes to 10.0.0.2:8000"},
		{"twice", path("good.json"), append(with("good.json"), "-r", "-"), 2,
			"pintle explain: standard input (-) is named 2 times; once is right"},
		{"a trace", traceFile, []string{"replay", "-c", config, "-"}, 0, "standard input: 18 requests"},
		{"a configuration of several gateways", config,
			[]string{"replay", "-c", "-", "-gateways", "2", traceFile}, 0, "mooncake.jsonl: 18 requests"},
		{"a configuration in the table", config, []string{"replay", "-c", "-", traceFile}, 0, "\nstandard input  "},
		{"a configuration that warns", warns, []string{"replay", "-c", "-", traceFile}, 0,
			"pintle replay: warning: standard input: featureGates: "},
		{"a trace that is its configuration", config, []string{"replay", "-c", "-", "-"}, 2, "is named 2 times"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			piped(t, tc.input)
			got := pintle(tc.args...)
			if got.code != tc.code || !strings.Contains(got.stdout+got.stderr, tc.want) {
				t.Errorf("got exit code %d, %s%s; want %d, %q", got.code, got.stdout, got.stderr, tc.code, tc.want)
			}
		})
	}
}
