package main

import (
	"os"
	"strconv"
	"strings"
)

// watchProcessors returns a function that tells which part of the machine's processor time was used since, 0 to 1, and
// 0 where the system does not tell. It counts what others do, too: a machine that is busy measures itself and not the
// routing.
func watchProcessors() func() float64 {
	used, all := processorTicks()
	return func() float64 {
		usedNow, allNow := processorTicks()
		return (usedNow - used) / max(allNow-all, 1)
	}
}

func processorTicks() (used, all float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	return parseTicks(string(text))
}

// parseTicks reads the first line of /proc/stat, proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
// What runs in guests is part of user and not counted again.
func parseTicks(stat string) (used, all float64) {
	line, _, _ := strings.Cut(stat, "\n")
	for i, field := range strings.Fields(line) {
		ticks, err := strconv.ParseFloat(field, 64)
		if i == 0 || i > 8 || err != nil {
			continue
		}
		all += ticks
		if i != 4 && i != 5 {
			used += ticks
		}
	}
	return used, all
}

// loadAverage is the machine's load of the last minute, or "unknown".
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}
