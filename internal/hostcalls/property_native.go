//go:build !tinygo

package hostcalls

import "errors"

// Outside Wasm there is no host that has properties.
func setProperty(string, []byte) error { return errors.ErrUnsupported }

func property(*Buffer, string) (value []byte, ok bool) { return nil, false }
