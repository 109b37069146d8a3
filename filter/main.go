// Command filter is Pintle's Wasm module: a proxy-wasm plug-in that reads LLM request bodies inside Envoy and names the
// model server for each. It wires the host's callbacks to the packages that decide; one file for each phase.
//
// It is built by TinyGo with -buildmode=c-shared: contexts are registered in init, main stays empty.
package main

import (
	"cmp"

	"github.com/pintle-dev/pintle/internal/hostcalls"
)

// linkedVersion is set by the linker, see the Makefile, which with TinyGo takes a variable without a value.
var linkedVersion string

// version is which release of the module this is.
func version() string { return cmp.Or(linkedVersion, "unknown") }

func init() {
	hostcalls.Register(func() hostcalls.Plugin { return &plugin{worker: theWorker()} })
}

func main() {}
