package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

var installing sync.Mutex

// PythonPackages installs what a requirements file, by its path from the repository's root, pins, and returns the
// folder. It does so once for each version of that file, below build/.cache.
func PythonPackages(requirements string) (string, error) {
	installing.Lock()
	defer installing.Unlock()
	path := filepath.Join(Root(), filepath.FromSlash(requirements))
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	cache := filepath.Join(Root(), "build", ".cache")
	target := filepath.Join(cache, "pyclients-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		return target, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unfinished, err := os.MkdirTemp(cache, "pyclients-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unfinished)
	output, err := Output(os.Environ(), "", "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--no-deps", "--only-binary", ":all:", "--target", unfinished, "-r", path)
	if err != nil {
		return "", fmt.Errorf("pip install -r %s: %w\n%s", requirements, err, output)
	}
	return target, settle(unfinished, target)
}

// settle gives what was installed its name, unless another process, such as the tests of another package, was sooner.
func settle(unfinished, target string) error {
	err := os.Rename(unfinished, target)
	if _, missing := os.Stat(target); missing == nil {
		return nil
	}
	return err
}
