package stack

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// Ports below those that the kernel hands out for outgoing connections, so that none of these takes one in the
// meantime.
const (
	firstPort = 11000
	lastPort  = 32000
)

// Loopback are the addresses of these ports of the loopback, all below 65536.
func Loopback(ports ...int) (all []netip.AddrPort) {
	for _, port := range ports {
		all = append(all, netip.MustParseAddrPort(Address(port)))
	}
	return all
}

// given are the ports that were handed out or checked of late: whoever has them may not listen on them yet.
var given = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// FreePorts returns the first of n consecutive ports of the loopback that nothing listens on, and that this process was
// not given a short time ago. Any number may call it at once.
func FreePorts(n int) (int, error) {
	const tries, many = 100, (lastPort - firstPort) / 8
	given.Lock()
	defer given.Unlock()
	for try := 0; try < 2*tries && n < lastPort-firstPort; try++ {
		if try == tries || len(given.ports) > many {
			clear(given.ports)
		}
		first := firstPort + rand.IntN(lastPort-firstPort-n)
		if !allFree(first, n) {
			continue
		}
		for port := first; port < first+n; port++ {
			given.ports[port] = true
		}
		return first, nil
	}
	return 0, fmt.Errorf("no %d free ports in a row between %d and %d", n, firstPort, lastPort)
}

// allFree is called by who holds given.
func allFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		if given.ports[port] || !free(port) {
			return false
		}
	}
	return true
}

func free(port int) bool {
	l, err := net.Listen("tcp4", Address(port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// Need is a port that must be free, and the variable of the Makefile that changes it.
type Need struct {
	Port     int
	Variable string
	// Count is how many consecutive ports are needed. 0 is 1.
	Count int
}

// CheckPorts returns an error for the first port that is taken or that no port can be. FreePorts leaves the others
// alone for a while.
func CheckPorts(needs ...Need) error {
	given.Lock()
	defer given.Unlock()
	for _, need := range needs {
		last := need.Port + max(need.Count, 1) - 1
		if need.Port < 1 || last > 65535 {
			return fmt.Errorf("%s=%d: ports %d to %d are needed; they are between 1 and 65535", need.Variable,
				need.Port, need.Port, last)
		}
		for port := need.Port; port <= last; port++ {
			if !free(port) {
				return fmt.Errorf(
					"port %d of 127.0.0.1 is in use; choose another one with %s=PORT, such as make demo %s=%d",
					port, need.Variable, need.Variable, otherPort(need.Port))
			}
			given.ports[port] = true
		}
	}
	return nil
}

// otherPort proposes a port that is far from the one that is taken.
func otherPort(port int) int {
	if port > 50000 {
		return port - 10000
	}
	return port + 10000
}

// Address is a port of the loopback.
func Address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
