// The guest of the test host's own tests: a plug-in that does in each callback what its configuration says and logs
// every outcome.
//
// A configuration has lines "CALLBACK: OPERATION ARGUMENT...; OPERATION...". A callback "request_body/end" is preferred
// at the end of the stream. Each operation logs "CALLBACK OPERATION ARGUMENT...= OUTCOME".
package main

import (
	"strings"
	"unsafe"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

func main() {}
func init() { proxywasm.SetVMContext(&vm{}) }

//export malloc
func hostMalloc(size uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	if inMalloc != nil {
		inMalloc()
	}
	b := make([]byte, size)
	return unsafe.Pointer(unsafe.SliceData(b))
}

// inMalloc, when set, runs while the host allocates.
var inMalloc func()

type vm struct{ types.DefaultVMContext }

func (*vm) OnVMStart(size int) types.OnVMStartStatus {
	if size == 0 {
		return true
	}
	b, err := proxywasm.GetVMConfiguration()
	log("vm_start configuration", string(b), err)
	return true
}

func (*vm) NewPluginContext(uint32) types.PluginContext { return &plugin{} }

type plugin struct {
	types.DefaultPluginContext
	script map[string][]string
}

func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	b, err := proxywasm.GetPluginConfiguration()
	if err != nil {
		proxywasm.LogError("no configuration: " + err.Error())
		return true
	}
	p.script = map[string][]string{}
	for _, line := range strings.Split(string(b), "\n") {
		callback, operations, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok {
			p.script[callback] = strings.Split(operations, "; ")
		}
	}
	return types.OnPluginStartStatus(!p.run("plugin_start", false))
}

func (p *plugin) OnTick()                                    { p.run("tick", false) }
func (p *plugin) OnPluginDone() bool                         { return !p.run("plugin_done", false) }
func (p *plugin) NewHttpContext(id uint32) types.HttpContext { return &stream{p: p, id: id} }

type stream struct {
	types.DefaultHttpContext
	p  *plugin
	id uint32
}

func (s *stream) run(callback string, end bool) types.Action {
	current = s.id
	if s.p.run(callback, end) {
		return types.ActionPause
	}
	return types.ActionContinue
}

func (s *stream) OnHttpRequestHeaders(_ int, end bool) types.Action {
	return s.run("request_headers", end)
}
func (s *stream) OnHttpRequestBody(n int, end bool) types.Action {
	size = n
	return s.run("request_body", end)
}
func (s *stream) OnHttpRequestTrailers(int) types.Action { return s.run("request_trailers", false) }
func (s *stream) OnHttpResponseHeaders(_ int, end bool) types.Action {
	return s.run("response_headers", end)
}
func (s *stream) OnHttpResponseBody(n int, end bool) types.Action {
	size = n
	return s.run("response_body", end)
}
func (s *stream) OnHttpResponseTrailers(int) types.Action { return s.run("response_trailers", false) }
func (s *stream) OnHttpStreamDone()                       { s.run("stream_done", false) }

var (
	size    int    // of the body in the callback under way
	current uint32 // the stream of the last stream callback
)

func log(what, outcome string, err error) {
	if err != nil {
		outcome = err.Error()
	}
	proxywasm.LogInfo(what + "= " + outcome)
}

// run answers whether the script asks to pause (or to fail, where a callback has no pause).
func (p *plugin) run(callback string, end bool) bool {
	operations, ok := p.script[callback+"/end"]
	if !end || !ok {
		operations = p.script[callback]
	}
	pause := false
	for _, operation := range operations {
		arguments := strings.Split(operation, " ")
		if arguments[0] == "pause" {
			pause = true
			continue
		}
		outcome, err := p.do(arguments)
		log(callback+" "+operation, outcome, err)
	}
	return pause
}
