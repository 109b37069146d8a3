package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Group is the processor time and the resident memory of the process and of those that it has started, with the time of
// those of them that have ended.
func (p *Process) Group() (cpu time.Duration, resident int64, err error) {
	cpu, resident, err = groupUsage(p.PID())
	return cpu, resident, p.unknown(err)
}

// groupUsage is that of a process group: a child leads one of its own.
func groupUsage(group int) (cpu time.Duration, resident int64, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, 0, err
	}
	found := false
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		of, used, memory, err := parseMember(stat)
		if err != nil {
			return 0, 0, err
		}
		if of == group {
			found = true
			cpu, resident = cpu+used, resident+memory
		}
	}
	if !found {
		return 0, 0, fmt.Errorf("the group %d has no process", group)
	}
	return cpu, resident, nil
}

// parseMember reads fields 5, the group, 14 to 17, times of the process and of its children, and 24, resident pages.
func parseMember(stat []byte) (group int, cpu time.Duration, resident int64, err error) {
	numbers, err := statNumbers(stat, 5, 14, 15, 16, 17, 24)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, ticks := range numbers[1:5] {
		cpu += time.Duration(ticks) * tick
	}
	return int(numbers[0]), cpu, numbers[5] * int64(os.Getpagesize()), nil
}
