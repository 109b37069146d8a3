package pace

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	tests := []struct {
		failures int
		want     time.Duration
	}{{1, 50}, {2, 100}, {3, 200}, {6, 1600}, {7, 2000}, {1000, 2000}}
	for _, test := range tests {
		if got := Backoff(50*time.Millisecond, test.failures, 2*time.Second); got != test.want*time.Millisecond {
			t.Errorf("%d failures: got %v, want %v", test.failures, got, test.want*time.Millisecond)
		}
	}
}
