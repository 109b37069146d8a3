//go:build !shifted

package replicate

import "time"

// now is the time by this machine's clock, by which events are told.
func now() time.Time { return time.Now() }
