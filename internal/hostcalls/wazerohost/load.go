package wazerohost

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// guestExports are the callbacks that the host calls and their signatures: 'i' is an i32, and the part after '>' the
// result.
var guestExports = map[string]string{
	"_initialize": "", "main": "ii>i", "malloc": "i>i", "proxy_on_memory_allocate": "i>i",
	"proxy_on_vm_start": "ii>i", "proxy_on_configure": "ii>i", "proxy_on_tick": "i", "proxy_on_context_create": "ii",
	"proxy_on_request_headers": "iii>i", "proxy_on_request_body": "iii>i", "proxy_on_request_trailers": "ii>i",
	"proxy_on_response_headers": "iii>i", "proxy_on_response_body": "iii>i", "proxy_on_response_trailers": "ii>i",
	"proxy_on_http_call_response": "iiiii", "proxy_on_done": "i>i", "proxy_on_log": "i", "proxy_on_delete": "i",
}

func checkExports(module wazero.CompiledModule) error {
	exports := module.ExportedFunctions()
	_, v0 := exports["proxy_abi_version_0_2_0"]
	_, v1 := exports["proxy_abi_version_0_2_1"]
	if !v0 && !v1 {
		return errors.New("the module exports neither proxy_abi_version_0_2_0 nor proxy_abi_version_0_2_1")
	}
	if _, ok := exports["_initialize"]; !ok {
		if _, ok := exports["_start"]; ok {
			return errors.New("the module exports _start: at its end it calls proc_exit, which envoy answers with " +
				"restricted_callback; build with -buildmode=c-shared")
		}
	}
	_, malloc := exports["malloc"]
	_, allocate := exports["proxy_on_memory_allocate"]
	if !malloc && !allocate {
		return errors.New("the module exports neither malloc nor proxy_on_memory_allocate")
	}
	for name, want := range guestExports {
		def, ok := exports[name]
		if !ok {
			continue
		}
		if got := signature(def); got != want {
			return fmt.Errorf("bad signature of the export %s: got %q, want %q", name, got, want)
		}
	}
	return nil
}

func signature(def api.FunctionDefinition) string {
	s := ""
	for _, t := range def.ParamTypes() {
		s += letter(t)
	}
	for i, t := range def.ResultTypes() {
		if i == 0 {
			s += ">"
		}
		s += letter(t)
	}
	return s
}

func letter(t api.ValueType) string {
	switch t {
	case api.ValueTypeI32:
		return "i"
	case api.ValueTypeI64:
		return "I"
	}
	return "?"
}

// hostFunc is one function that Envoy offers to the guest. Arguments are as wasm hands them over; a function without a
// result returns 0.
type hostFunc struct {
	signature string
	run       func(v *vm, args []uint64) uint32
}

// instantiateImports offers exactly the functions that the module imports, and refuses any that the modelled Envoy does
// not have.
func (h *Host) instantiateImports(ctx context.Context) error {
	builders := map[string]wazero.HostModuleBuilder{}
	for _, def := range h.module.ImportedFunctions() {
		moduleName, name, _ := def.Import()
		f, err := lookUpImport(moduleName, name)
		if err != nil {
			return err
		}
		if got := signature(def); f.signature != "" && got != f.signature {
			return fmt.Errorf("bad signature of the import %s.%s: got %q, want %q", moduleName, name, got, f.signature)
		}
		builder, ok := builders[moduleName]
		if !ok {
			builder = h.runtime.NewHostModuleBuilder(moduleName)
			builders[moduleName] = builder
		}
		builder.NewFunctionBuilder().
			WithGoModuleFunction(bind(moduleName+"."+name, f, def.ParamTypes()), def.ParamTypes(), def.ResultTypes()).
			Export(name)
	}
	for _, builder := range builders {
		if _, err := builder.Instantiate(ctx); err != nil {
			return fmt.Errorf("offer the host's functions: %w", err)
		}
	}
	return nil
}

func lookUpImport(moduleName, name string) (hostFunc, error) {
	switch moduleName {
	case "env":
		if f, ok := proxyFuncs[name]; ok {
			return f, nil
		}
		if unsupported[name] {
			return hostFunc{run: func(v *vm, _ []uint64) uint32 {
				v.violate("the plug-in called %s, which the test host does not model", name)
				return 0
			}}, nil
		}
	case "wasi_snapshot_preview1", "wasi_unstable":
		if f, ok := wasiFuncs[name]; ok {
			return f, nil
		}
	}
	return hostFunc{}, fmt.Errorf("the module imports %s.%s, which the test host does not offer", moduleName, name)
}

// unsupported functions exist in Envoy but are not modelled: a module may import them, calling one fails the test.
var unsupported = map[string]bool{
	"proxy_register_shared_queue": true, "proxy_resolve_shared_queue": true, "proxy_dequeue_shared_queue": true,
	"proxy_enqueue_shared_queue": true, "proxy_grpc_call": true, "proxy_grpc_stream": true, "proxy_grpc_close": true,
	"proxy_grpc_cancel": true, "proxy_grpc_send": true, "proxy_get_status": true, "proxy_close_stream": true,
	"envoy_resolve_dns": true,
}

type vmKey struct{}

// bind turns a hostFunc into a wazero function: it finds the calling VM and enforces the restriction that is in force.
func bind(name string, f hostFunc, params []api.ValueType) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		v := ctx.Value(vmKey{}).(*vm)
		v.hostCalls[name]++
		if v.allowed != nil && !v.allowed[name] {
			panic(fmt.Errorf("restricted_callback: %s", name))
		}
		var args [12]uint64
		for i, t := range params {
			args[i] = stack[i]
			if t == api.ValueTypeI32 {
				args[i] = uint64(uint32(stack[i])) // the upper half is undefined
			}
		}
		result := f.run(v, args[:len(params)])
		if len(stack) > 0 {
			stack[0] = uint64(result)
		}
	}
}
