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
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return 0, err
	}
	return parseStat(stat)
}

// parseStat reads utime and stime, fields 14 and 15 in proc_pid_stat(5). The second field, a name in parentheses, may
// hold anything.
func parseStat(stat []byte) (time.Duration, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc stat %q: want at least 15 fields", stat)
	}
	var sum int64
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc stat %q: %w", stat, err)
		}
		sum += ticks
	}
	return time.Duration(sum) * tick, nil
}
