package harness

import (
	"os"
	"testing"
)

// Long leaves a test out that takes long where time is short: make e2e does without, make e2e-long has them.
func Long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make e2e-long")
	}
}

// Bars reports whether tests shall assert how long things take, which only an idle machine can promise. make bars does.
func Bars() bool { return os.Getenv("PINTLE_BARS") != "" }
