package harness

import (
	"os/exec"

	"github.com/pintle-dev/pintle/internal/stack"
)

// Child is any other program that a test needs. It dies with the test process.
type Child = stack.Process

// StartChild starts a program in a folder, with variables NAME=value added to this process's environment.
func StartChild(name, dir, path string, variables []string, args ...string) (*Child, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), variables...)
	return stack.StartCommand(name, cmd)
}

// Built returns the path of a build output in bin/, or an error that says how to make it.
func Built(name string) (string, error) { return built(name) }
