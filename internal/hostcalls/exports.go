//go:build tinygo

package hostcalls

// What the host calls. It calls proxy_on_done, too, where it is there, but nothing here has a reason to put off an end.

//export proxy_abi_version_0_2_0
func abiVersion() {}

//export proxy_on_vm_start
func onVMStart(uint32, int) uint32 { return 1 }

//export proxy_on_configure
func onConfigure(plugin uint32, size int) uint32 {
	var memory Buffer
	var configuration []byte
	if size > 0 {
		var err error
		if configuration, err = bufferBytes(&memory, pluginConfiguration, 0, size); err != nil {
			LogError("pintle: cannot read the plug-in configuration: " + err.Error())
			return 0
		}
	}
	if theContexts.plugins[plugin].Start(configuration) != nil {
		return 0
	}
	return 1
}

//export proxy_on_tick
func onTick(plugin uint32) { theContexts.plugins[plugin].Tick() }

//export proxy_on_context_create
func onContextCreate(id, plugin uint32) { theContexts.create(id, plugin) }

//export proxy_on_request_headers
func onRequestHeaders(id uint32, n int, end bool) Action {
	return theContexts.streams[id].OnHttpRequestHeaders(n, end)
}

//export proxy_on_request_body
func onRequestBody(id uint32, size int, end bool) Action {
	return theContexts.streams[id].OnHttpRequestBody(size, end)
}

//export proxy_on_request_trailers
func onRequestTrailers(id uint32, n int) Action {
	return theContexts.streams[id].OnHttpRequestTrailers(n)
}

//export proxy_on_response_headers
func onResponseHeaders(id uint32, n int, end bool) Action {
	return theContexts.streams[id].OnHttpResponseHeaders(n, end)
}

//export proxy_on_response_body
func onResponseBody(id uint32, size int, end bool) Action {
	return theContexts.streams[id].OnHttpResponseBody(size, end)
}

//export proxy_on_response_trailers
func onResponseTrailers(id uint32, n int) Action {
	return theContexts.streams[id].OnHttpResponseTrailers(n)
}

//export proxy_on_http_call_response
func onHTTPCallResponse(_, call uint32, headers, size, _ int) {
	theContexts.answered(call, headers, size)
}

//export proxy_on_log
func onLog(id uint32) { theContexts.ended(id) }

//export proxy_on_delete
func onDelete(id uint32) { theContexts.drop(id) }
