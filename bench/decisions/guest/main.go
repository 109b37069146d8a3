//go:build tinygo

// Command guest is the Wasm module in which bench/decisions times its cases, built by TinyGo as the filter is.
package main

import "github.com/pintle-dev/pintle/bench/decisions/cases"

var piece func()

//go:wasmexport prepare
func prepare(i uint32) { piece = cases.All[i].Prepare() }

//go:wasmexport run
func run(times uint32) {
	for range times {
		piece()
	}
}

func main() {}
