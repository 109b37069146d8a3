package stack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// endLimit is how long a process may take to end after SIGTERM.
const endLimit = 3 * time.Second

// Process is a running child. Its methods may be called at once.
type Process struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{} // closed when it has ended
}

// Start runs a program in the repository's root. Its output goes to a file, and Ctrl-C at the terminal does not reach it.
func (s *Stack) Start(name, path string, args ...string) (*Process, error) {
	p := &Process{name: name, log: filepath.Join(s.Dir, name+".log"), cmd: exec.Command(path, args...), done: make(chan struct{})}
	output, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = s.Root, output, output, childAttributes()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.processes = append(s.processes, p)
	go func() {
		_ = p.cmd.Wait() // how it ended is asked of its state
		close(p.done)
	}()
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *Process) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) } // it may have ended already

// await waits for the end and brings it about when that takes too long.
func (p *Process) await(limit time.Duration) {
	select {
	case <-p.done:
	case <-time.After(limit):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// logLines is how much of a log an error shows.
const logLines = 12

// fail returns an error with the end of the log.
func (p *Process) fail(what string) error {
	state := ""
	if p.Ended() {
		state = fmt.Sprintf(" (%v)", p.cmd.ProcessState)
	}
	text, err := os.ReadFile(p.log)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return fmt.Errorf("%s %s%s; its log is empty", p.name, what, state)
	}
	return fmt.Errorf("%s %s%s; the end of its log:\n%s", p.name, what, state, lastLines(string(text), logLines))
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	lines = lines[max(len(lines)-n, 0):]
	return "  | " + strings.Join(lines, "\n  | ")
}
