//go:build tinygo

package main

// The version of the interface between Envoy and the module, which its name says.
//
//go:wasmexport proxy_abi_version_0_2_0
func version() {}

//go:wasmexport proxy_on_context_create
func contextCreate(_, _ uint32) {}

//go:wasmexport proxy_on_vm_start
func vmStart(_, _ uint32) uint32 { return 1 }

//go:wasmexport proxy_on_configure
func configure(_, _ uint32) uint32 { return 1 }

//go:wasmexport proxy_on_request_headers
func requestHeaders(_, _, _ uint32) uint32 { return 0 }

//go:wasmexport proxy_on_request_body
func requestBody(_, _, _ uint32) uint32 { return 0 }

//go:wasmexport proxy_on_response_headers
func responseHeaders(_, _, _ uint32) uint32 { return 0 }

//go:wasmexport proxy_on_response_body
func responseBody(_, _, _ uint32) uint32 { return 0 }

//go:wasmexport proxy_on_done
func done(_ uint32) uint32 { return 1 }

//go:wasmexport proxy_on_log
func log(_ uint32) {}

//go:wasmexport proxy_on_delete
func remove(_ uint32) {}
