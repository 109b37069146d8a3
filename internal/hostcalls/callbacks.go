//go:build tinygo

package hostcalls

import _ "unsafe" // for go:linkname

// collect is the collector of build/tinygo, which is to run when nothing else of the module does: so at the beginning
// of callbacks that no other one can be waiting for.
//
//go:linkname collect runtime.collectBetweenCalls
func collect(always bool)

// The functions that the host calls, of proxy-wasm's ABI 0.2.1. What it asks only of modules that have it is left out
// where there is nothing to say, as each is a way into the VM and back: proxy_on_done, without which a context is done
// at once.

//export proxy_abi_version_0_2_0
func abiVersion() {}

//export proxy_on_vm_start
func onVMStart(_, _ uint32) uint32 { return 1 }

//export proxy_on_configure
func onConfigure(plugin, _ uint32) uint32 {
	// What former plug-ins have left is to be taken first: new memory a Wasm VM never gives back.
	collect(true)
	if vm.enterPlugin(plugin).configure() {
		return 1
	}
	return 0
}

//export proxy_on_tick
func onTick(plugin uint32) {
	collect(false)
	vm.enterPlugin(plugin).Tick()
}

//export proxy_on_context_create
func onContextCreate(id, plugin uint32) { vm.create(id, plugin) }

//export proxy_on_request_headers
func onRequestHeaders(id, count, end uint32) uint32 {
	return uint32(vm.enter(id).OnHttpRequestHeaders(int(count), end != 0))
}

//export proxy_on_request_body
func onRequestBody(id, size, end uint32) uint32 {
	return uint32(vm.enter(id).OnHttpRequestBody(int(size), end != 0))
}

//export proxy_on_request_trailers
func onRequestTrailers(id, count uint32) uint32 {
	return uint32(vm.enter(id).OnHttpRequestTrailers(int(count)))
}

//export proxy_on_response_headers
func onResponseHeaders(id, count, end uint32) uint32 {
	return uint32(vm.enter(id).OnHttpResponseHeaders(int(count), end != 0))
}

//export proxy_on_response_body
func onResponseBody(id, size, end uint32) uint32 {
	return uint32(vm.enter(id).OnHttpResponseBody(int(size), end != 0))
}

//export proxy_on_response_trailers
func onResponseTrailers(id, count uint32) uint32 {
	return uint32(vm.enter(id).OnHttpResponseTrailers(int(count)))
}

//export proxy_on_http_call_response
func onHTTPCallResponse(plugin, token, headers, size, _ uint32) {
	vm.enterPlugin(plugin).answered(token, int(headers), int(size))
}

//export proxy_on_log
func onLog(id uint32) {
	if s, ok := vm.find(id); ok {
		vm.active = s.plugin
		s.stream.OnHttpStreamDone()
	}
}

//export proxy_on_delete
func onDelete(id uint32) { vm.remove(id) }
