package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// tick is the unit of times in /proc.
const tick = 10 * time.Millisecond

// groupUsage is the processor time and the resident memory of all processes of a group, with those of its children that
// have ended.
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
		of, used, memory, err := readStat(stat)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", file, err)
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

// readStat reads fields of proc_pid_stat(5): 5 is the group, 14 to 17 are times, 24 is the resident memory in pages.
// The second one, a name in parentheses, may hold anything.
func readStat(stat []byte) (group int, cpu time.Duration, resident int64, err error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const before = 3 // of the fields, the numbers begin with 1
	number := func(n int) (value int64) {
		if err != nil || len(fields) <= n-before {
			err = fmt.Errorf("%q: want 24 fields or more", stat)
			return 0
		}
		value, err = strconv.ParseInt(string(fields[n-before]), 10, 64)
		return value
	}
	group = int(number(5))
	for n := 14; n <= 17; n++ {
		cpu += time.Duration(number(n)) * tick
	}
	return group, cpu, number(24) * int64(os.Getpagesize()), err
}
