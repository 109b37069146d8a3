package harness

import (
	"testing"
	"time"
)

// WaitFor polls until condition holds and fails the test if it does not within limit. seen is what was there instead.
func WaitFor(t testing.TB, limit time.Duration, what string, condition func() (ok bool, seen string)) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		ok, seen := condition()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("timed out after %v waiting for %s; last seen: %s", limit, what, seen)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
