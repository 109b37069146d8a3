package stack

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of times in /proc: 1/USER_HZ, which Linux fixes at 100 Hz for programs.
const tick = 10 * time.Millisecond

// CPU is how much processor time the process has used so far, as Linux counts it in /proc, to 10 ms.
func (p *Process) CPU() (time.Duration, error) {
	used, err := CPUOf(p.PID())
	return used, p.unknown(err)
}

// CPUOf is the same of any process.
func CPUOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(stat)
}

// parseStat reads utime and stime.
func parseStat(stat []byte) (time.Duration, error) {
	numbers, err := statNumbers(stat, 14, 15)
	if err != nil {
		return 0, err
	}
	return time.Duration(numbers[0]+numbers[1]) * tick, nil
}

// statNumbers reads fields by their numbers in proc_pid_stat(5), which are 3 or more. The second field, a name in
// parentheses, may hold anything.
func statNumbers(stat []byte, which ...int) ([]int64, error) {
	const first = 3
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	numbers := make([]int64, len(which))
	for i, n := range which {
		if n-first >= len(fields) {
			return nil, fmt.Errorf("/proc stat %q: want at least %d fields", stat, n)
		}
		var err error
		if numbers[i], err = strconv.ParseInt(string(fields[n-first]), 10, 64); err != nil {
			return nil, fmt.Errorf("/proc stat %q: %w", stat, err)
		}
	}
	return numbers, nil
}
