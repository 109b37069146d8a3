package dns

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/dns/dnstest"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// inItsOwnMounts is set in the process that runs a test alone, with mounts that nobody else sees.
const inItsOwnMounts = "PINTLE_TEST_OWN_MOUNTS"

// withResolvConf runs the test in a process whose /etc/resolv.conf has that text: Go reads no other. It reports whether
// this is that process.
func withResolvConf(t *testing.T, text string) bool {
	if file := os.Getenv(inItsOwnMounts); file != "" {
		if err := syscall.Mount(file, "/etc/resolv.conf", "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	file := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), inItsOwnMounts+"="+file)
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	output, err := c.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("this machine gives a process no mounts of its own: ", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	return false
}

// A name of a search list that does not exist does not hide that the server fails for another: a pool is not emptied
// because its DNS server is ill.
func TestSearchLists(t *testing.T) {
	if !withResolvConf(t, "search default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n") {
		return
	}
	s := dnstest.New(t)
	s.Set("vllm.default.svc.cluster.local.", false, dnstest.A("10.0.0.1"))
	s.Set("there.test.", false, dnstest.A("10.0.0.2"))
	s.FailFor("there.test.default.svc.cluster.local.")
	look := func(kind, name string) (int, error) {
		found, err := (&Discovery{Pool{Name: name, Type: kind, Port: 8000, Server: s.Address}}).endpoints(t.Context())
		return len(found), err
	}
	names := []string{"vllm", "vllm.default.svc", "vllm.default.svc.cluster.local"}
	for _, name := range append(names, "there.test") {
		if n, err := look("A", name); n != 1 || err != nil {
			t.Errorf("%s: got %d endpoints, %v, want one", name, n, err)
		}
	}
	if n, err := look("A", "gone"); n != 0 || err != nil {
		t.Errorf("gone: got %d endpoints, %v, want none and no error", n, err)
	}
	s.FailFor("vllm.default.svc.cluster.local.", "_http._tcp.vllm.default.svc.cluster.local.")
	for _, name := range names {
		if n, err := look("A", name); err == nil {
			t.Errorf("%s, which the server fails for: got %d endpoints, want an error", name, n)
		}
	}
	if n, err := look("SRV", "_http._tcp.vllm.default.svc.cluster.local"); err == nil {
		t.Errorf("SRV, which the server fails for: got %d endpoints, want an error", n)
	}
}

// TestDeadServer: the machine's second DNS server is asked, and its answer waited for, when the first one is dead.
func TestDeadServer(t *testing.T) {
	if !withResolvConf(t, "nameserver 192.0.2.1\nnameserver 192.0.2.2\n") {
		return
	}
	s := dnstest.New(t) // both, of which the first one is asked first
	s.Set("vllm.test.", false, dnstest.A("10.0.0.1"))
	s.Ignore(1)
	d := &Discovery{Pool{Name: "vllm.test.", Type: "A", Port: 8000, Interval: time.Hour, Server: s.Address}}
	ctx, cancel := context.WithCancel(t.Context())
	d.Run(ctx, func(part topology.Part, err error) {
		cancel()
		if err != nil || len(part.Endpoints) != 1 {
			t.Errorf("got %d endpoints, %v, want that of the second server", len(part.Endpoints), err)
		}
	})
}
