package wazerohost

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// While the module starts, and while it allocates for the host, Envoy lets it call these only and traps on any other
// (proxy-wasm-cpp-host, src/wasm.cc startVm and include/proxy-wasm/wasm.h allocMemory).
var (
	allowedAtStart = wasiNames("env.proxy_log", "fd_write", "args_sizes_get", "args_get", "environ_sizes_get",
		"environ_get", "clock_time_get", "random_get", "fd_fdstat_get", "fd_fdstat_set_flags", "fd_filestat_get",
		"fd_prestat_get", "fd_prestat_dir_name", "path_filestat_get", "poll_oneoff")
	allowedInMalloc = wasiNames("env.proxy_log", "fd_write", "clock_time_get", "poll_oneoff")
)

func wasiNames(proxy string, wasi ...string) map[string]bool {
	names := map[string]bool{proxy: true}
	for _, name := range wasi {
		names["wasi_unstable."+name], names["wasi_snapshot_preview1."+name] = true, true
	}
	return names
}

// guestContext is what a context id stands for: a plug-in (root) context or a stream.
type guestContext struct {
	id     uint32
	plugin *Plugin
	stream *Stream // nil for a root context
}

// vm is one instance of the module, used by one goroutine at a time: every method that tests call holds its worker's
// lock.
type vm struct {
	host   *Host
	worker *Worker
	ctx    context.Context
	module api.Module
	malloc api.Function
	random *rand.ChaCha8

	contexts map[uint32]*guestContext
	nextID   uint32
	metrics  map[uint32]metricName
	nextIDs  [3]uint32
	nextCall uint32

	current   *guestContext
	effective uint32
	hostCalls map[string]int // by name
	inGuest   int
	allowed   map[string]bool // nil: no restriction
	stopped   bool            // a local reply was asked for: whatever the callback returns, iteration stops
	after     []func()        // what waits for the end of the callback
	failed    error           // the trap that killed the VM
	violation string
}

func newVM(w *Worker) (*vm, error) {
	h := w.host
	h.mu.Lock()
	h.vms++
	number := h.vms
	h.mu.Unlock()
	v := &vm{
		host: h, worker: w, random: newRandom(h.opts.Seed, number),
		contexts: map[uint32]*guestContext{}, nextID: 1,
		metrics: map[uint32]metricName{}, nextIDs: [3]uint32{counter, gauge, histogram},
		current: &guestContext{}, hostCalls: map[string]int{},
	}
	v.ctx = context.WithValue(h.ctx, vmKey{}, v)
	v.allowed = allowedAtStart
	module, err := h.runtime.InstantiateModule(v.ctx, h.module,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, fmt.Errorf("instantiate the module: %w", err)
	}
	v.module = module
	v.malloc = module.ExportedFunction("malloc")
	if v.malloc == nil {
		v.malloc = module.ExportedFunction("proxy_on_memory_allocate")
	}
	v.call(v.current, "_initialize")
	v.call(v.current, "main", 0, 0)
	v.allowed = nil
	if v.failed != nil {
		return nil, v.failed
	}
	return v, nil
}

// call runs an export for a context. It answers 0 when the module does not export it or has trapped.
func (v *vm) call(c *guestContext, name string, args ...uint64) uint64 {
	if v.failed != nil {
		return 0
	}
	f := v.module.ExportedFunction(name)
	if f == nil {
		return 0
	}
	if c.stream != nil {
		c.stream.callbacks = append(c.stream.callbacks, strings.TrimPrefix(name, "proxy_on_"))
	}
	saved, savedEffective := v.current, v.effective
	v.current, v.effective = c, 0
	v.inGuest++
	results, err := f.Call(v.ctx, args...)
	v.inGuest--
	v.current, v.effective = saved, savedEffective
	if err != nil {
		v.trapped(name, err)
		return 0
	}
	if len(results) == 0 {
		return 0
	}
	return uint64(uint32(results[0]))
}

// callback is call, followed by what the guest asked to be done once it has returned. stopped tells that a local reply
// was asked for.
func (v *vm) callback(c *guestContext, name string, args ...uint64) (result uint64, stopped bool) {
	result = v.call(c, name, args...)
	stopped, v.stopped = v.stopped, false
	for len(v.after) > 0 {
		action := v.after[0]
		v.after = v.after[1:]
		action()
	}
	return result, stopped
}

func (v *vm) trapped(name string, err error) {
	v.failed = fmt.Errorf("%s failed: %w", name, err)
	v.host.log(LogLine{v.worker.index, Error, "Wasm VM failed " + v.failed.Error()})
	if message := v.violation; message != "" && v.inGuest == 0 {
		v.violation = ""
		v.host.fail(message)
	}
}

// violate reports what Envoy would punish without a status code, or what is not modelled. In a guest call it ends the
// call first.
func (v *vm) violate(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if v.inGuest == 0 {
		v.host.fail(message)
		return
	}
	v.violation = message
	panic(fmt.Errorf("%s", message))
}

// context is the context that host calls act on: the effective one while it exists.
func (v *vm) context() *guestContext {
	if c, ok := v.contexts[v.effective]; ok {
		return c
	}
	return v.current
}

func (v *vm) newContext(p *Plugin, s *Stream) *guestContext {
	c := &guestContext{id: v.nextID, plugin: p, stream: s}
	v.nextID++
	v.contexts[c.id] = c
	return c
}

// read returns the guest's bytes, not a copy.
func (v *vm) read(ptr, size uint64) ([]byte, bool) {
	return v.module.Memory().Read(uint32(ptr), uint32(size))
}

func (v *vm) readString(ptr, size uint64) (string, bool) {
	b, ok := v.read(ptr, size)
	return string(b), ok
}

func (v *vm) writeU32(ptr uint64, value uint32) bool {
	return v.module.Memory().WriteUint32Le(uint32(ptr), value)
}

func (v *vm) writeU64(ptr, value uint64) bool {
	return v.module.Memory().WriteUint64Le(uint32(ptr), value)
}

// give hands data to the guest in memory that the guest allocates. Empty data is a null pointer and no allocation.
func (v *vm) give(data []byte, ptrPtr, sizePtr uint64) status {
	var ptr uint32
	if len(data) > 0 {
		var ok bool
		if ptr, ok = v.allocate(len(data)); !ok || !v.module.Memory().Write(ptr, data) {
			return statusInvalidMemory
		}
	}
	if !v.writeU32(ptrPtr, ptr) || !v.writeU32(sizePtr, uint32(len(data))) {
		return statusInvalidMemory
	}
	return statusOK
}

func (v *vm) allocate(size int) (uint32, bool) {
	saved, savedContext, savedEffective := v.allowed, v.current, v.effective
	v.allowed, v.current, v.effective = allowedInMalloc, &guestContext{}, 0
	results, err := v.malloc.Call(v.ctx, uint64(size))
	v.allowed, v.current, v.effective = saved, savedContext, savedEffective
	if err != nil {
		v.trapped("malloc", err)
		if v.violation != "" {
			panic(err)
		}
		return 0, false
	}
	return uint32(results[0]), uint32(results[0]) != 0
}
