package follow

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestFailuresAreLoggedByKind: one line when following begins to fail, one when the Envoy begins to refuse it, and one
// when it works again, however often it fails.
func TestFailuresAreLoggedByKind(t *testing.T) {
	away, refuses := errors.New("connection refused"), fmt.Errorf("answered 404: %w", errRefused)
	var log bytes.Buffer
	f := &Follower{Log: slog.New(slog.NewTextHandler(&log, nil))}
	for i, step := range []struct {
		err  error
		says string
	}{
		{nil, ""}, {away, "WARN"}, {away, ""}, {refuses, "WARN"}, {refuses, ""}, {away, ""}, {refuses, ""},
		{nil, "INFO"}, {nil, ""}, {refuses, "WARN"}, {away, ""}, {nil, "INFO"}, {away, "WARN"}, {refuses, "WARN"},
	} {
		log.Reset()
		f.note(step.err)
		if lines := strings.Count(log.String(), "\n"); lines != min(len(step.says), 1) ||
			!strings.Contains(log.String(), step.says) {
			t.Errorf("step %d, %v: got %q, want a line %q", i, step.err, log.String(), step.says)
		}
	}
}
