package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Ports below those that the kernel hands out for outgoing connections, so that none of these takes one in the meantime.
const (
	firstPort = 11000
	lastPort  = 32000
)

// FreePorts returns n ports that nothing listens on.
func FreePorts(n int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range 100 * n {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		held = append(held, l)
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports between %d and %d", n, firstPort, lastPort)
}

// DeadAddress returns an address that refuses connections for as long as the test process runs: the port is bound, and nobody
// listens on it.
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

// Trap is a server that nobody may reach. Its name is its address.
type Trap struct {
	Address  string
	listener net.Listener
	visitors chan string
}

// NewTrap opens a trap.
func NewTrap(t testing.TB) *Trap {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	trap := &Trap{Address: l.Addr().String(), listener: l, visitors: make(chan string, 16)}
	t.Cleanup(func() { _ = l.Close() })
	go trap.accept()
	return trap
}

func (t *Trap) accept() {
	for {
		c, err := t.listener.Accept()
		if err != nil {
			return
		}
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		buffer := make([]byte, 200)
		n, _ := c.Read(buffer) // whoever says nothing is a visitor too
		_ = c.Close()
		select {
		case t.visitors <- string(buffer[:n]):
		default:
		}
	}
}

// Visitor returns the beginning of what somebody sent to the trap; ok is false when nobody came.
func (t *Trap) Visitor() (sent string, ok bool) {
	select {
	case sent = <-t.visitors:
		return sent, true
	default:
		return "", false
	}
}
