//go:build !tinygo

package hostcalls

// Outside Wasm there is no host that holds headers.
func requestHeaderPairs(*Buffer) (pairs []byte, ok bool) { return nil, false }
