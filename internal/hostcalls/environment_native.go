//go:build !tinygo

package hostcalls

import (
	"os"
	"strings"
)

func readEnvironment() []byte {
	text := strings.Join(os.Environ(), "\x00")
	return []byte(text)
}
