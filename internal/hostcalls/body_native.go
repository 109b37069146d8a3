//go:build !tinygo

package hostcalls

import "errors"

// Outside Wasm there is no host that holds a body.
func setRequestBody(int, []byte) error { return errors.ErrUnsupported }
