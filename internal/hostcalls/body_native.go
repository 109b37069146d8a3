//go:build !tinygo

package hostcalls

import "errors"

// Outside Wasm there is no host that holds a body.
func setRequestBody(int, []byte) error { return errors.ErrUnsupported }

func bufferBytes(*Buffer, uint32, int, int) ([]byte, error) { return nil, errors.ErrUnsupported }
