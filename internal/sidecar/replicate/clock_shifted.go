//go:build shifted

package replicate

import (
	"os"
	"time"
)

// shift is by how much the clock is off that events are told by, for tests.
var shift, _ = time.ParseDuration(os.Getenv("PINTLE_CLOCK_SHIFT"))

func now() time.Time { return time.Now().Add(shift) }
