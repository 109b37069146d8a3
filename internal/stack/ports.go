package stack

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports below those that the kernel hands out for outgoing connections, so that none of these takes one in the
// meantime.
const (
	firstPort = 11000
	lastPort  = 32000
)

// FreePorts returns the first of n consecutive ports of the loopback that nothing listens on.
func FreePorts(n int) (int, error) {
	for range 100 {
		first := firstPort + rand.IntN(lastPort-firstPort-n)
		if allFree(first, n) {
			return first, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row between %d and %d", n, firstPort, lastPort)
}

func allFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		if !free(port) {
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

// CheckPorts returns an error for the first port that is taken or that no port can be.
func CheckPorts(needs ...Need) error {
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
