package harness

import "os/exec"

// Child is any other program that a test needs. It dies with the test process.
type Child struct{ *process }

// StartChild starts a program in a folder, with variables NAME=value added to this process's environment.
func StartChild(name, dir, path string, variables []string, args ...string) (*Child, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), variables...)
	p, err := startCommand(name, cmd)
	return &Child{p}, err
}

// Ended reports whether the program has ended.
func (c *Child) Ended() bool { return c.ended() }

// Kill ends the program without a chance to say goodbye.
func (c *Child) Kill() { c.kill() }

// Stop asks the program to end and, after a while, makes it.
func (c *Child) Stop() {
	if c != nil && c.process != nil {
		c.stop()
	}
}

// Log returns the end of the program's output.
func (c *Child) Log() string { return c.log.lines(40) }

// Built returns the path of a build output in bin/, or an error that says how to make it.
func Built(name string) (string, error) { return built(name) }
