//go:build collecting

package main_test

// modulePath is a module that collects garbage at every allocation, so that what is freed too early shows each time.
const modulePath = "../bin/pintle-collecting.wasm"
