//go:build !tinygo

package hostcalls

import "errors"

// Outside Wasm there is no host that keeps a property.
func setProperty(string, []byte) error { return errors.ErrUnsupported }
