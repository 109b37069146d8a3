//go:build !tinygo

package hostcalls

// Outside Wasm there is no host that allocates.
func lend(*Buffer) {}
func reclaim()     {}
