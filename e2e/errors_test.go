package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// envelope is OpenAI's error object.
type envelope struct {
	Error *struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	} `json:"error"`
}

// wantError checks that Pintle refused a request in OpenAI's form.
func wantError(t testing.TB, got harness.Answer, status int, reason string) {
	t.Helper()
	var e envelope
	err := json.Unmarshal([]byte(got.Body), &e)
	switch {
	case got.Status != status || got.Header.Get("X-Pintle-Reason") != reason:
		t.Errorf("got %d %q from %q, want %d %q; %s", got.Status, got.Header.Get("X-Pintle-Reason"), got.Server(),
			status, reason, got.Body)
	case err != nil || e.Error == nil || e.Error.Message == "" || e.Error.Type == "" || e.Error.Code != reason:
		t.Errorf("got %s (%v), want an error object with message, type and code %s", got.Body, err, reason)
	case got.Header.Get("Content-Type") != "application/json":
		t.Errorf("content-type is %q, want application/json", got.Header.Get("Content-Type"))
	}
}

// TestInvalidRequests: what cannot be read or names no model is refused, and no server hears of it.
func TestInvalidRequests(t *testing.T) {
	tests := []struct{ name, body, reason string }{
		{"cut off", `{"model":"sim-model","messages":[`, "invalid_body"},
		{"no JSON", `model=sim-model`, "invalid_body"},
		{"no object", `["sim-model"]`, "invalid_body"},
		{"two objects", `{"model":"a"}{"model":"b"}`, "invalid_body"},
		{"model is a number", `{"model":7}`, "model_missing"},
		{"bad UTF-8", "{\"model\":\"\xff\"}", "invalid_body"},
		{"no model", `{"messages":[]}`, "model_missing"},
		{"empty model", `{"model":"","messages":[]}`, "model_missing"},
		{"null model", `{"model":null,"messages":[]}`, "model_missing"},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for _, test := range tests {
			for _, http2 := range []bool{false, true} {
				for _, chunked := range []bool{false, true} {
					request := harness.Request(t, http.MethodPost, f.URL("requests", chatPath), test.body, chunked)
					got := harness.Send(t, harness.Client(t, http2), request)
					t.Run(fmt.Sprintf("%s http2=%v chunked=%v", test.name, http2, chunked), func(t *testing.T) {
						wantError(t, got, http.StatusBadRequest, test.reason)
					})
				}
			}
		}
		if got := f.received(""); len(got) != 0 {
			t.Errorf("servers received %d requests, want none", len(got))
		}
	})
}

// TestNoEndpoints: without any endpoint every request is answered 503, and served again once there are some.
func TestNoEndpoints(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t)
		for _, http2 := range []bool{false, true} {
			client := harness.Client(t, http2)
			wantError(t, f.chat(t, "requests", http2), http.StatusServiceUnavailable, "no_endpoints")
			request := harness.Request(t, http.MethodGet, f.URL("requests", "/v1/models"), "", false)
			wantError(t, harness.Send(t, client, request), http.StatusServiceUnavailable, "no_endpoints")
		}
		f.prefer(t, "sim-2")
		wantServer(t, f.chat(t, "requests", false), "sim-2")
	})
}

// TestFilteredOut: when the filters leave no endpoint, a request is answered 503.
func TestFilteredOut(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		wantError(t, f.chat(t, "nobody", false), http.StatusServiceUnavailable, "filtered_out")
		wantError(t, f.chat(t, "nobody", true), http.StatusServiceUnavailable, "filtered_out")
	})
}
