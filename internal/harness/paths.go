// Package harness starts what end-to-end tests talk to: Envoys, sidecars, simulated model servers, and clients that
// misbehave.
//
// Everything listens on loopback, ends with the test that started it, and waits with a deadline.
package harness

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Root is the repository's root.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// built returns the path of a build output, or an error that says how to make it.
func built(name string) (string, error) {
	path := filepath.Join(Root(), "bin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("bin/%s is missing; run make build", name)
	}
	return path, nil
}

// newerSource names a source file of the module that is newer than the module, if there is one.
func newerSource() string {
	module, err := built("pintle.wasm")
	if err != nil {
		return ""
	}
	binary, err := os.Stat(module)
	if err != nil {
		return ""
	}
	newer := ""
	for _, folder := range []string{"filter", "journal", "openai", "scoring", "snapshot", "state", "internal/hostcalls",
		"internal/pluginconfig", "internal/strictjson"} {
		_ = filepath.WalkDir(filepath.Join(Root(), folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil // what cannot be read is nothing to warn of
			}
			if info, err := entry.Info(); err == nil && info.ModTime().After(binary.ModTime()) {
				newer, _ = filepath.Rel(Root(), path)
			}
			return nil
		})
	}
	return newer
}

// scratch is a directory for as long as the tests run.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "pintle-e2e-") })

// pintle is the command: bin/pintle, or built for these tests where there is none.
var pintle = sync.OnceValues(func() (string, error) {
	if path, err := built("pintle"); err == nil {
		return path, nil
	}
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "pintle")
	build := exec.Command("go", "build", "-o", path, "./cmd/pintle")
	build.Dir = Root()
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/pintle: %w\n%s", err, output)
	}
	return path, nil
})

// Clean removes what the tests of this process have written. To be called last, from TestMain.
func Clean() {
	if dir, err := scratch(); err == nil && os.Getenv("E2E_KEEP") == "" {
		_ = os.RemoveAll(dir)
	}
}
