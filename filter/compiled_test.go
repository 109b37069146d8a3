//go:build !collecting

package main_test

// modulePath is the module as `make build` leaves it.
const modulePath = "../bin/pintle.wasm"
