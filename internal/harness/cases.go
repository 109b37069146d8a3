package harness

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// clientLimit is how long a client's program may take.
const clientLimit = 5 * time.Minute

// RunCases runs a client's program from the repository's root, and makes a subtest of each case that it reports: a line
// "ok NAME", or "FAIL NAME: WHY".
func RunCases(t *testing.T, environment []string, command string, args ...string) {
	t.Helper()
	output, err := Output(environment, "", command, args...)
	cases := 0
	for line := range strings.Lines(output) {
		verdict, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if verdict != "ok" && verdict != "FAIL" {
			continue
		}
		cases++
		name, why, _ := strings.Cut(rest, ": ")
		t.Run(name, func(t *testing.T) {
			if verdict == "FAIL" {
				t.Error(why)
			}
		})
	}
	if err != nil || cases == 0 {
		t.Errorf("%s %v: %v, %d cases:\n%s", command, args, err, cases, output)
	}
}

// RunOpenAI is RunCases for a program of e2e/clients that talks by OpenAI's Python client.
func RunOpenAI(t *testing.T, program string, args ...string) {
	t.Helper()
	packages, err := PythonPackages("e2e/clients/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1")
	RunCases(t, environment, "python3", append([]string{"e2e/clients/" + program}, args...)...)
}

// Output is what a command writes, with input, from the repository's root.
func Output(environment []string, input, command string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = Root(), environment, strings.NewReader(input)
	output, err := cmd.CombinedOutput()
	return string(output), err
}
