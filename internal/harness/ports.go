package harness

import (
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// FreePorts returns n ports that nothing listens on.
func FreePorts(n int) ([]int, error) {
	first, err := stack.FreePorts(n)
	if err != nil {
		return nil, err
	}
	ports := make([]int, n)
	for i := range ports {
		ports[i] = first + i
	}
	return ports, nil
}

// DeadAddress returns an address that refuses connections for as long as the test process runs: the port is bound, and
// nobody listens on it.
func DeadAddress() (string, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", fmt.Errorf("socket: %w", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", fmt.Errorf("bind: %w", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return "", fmt.Errorf("getsockname: %w", err)
	}
	return "127.0.0.1:" + strconv.Itoa(name.(*syscall.SockaddrInet4).Port), nil
}

// Trap is a server that nobody may reach.
type Trap struct {
	Address  string
	visitors atomic.Int64
}

// NewTrap opens a trap until the test ends, and fails the test when somebody came.
func NewTrap(t testing.TB) *Trap {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	trap := &Trap{Address: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			trap.visitors.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		time.Sleep(20 * time.Millisecond) // for whoever is on the way
		_ = l.Close()
		if n := trap.Visitors(); n > 0 {
			t.Errorf("the forged address was connected to %d times, want never", n)
		}
	})
	return trap
}

// Visitors counts the connections so far.
func (t *Trap) Visitors() int64 { return t.visitors.Load() }
