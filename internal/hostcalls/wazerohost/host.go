package wazerohost

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
)

// Options say how the modelled Envoy is configured. The zero value is a listener with the Wasm filter and the router
// and nothing else.
type Options struct {
	// AllowOnHeadersStopIteration is the PluginConfig field of that name. Without it a Pause in the header phase stops
	// everything: no body or trailer callback follows until the plug-in resumes the stream.
	AllowOnHeadersStopIteration bool
	// BufferFilter puts the stock buffer filter behind the plug-in: headers leave only with the whole body.
	BufferFilter bool
	// MaxRequestBytes is the buffer filter's max_request_bytes, 0 for BufferLimit.
	MaxRequestBytes int
	// BufferLimit is how many bytes of a body filters may hold, per_connection_buffer_limit_bytes; 0 means 1 MiB.
	BufferLimit int
	// HeaderMutations are a stock header_mutation filter between the plug-in (or the buffer filter) and the router.
	HeaderMutations []HeaderMutation
	// Interpreted has the module's code interpreted and not compiled, for modules that are large and run little.
	Interpreted bool

	// VMID names the shared-data name space.
	VMID string
	// VMConfiguration is what OnVMStart reads.
	VMConfiguration []byte
	// Env is the VM's environment.
	Env map[string]string
	// Clusters are those that an HTTP call may name; nil allows every name.
	Clusters []string
	// FilterStateKeys are further keys that set_envoy_filter_state accepts, besides OriginalDst. Their values are not
	// validated.
	FilterStateKeys []string
	// Properties answer proxy_get_property for every context; the key is the path joined by dots ("node.id"). Values
	// are the bytes that the plug-in reads; see Int64. Request options and Stream.SetProperty come before them.
	Properties map[string][]byte
	// Canary starts every plug-in once more in a VM of its own that is then thrown away, as Envoy's main thread does.
	Canary bool

	// Now is the clock of the VMs; nil means time.Now. See Clock.
	Now func() time.Time
	// Seed makes random_get repeatable; 0 means it is not.
	Seed uint64
	// Log sees every log line as it is written, from whichever goroutine drives the VM.
	Log func(LogLine)
	// Fail is told of every use of the host that Envoy would punish without a status code, or that is not modelled;
	// usually t.Error or t.Fatal. After a host call that was at fault the VM concerned is dead; what shows only when
	// the callback has returned, such as a resume of what is not paused, leaves it alive. nil panics.
	Fail func(message string)
}

// HeaderMutation is one mutation of a header_mutation filter: Header is overwritten with
// %FILTER_STATE(FilterState:PLAIN)%. Nothing happens when that filter state is not set, so a header that the client
// sent passes unless Remove is set too.
type HeaderMutation struct {
	Header      string
	FilterState string
	// Remove removes the header first.
	Remove bool
}

// Level is a proxy-wasm log level.
type Level uint32

// Log levels.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
	Critical
)

func (l Level) String() string {
	names := [...]string{"trace", "debug", "info", "warn", "error", "critical"}
	if int(l) >= len(names) {
		return fmt.Sprintf("level %d", uint32(l))
	}
	return names[l]
}

// LogLine is one line that a VM logged, or wrote to its standard output (info) or error (error).
type LogLine struct {
	Worker int
	Level  Level
	Text   string
}

// compiled is shared by all hosts of a test binary: a module is compiled once.
var compiled = wazero.NewCompilationCache()

// maxMemoryPages is the memory limit of a VM, 1 GiB (proxy-wasm-cpp-host, include/proxy-wasm/limits.h).
const maxMemoryPages = 1 << 14

// Host is one Envoy process: what its workers share. Its methods may be called from several goroutines.
type Host struct {
	opts    Options
	ctx     context.Context
	runtime wazero.Runtime
	module  wazero.CompiledModule
	shared  sharedData
	metrics metrics
	started time.Time

	mu      sync.Mutex
	logs    []LogLine
	workers int
	vms     int
}

// New compiles a proxy-wasm module and checks what Envoy checks when it loads one: the ABI version, the imports, the
// exports and their signatures, and that it is a reactor (exports _initialize). The error names what is wrong.
func New(ctx context.Context, wasm []byte, opts Options) (*Host, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.BufferLimit == 0 {
		opts.BufferLimit = 1 << 20
	}
	if opts.MaxRequestBytes == 0 {
		opts.MaxRequestBytes = opts.BufferLimit
	}
	config := wazero.NewRuntimeConfig()
	if opts.Interpreted {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.WithCompilationCache(compiled).WithMemoryLimitPages(maxMemoryPages)
	h := &Host{opts: opts, ctx: ctx, runtime: wazero.NewRuntimeWithConfig(ctx, config), started: opts.Now()}
	module, err := h.runtime.CompileModule(ctx, wasm)
	if err != nil {
		return nil, fmt.Errorf("compile the module: %w", err)
	}
	h.module = module
	if err := checkExports(module); err != nil {
		_ = h.Close()
		return nil, err
	}
	if err := h.instantiateImports(ctx); err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

// Close ends every VM without telling the plug-ins.
func (h *Host) Close() error { return h.runtime.Close(h.ctx) }

// Logs returns the lines of every worker at or above a level, oldest first.
func (h *Host) Logs(least Level) []LogLine {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []LogLine
	for _, line := range h.logs {
		if line.Level >= least {
			lines = append(lines, line)
		}
	}
	return lines
}

// SharedData reads shared data as a plug-in with this host's VMID would.
func (h *Host) SharedData(key string) (value []byte, cas uint32, ok bool) {
	data, ok := h.shared.get(h.opts.VMID, key)
	return data.value, data.cas, ok
}

// SetSharedData writes shared data as another plug-in with this host's VMID could.
func (h *Host) SetSharedData(key string, value []byte) { h.shared.set(h.opts.VMID, key, value, 0) }

// SharedDataKeys lists the keys of this host's VMID in no order; plug-ins cannot.
func (h *Host) SharedDataKeys() []string { return h.shared.keys(h.opts.VMID) }

func (h *Host) log(line LogLine) {
	h.mu.Lock()
	h.logs = append(h.logs, line)
	h.mu.Unlock()
	if h.opts.Log != nil {
		h.opts.Log(line)
	}
}

func (h *Host) fail(message string) {
	if h.opts.Fail == nil {
		panic("wazerohost: " + message)
	}
	h.opts.Fail(message)
}
