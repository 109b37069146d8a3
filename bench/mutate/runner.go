package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// What became of a change. One that does not compile is a mistake in the list, as no test says anything about it.
const (
	killed   = "killed"
	late     = "timed out"
	survived = "SURVIVED"
)

// runner runs tests with a changed file.
type runner struct {
	root, scratch string
	timeout       time.Duration
	// sound has what came of the tests of each package that was tested as it is.
	sound map[string]error
}

// try runs the tests of the packages of a change, one package after the other, until one notices it.
func (r *runner) try(ctx context.Context, m mutant) (string, error) {
	changed, err := m.apply(r.root)
	if err != nil {
		return "", err
	}
	if m.compiled() {
		return r.tryModule(ctx, m, changed)
	}
	overlay, err := r.overlay(m, changed)
	if err != nil {
		return "", err
	}
	for _, target := range m.packages() {
		if err := r.control(target, func() (string, error) { return r.test(ctx, r.root, target) }); err != nil {
			return "", err
		}
		verdict, err := r.test(ctx, r.root, target, "-overlay", overlay)
		if err != nil {
			return "", fmt.Errorf("%v: %w", m, err)
		}
		if verdict != survived {
			return verdict, nil
		}
	}
	return survived, nil
}

// control is an error where the tests of a package fail without any change: such tests would notice each one.
func (r *runner) control(target string, test func() (string, error)) error {
	err, known := r.sound[target]
	if known {
		return err
	}
	verdict, err := test()
	if err == nil && verdict != survived {
		err = fmt.Errorf("the tests of %s fail without any change", target)
	}
	if r.sound == nil {
		r.sound = map[string]error{}
	}
	r.sound[target] = err
	return err
}

// overlay writes the changed file beside a list that puts it in the real one's place.
func (r *runner) overlay(m mutant, changed []byte) (string, error) {
	file := filepath.Join(r.scratch, "changed.go")
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(
		map[string]any{"Replace": map[string]string{filepath.Join(r.root, filepath.FromSlash(m.file)): file}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.scratch, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// test runs the tests of a package, in the tree at root.
func (r *runner) test(ctx context.Context, root, target string, flags ...string) (string, error) {
	args := append([]string{"test", "-short", "-failfast", "-vet=off", "-timeout", r.timeout.String()}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, target)...)
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	text := string(output)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return survived, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !errors.As(err, &exit):
		return "", err
	case strings.Contains(text, "[build failed]"), strings.Contains(text, "[setup failed]"):
		return "", fmt.Errorf("the change does not compile:\n%s", text)
	case strings.Contains(text, "panic: test timed out"):
		return late, nil
	}
	return killed, nil
}
