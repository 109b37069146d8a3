package stack

import (
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// endLimit is how long a process may take to end after SIGTERM.
const endLimit = 5 * time.Second

// Process is a running child, which dies with this process. Its methods may be called at once.
type Process struct {
	name string
	cmd  *exec.Cmd
	log  tail
	done chan struct{} // closed when it has ended
	told atomic.Bool   // to end, while it ran
}

// StartCommand starts a child from a command that is ready but for where its output goes: the end of that is kept.
// Ctrl-C at the terminal does not reach it.
func StartCommand(name string, cmd *exec.Cmd) (*Process, error) {
	p := &Process{name: name, cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &p.log, &p.log, childAttributes()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		_ = cmd.Wait() // how it ended is asked of its state
		close(p.done)
	}()
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ExitCode is that of a process that has ended, -1 when a signal ended it.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Stop asks the process to end and, after a while, makes it. Without a process it does nothing.
func (p *Process) Stop() {
	if p != nil {
		p.Terminate()
		p.await(endLimit)
	}
}

// Kill ends the process, and those that it has started, without a chance to say goodbye. What these leave open of its
// output would be waited for.
func (p *Process) Kill() {
	if !p.Ended() {
		p.told.Store(true)
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL) // it may have ended already
	}
	<-p.done
}

// Terminate asks the process to end.
func (p *Process) Terminate() {
	if !p.Ended() {
		p.told.Store(true)
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	}
}

// await waits for the end and brings it about when that takes too long.
func (p *Process) await(limit time.Duration) {
	select {
	case <-p.done:
	case <-time.After(limit):
		p.Kill()
	}
}

// Log returns the end of the output.
func (p *Process) Log() string { return p.log.lines(40) }

// Logged counts the lines of the output that hold a text, of those that are kept.
func (p *Process) Logged(text string) int {
	n := 0
	for line := range strings.SplitSeq(p.log.lines(tailBytes), "\n") {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// TakeLog returns what was written since it was last called.
func (p *Process) TakeLog() string { return p.log.take() }

// unknown is the error of what cannot be known of the process: that it has ended, if it has.
func (p *Process) unknown(err error) error {
	if err != nil && p.Ended() {
		return p.fail(endedUnexpectedly)
	}
	return err
}

const endedUnexpectedly = "ended unexpectedly"

// logLines is how much of a log an error shows.
const logLines = 12

// fail returns an error with the end of the log.
func (p *Process) fail(what string) error {
	state := ""
	if p.Ended() {
		state = fmt.Sprintf(" (%v)", p.cmd.ProcessState)
	}
	text := p.log.lines(logLines)
	if text == "" {
		return fmt.Errorf("%s %s%s; its log is empty", p.name, what, state)
	}
	return fmt.Errorf("%s %s%s; the end of its log:\n  | %s", p.name, what, state,
		strings.ReplaceAll(text, "\n", "\n  | "))
}
