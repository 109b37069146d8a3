// Package e2e tests Pintle where it lives: real Envoys load the real bin/pintle.wasm, the real sidecar feeds them,
// simulated model servers answer, and real clients ask.
//
//	make build            # bin/envoy, bin/pintle.wasm
//	go test ./e2e/...                   # everything, some eight minutes
//	go test -short ./e2e/...            # without the tests that take longest, which make e2e-long has
//	PINTLE_SOAK=10m go test -timeout 0 -run TestSoakPause ./e2e  # one of them, longer: make soak
//	go test ./e2e -run 'Forged/pause'   # one test in the cells whose name matches
//
// # The matrix
//
// Nearly every test runs in four cells: the request is held by pause or by Envoy's buffer filter, and the endpoint is
// named for an ORIGINAL_DST cluster or for the override_host policy. A cell is one Envoy of two workers that starts
// with the first test that needs it and serves all others; its listeners differ in the plug-in's configuration and
// share one VM and one snapshot. Tests that need an Envoy of their own (soaks, start-up, the shipped files) start one.
//
// # Reading a failure
//
// A failed test ends with the last lines of its Envoy's log and, where there is one, the sidecar's. "timed out after D
// waiting for X" means that the condition X never held; what was seen last stands behind it. E2E_KEEP=1 keeps the
// generated configuration and names its file, so that the Envoy can be started by hand. Times are logged, and asserted
// only where slack is generous.
package e2e
