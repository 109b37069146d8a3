package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestFollowed: what a sidecar says of the journal is summed up, and what it does not say is no zero.
func TestFollowed(t *testing.T) {
	counter := func(name, samples string) string {
		return "# TYPE " + name + " counter\n" + strings.ReplaceAll(samples, "{", name+"{")
	}
	events := counter("pintle_sidecar_journal_events_total", "{target=\"a\"} 7\n{target=\"b\"} 1\n")
	missed := counter("pintle_sidecar_journal_missed_events_total", "{target=\"a\"} 2\n")
	requests := counter("pintle_requests_total", "{code=\"200\"} 5\n")
	status, page := http.StatusOK, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, page)
	}))
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	for _, test := range []struct {
		name   string
		status int
		page   string
		want   string
	}{
		{"all", http.StatusOK, events + missed + requests, ""},
		{"nothing missed is told", http.StatusOK, events + requests, "no pintle_sidecar_journal_missed_events_total"},
		{"an error", http.StatusServiceUnavailable, events + missed + requests, "503 Service Unavailable"},
	} {
		status, page = test.status, test.page
		got, err := readFollowed(port)
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) ||
			test.want == "" && (err != nil || got != followed{events: 8, missed: 2, requests: 5}) {
			t.Errorf("%s: got %+v, %v, want 8, 2 and 5, or an error with %q", test.name, got, err, test.want)
		}
	}
}
