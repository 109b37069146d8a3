package stack

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Memory is how many bytes of the process are in memory now, as Linux counts them in /proc.
func (p *Process) Memory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, p.unknown(err)
	}
	return parseStatus(status)
}

// ResidentBytes is Memory, 0 where the system does not tell.
func (p *Process) ResidentBytes() int64 {
	bytes, _ := p.Memory() // what is unknown is 0
	return bytes
}

// parseStatus reads VmRSS of proc_pid_status(5).
func parseStatus(status []byte) (int64, error) {
	_, rest, _ := bytes.Cut(status, []byte("\nVmRSS:"))
	fields := bytes.Fields(rest)
	if len(fields) < 2 || string(fields[1]) != "kB" {
		return 0, fmt.Errorf("/proc status: want VmRSS in kB, got %.40q", rest)
	}
	kilobytes, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kilobytes << 10, err
}
