//go:build collecting

package main_test

// modulePath is a module that collects garbage whenever it may, so that what is freed wrongly shows each time.
const modulePath = "../bin/pintle-collecting.wasm"
