package wazerohost

import (
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
)

// errno values of WASI preview 1.
const (
	errnoBadf   = 8
	errnoFault  = 21
	errnoInval  = 28
	errnoNoent  = 44
	errnoNosys  = 52
	errnoNotsup = 58
)

// maxRandom is the most that one random_get may ask for (proxy-wasm-cpp-host, include/proxy-wasm/limits.h).
const maxRandom = 64 << 10

// wasiFuncs are the functions that every Envoy from 1.36 on offers, with the answers of proxy-wasm-cpp-host
// (src/exports.cc).
var wasiFuncs = map[string]hostFunc{
	"fd_write":            {"iiii>i", wasiFdWrite},
	"fd_read":             {"iiii>i", answer(errnoNosys)},
	"fd_seek":             {"iIii>i", answer(0)},
	"fd_close":            {"i>i", answer(0)},
	"fd_fdstat_get":       {"ii>i", wasiFdstatGet},
	"fd_fdstat_set_flags": {"ii>i", answer(errnoNosys)},
	"fd_filestat_get":     {"ii>i", answer(errnoBadf)},
	"fd_prestat_get":      {"ii>i", answer(errnoBadf)},
	"fd_prestat_dir_name": {"iii>i", answer(errnoNosys)},
	"path_open":           {"iiiiiIIii>i", answer(errnoNoent)},
	"path_filestat_get":   {"iiiii>i", answer(errnoNotsup)},
	"args_sizes_get":      {"ii>i", wasiArgsSizes},
	"args_get":            {"ii>i", answer(0)},
	"environ_sizes_get":   {"ii>i", wasiEnvironSizes},
	"environ_get":         {"ii>i", wasiEnviron},
	"clock_time_get":      {"iIi>i", wasiClock},
	"random_get":          {"ii>i", wasiRandom},
	"sched_yield":         {">i", answer(0)},
	"proc_exit":           {"i", wasiExit},
	"poll_oneoff":         {"iiii>i", wasiPoll},
}

func answer(errno uint32) func(*vm, []uint64) uint32 {
	return func(*vm, []uint64) uint32 { return errno }
}

func wasiFdWrite(v *vm, a []uint64) uint32 {
	level := Info
	switch a[0] {
	case 1:
	case 2:
		level = Error
	default:
		return errnoBadf
	}
	var text []byte
	for i := uint64(0); i < a[2]; i++ {
		vec, ok := v.read(a[1]+8*i, 8)
		if !ok {
			return errnoFault
		}
		b, ok := v.read(uint64(binary.LittleEndian.Uint32(vec)), uint64(binary.LittleEndian.Uint32(vec[4:])))
		if !ok {
			return errnoFault
		}
		text = append(text, b...)
	}
	if len(text) > 0 {
		v.host.log(LogLine{v.worker.index, level, strings.TrimSuffix(string(text), "\n")})
	}
	if !v.writeU32(a[3], uint32(len(text))) {
		return errnoFault
	}
	return 0
}

func wasiFdstatGet(v *vm, a []uint64) uint32 {
	if a[0] != 1 && a[0] != 2 {
		return errnoBadf
	}
	const rightToWrite = 64
	if !v.writeU64(a[1], 0) || !v.writeU64(a[1]+8, rightToWrite) || !v.writeU64(a[1]+16, 0) {
		return errnoFault
	}
	return 0
}

func wasiArgsSizes(v *vm, a []uint64) uint32 {
	if !v.writeU32(a[0], 0) || !v.writeU32(a[1], 0) {
		return errnoFault
	}
	return 0
}

func (h *Host) environ() []string {
	env := make([]string, 0, len(h.opts.Env))
	for key, value := range h.opts.Env {
		env = append(env, key+"="+value+"\x00")
	}
	sort.Strings(env)
	return env
}

func wasiEnvironSizes(v *vm, a []uint64) uint32 {
	size := 0
	env := v.host.environ()
	for _, entry := range env {
		size += len(entry)
	}
	if !v.writeU32(a[0], uint32(len(env))) || !v.writeU32(a[1], uint32(size)) {
		return errnoFault
	}
	return 0
}

func wasiEnviron(v *vm, a []uint64) uint32 {
	at := uint32(a[1])
	for i, entry := range v.host.environ() {
		if !v.writeU32(a[0]+4*uint64(i), at) || !v.module.Memory().Write(at, []byte(entry)) {
			return errnoFault
		}
		at += uint32(len(entry))
	}
	return 0
}

func wasiClock(v *vm, a []uint64) uint32 {
	now := v.host.opts.Now()
	nanos := uint64(now.UnixNano())
	switch a[0] {
	case 0:
	case 1:
		nanos = uint64(now.Sub(v.host.started))
	default:
		return errnoNotsup
	}
	if !v.writeU64(a[2], nanos) {
		return errnoFault
	}
	return 0
}

func wasiRandom(v *vm, a []uint64) uint32 {
	if a[1] > maxRandom {
		return errnoInval
	}
	b, ok := v.read(a[0], a[1])
	if !ok {
		return errnoFault
	}
	_, _ = v.random.Read(b)
	return 0
}

// wasiExit traps. Envoy only returns from proc_exit, and the code that compilers put behind a call that never returns
// is a trap.
func wasiExit(_ *vm, a []uint64) uint32 { panic(fmt.Errorf("proc_exit(%d)", a[0])) }

// wasiPoll refuses: Envoy 1.39 answers with no event at all, so that a sleep is none, and 1.36 to 1.38 with an error.
func wasiPoll(v *vm, _ []uint64) uint32 {
	v.violate("the plug-in called poll_oneoff (a sleep, or a scheduler that waits): envoy does not sleep, and " +
		"refuses before 1.39")
	return 0
}
