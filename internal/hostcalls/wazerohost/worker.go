package wazerohost

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Worker is one Envoy worker thread with its VM. Calls on a worker, its plug-ins and its streams take turns; several
// workers may be driven from several goroutines.
type Worker struct {
	host    *Host
	index   int
	mu      sync.Mutex
	vm      *vm
	plugins []*Plugin
	calls   []*HTTPCall
}

// Worker starts a VM. The error is the trap of a module that does not get through _initialize.
func (h *Host) Worker() (*Worker, error) {
	h.mu.Lock()
	index := h.workers
	h.workers++
	h.mu.Unlock()
	w := &Worker{host: h, index: index}
	v, err := newVM(w)
	if err != nil {
		return nil, err
	}
	w.vm = v
	return w, nil
}

// Failed returns the trap that killed the worker's VM, or nil. A dead VM answers every stream with 503, as FAIL_CLOSED
// does.
func (w *Worker) Failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.vm.failed
}

// Rebuild gives the worker a new VM and starts its plug-ins again, as FAIL_RELOAD does on the first request after a
// trap. Shared data and metrics survive. Streams of the old VM are answered with 503 at their next event.
func (w *Worker) Rebuild() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.vm.failed == nil {
		w.vm.failed = errors.New("the worker's VM was rebuilt")
	}
	v, err := newVM(w)
	if err != nil {
		return err
	}
	w.vm, w.calls = v, nil
	for _, p := range w.plugins {
		if err := p.start(v); err != nil {
			return err
		}
	}
	return nil
}

// Tick fires the timer of every plug-in that has set one.
func (w *Worker) Tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range slices.Clone(w.plugins) { // one that has waited for that ends in its tick
		if p.tickMillis > 0 && p.context != nil {
			w.vm.callback(p.context, "proxy_on_tick", uint64(p.context.id))
		}
	}
}

// Calls returns the HTTP calls that wait for an answer, oldest first.
func (w *Worker) Calls() []*HTTPCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// HostCalls is how often the module has called each of the host's functions since the VM's start.
func (w *Worker) HostCalls() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.vm.hostCalls)
}

// Global returns a global that the module exports, 0 if there is none.
func (w *Worker) Global(name string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	global := w.vm.module.ExportedGlobal(name)
	if global == nil {
		return 0
	}
	return global.Get()
}

// MemoryBytes is the size of the VM's memory, which never shrinks.
func (w *Worker) MemoryBytes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(w.vm.module.Memory().Size())
}

// TouchedBytes is the size of the pages of 4 KiB of the VM's memory that are not all zeros, about what a host has to
// provide for it.
func (w *Worker) TouchedBytes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	const page = 4096
	var zeros [page]byte
	memory, _ := w.vm.module.Memory().Read(0, w.vm.module.Memory().Size())
	touched := 0
	for at := 0; at < len(memory); at += page {
		if string(memory[at:at+page]) != string(zeros[:]) {
			touched += page
		}
	}
	return touched
}

func (w *Worker) forget(c *HTTPCall) {
	w.calls = slices.DeleteFunc(w.calls, func(other *HTTPCall) bool { return other == c })
}

// PluginConfig is what Envoy's PluginConfig says about one plug-in, and the listener that carries it.
type PluginConfig struct {
	Name          string
	RootID        string
	Configuration string
	// Listener is the address that its requests arrive at, "ip:port" or a socket's path; "" means 127.0.0.1:10000.
	Listener string
}

// Plugin is a root context: one configuration of the module on one worker, and the listener that carries it.
type Plugin struct {
	worker  *Worker
	config  PluginConfig
	context *guestContext // nil once deleted

	tickMillis  uint32
	configuring bool // its configuration can be read now
	stopping    bool // OnPluginDone answered false; waits for PluginDone
	answering   *callAnswer
}

// Start makes a root context: OnVMStart (which Envoy calls once per root context) and OnPluginStart. The error holds
// what the plug-in logged at error level or above.
func (w *Worker) Start(config PluginConfig) (*Plugin, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if config.Listener == "" {
		config.Listener = "127.0.0.1:10000"
	}
	if w.host.opts.Canary {
		if err := w.canary(config); err != nil {
			return nil, fmt.Errorf("canary: %w", err)
		}
	}
	p := &Plugin{worker: w, config: config}
	if err := p.start(w.vm); err != nil {
		return nil, err
	}
	w.plugins = append(w.plugins, p)
	return p, nil
}

func (w *Worker) canary(config PluginConfig) error {
	v, err := newVM(w)
	if err != nil {
		return err
	}
	defer func() { _ = v.module.Close(v.ctx) }()
	return (&Plugin{worker: w, config: config}).start(v)
}

func (p *Plugin) start(v *vm) error {
	h := p.worker.host
	h.mu.Lock()
	logged := len(h.logs)
	h.mu.Unlock()
	p.tickMillis, p.stopping, p.answering = 0, false, nil
	p.context = v.newContext(p, nil)
	id := uint64(p.context.id)
	p.configuring = true
	v.callback(p.context, "proxy_on_context_create", id, 0)
	p.configuring = false
	vmStart, _ := v.callback(p.context, "proxy_on_vm_start", id, uint64(len(h.opts.VMConfiguration)))
	if vmStart == 0 {
		return p.startError(v, "OnVMStart", logged)
	}
	p.configuring = true
	pluginStart, _ := v.callback(p.context, "proxy_on_configure", id, uint64(len(p.config.Configuration)))
	p.configuring = false
	if pluginStart == 0 {
		return p.startError(v, "OnPluginStart", logged)
	}
	return nil
}

func (p *Plugin) startError(v *vm, phase string, logged int) error {
	if v.failed != nil {
		return v.failed
	}
	h := p.worker.host
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []string
	for _, line := range h.logs[logged:] {
		if line.Worker == p.worker.index && line.Level >= Error {
			lines = append(lines, line.Text)
		}
	}
	return fmt.Errorf("%s failed: %s", phase, strings.Join(lines, "; "))
}

// Stop ends the plug-in as a change of configuration does: OnPluginDone and, unless that answers false, the deletion of
// its context. The deletion then waits for PluginDone.
func (p *Plugin) Stop() {
	p.worker.mu.Lock()
	defer p.worker.mu.Unlock()
	v := p.worker.vm
	if p.context == nil || v.failed != nil {
		return
	}
	if v.module.ExportedFunction("proxy_on_done") != nil {
		done, _ := v.callback(p.context, "proxy_on_done", uint64(p.context.id))
		if done == 0 && v.failed == nil {
			p.stopping = true
			return
		}
	}
	p.delete()
}

// Stopped tells whether the context has been deleted.
func (p *Plugin) Stopped() bool {
	p.worker.mu.Lock()
	defer p.worker.mu.Unlock()
	return p.context == nil
}

func (p *Plugin) delete() {
	v := p.worker.vm
	id := p.context.id
	v.callback(p.context, "proxy_on_delete", uint64(id))
	delete(v.contexts, id)
	p.context = nil
	p.worker.plugins = slices.DeleteFunc(p.worker.plugins, func(other *Plugin) bool { return other == p })
}

// TickMillis is the period of the plug-in's timer, 0 when it has none. In Envoy the timer outlives the plug-in, though
// the module is no longer called.
func (p *Plugin) TickMillis() int {
	p.worker.mu.Lock()
	defer p.worker.mu.Unlock()
	return int(p.tickMillis)
}
