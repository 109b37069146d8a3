// Package harness starts what end-to-end tests talk to: Envoys, sidecars, simulated model servers, and clients that
// misbehave.
//
// Everything listens on loopback, ends with the test that started it, and waits with a deadline.
package harness

import (
	"fmt"
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

// moduleFolders are the folders of the packages of which the module is made, from the root.
func moduleFolders() ([]string, error) {
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./filter")
	list.Dir = Root()
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps ./filter: %w", err)
	}
	var folders []string
	for _, path := range strings.Fields(string(text)) {
		if folder, ours := strings.CutPrefix(path, "github.com/pintle-dev/pintle/"); ours {
			folders = append(folders, folder)
		}
	}
	return folders, nil
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
	folders, _ := moduleFolders() // what cannot be read is nothing to warn of
	for _, folder := range folders {
		files, _ := filepath.Glob(filepath.Join(Root(), folder, "*.go"))
		for _, file := range files {
			info, err := os.Stat(file)
			if err == nil && !strings.HasSuffix(file, "_test.go") && info.ModTime().After(binary.ModTime()) {
				newer, _ = filepath.Rel(Root(), file)
			}
		}
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
