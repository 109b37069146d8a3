package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// documentedEnvelope is what docs/configuration.md has Envoy put its own words into.
func documentedEnvelope(t *testing.T) string {
	t.Helper()
	return documented(t, "configuration.md", "", "local_reply_config:\n", "```\n")
}

// TestEnvelope: with the local_reply_config of docs/configuration.md all errors come in OpenAI's envelope, those of
// Pintle with their reason.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	s := loadShipped(t, "envoy.yaml")
	s.text = strings.Replace(s.text, "          use_remote_address: true\n",
		documentedEnvelope(t)+"          use_remote_address: true\n", 1)
	s.start(t)
	s.publish(t, []harness.Endpoint{{Name: "dead", Address: s.dead}})
	tests := []struct {
		name, body string
		status     int
		code       any
		// message is a part of it.
		message string
	}{
		{"refused by Pintle", "{", http.StatusBadRequest, "invalid_body", "cannot be read"},
		{"too long", longChat(34 << 20), http.StatusRequestEntityTooLarge, 413.0, "Too Large"},
		{"not reached", chatBody, http.StatusServiceUnavailable, 503.0, "connection failure"},
	}
	for _, tc := range tests {
		got := harness.Send(t, harness.Client(t, false),
			harness.Request(t, http.MethodPost, "http://"+s.requests+chatPath, tc.body, false))
		var envelope struct {
			Error struct {
				Message, Type string
				Code          any
			}
		}
		err := json.Unmarshal([]byte(got.Body), &envelope)
		if e := envelope.Error; err != nil || got.Status != tc.status || e.Code != tc.code || e.Type == "" ||
			!strings.Contains(e.Message, tc.message) || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %d %s %s, want %d with the code %v and %q", tc.name, got.Status,
				got.Header.Get("Content-Type"), got.Body, tc.status, tc.code, tc.message)
		}
	}
}
