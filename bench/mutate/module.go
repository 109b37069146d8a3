package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// TinyGo knows no overlay: changes to the filter are made in a copy of the tree, which is built and tested there.

// tryModule builds the module with the changed file and runs the filter's tests with it.
func (r *runner) tryModule(ctx context.Context, m mutant, changed []byte) (string, error) {
	tree, err := r.copy(ctx)
	if err != nil {
		return "", err
	}
	if err := r.control("./filter", func() (string, error) { return r.buildAndTest(ctx, tree) }); err != nil {
		return "", err
	}
	path := filepath.Join(tree, filepath.FromSlash(m.file))
	original, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		return "", err
	}
	verdict, err := r.buildAndTest(ctx, tree)
	if err != nil {
		err = fmt.Errorf("%v: %w", m, err)
	}
	return verdict, errors.Join(err, os.WriteFile(path, original, 0o600))
}

// buildAndTest builds what make builds, with the toolchain as it is installed.
func (r *runner) buildAndTest(ctx context.Context, tree string) (string, error) {
	module := filepath.Join("bin", "pintle.wasm")
	if err := os.RemoveAll(filepath.Join(tree, module)); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "make", "-o", "build/.cache/tinygo.version", module)
	build.Dir = tree
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the change does not compile: %w\n%s", err, output)
	}
	return r.test(ctx, tree, "./filter", "-count=1")
}

// copy makes the copy of the tree at its first call: what git tracks, and the toolchain.
func (r *runner) copy(ctx context.Context) (string, error) {
	tree := filepath.Join(r.scratch, "tree")
	if _, err := os.Stat(tree); err == nil {
		return tree, nil
	}
	list := exec.CommandContext(ctx, "git", "ls-files")
	list.Dir = r.root
	names, err := list.Output()
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(strings.TrimSpace(string(names)), "\n") {
		if err := copyFile(filepath.Join(tree, name), filepath.Join(r.root, name)); err != nil {
			return "", err
		}
	}
	return tree, errors.Join(
		os.Mkdir(filepath.Join(tree, "bin"), 0o700),
		os.Symlink(filepath.Join(r.root, "build", ".cache"), filepath.Join(tree, "build", ".cache")),
		os.Symlink(filepath.Join(r.root, "bin", "tinygo"), filepath.Join(tree, "bin", "tinygo")),
		os.Symlink(filepath.Join(r.root, "bin", "pintle-failpoint.wasm"),
			filepath.Join(tree, "bin", "pintle-failpoint.wasm")))
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
