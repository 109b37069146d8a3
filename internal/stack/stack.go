package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// Stack is a set of processes. Not safe for concurrent use, apart from what its processes offer.
type Stack struct {
	// Root is the repository's root, in which the processes run.
	Root string
	// Dir holds configurations until Close.
	Dir string

	processes []*Process
}

// New makes an empty stack. It is to be called in the repository or below, after make build.
func New() (*Stack, error) {
	root, err := FindRoot()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"pintle", "pintle.wasm", "envoy"} {
		if _, err := os.Stat(filepath.Join(root, "bin", name)); err != nil {
			return nil, fmt.Errorf("bin/%s is missing; make build makes it", name)
		}
	}
	dir, err := os.MkdirTemp("", "pintle-")
	if err != nil {
		return nil, err
	}
	return &Stack{Root: root, Dir: dir}, nil
}

// FindRoot looks for the repository's root in the working directory and above it.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "envoy.yaml")); err == nil {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", errors.New("envoy.yaml is not in this folder nor above it; run this in the repository")
	}
}

// Close ends all processes and removes their files.
func (s *Stack) Close() {
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].Terminate()
	}
	for _, p := range s.processes {
		p.await(endLimit)
	}
	s.processes = nil
	_ = os.RemoveAll(s.Dir) // a folder of temporary files that stays is no reason to fail
}

// Start runs a program in the repository's root.
func (s *Stack) Start(name, path string, args ...string) (*Process, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir = s.Root
	p, err := StartCommand(name, cmd)
	if err == nil {
		s.processes = append(s.processes, p)
	}
	return p, err
}

// Check returns an error when a process has ended by itself.
func (s *Stack) Check() error {
	for _, p := range s.processes {
		if p.Ended() && !p.told.Load() {
			return p.fail(endedUnexpectedly)
		}
	}
	return nil
}

// Context returns a context that ends with Ctrl-C, with SIGTERM, and when the process that started this one is gone, as
// `go run` does not hand SIGTERM on.
func Context() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if os.Getppid() != parent {
					cancel()
				}
			}
		}
	}()
	return ctx, func() { cancel(); stop() }
}
