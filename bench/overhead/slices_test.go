package main

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// TestLoadOfAConnection: requests that began before a measurement are sent and do not count, and a refusal ends it.
func TestLoadOfAConnection(t *testing.T) {
	status := http.StatusOK
	answer := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := connection{Conn: conn, Reader: bufio.NewReader(conn)}
	var requests [variety][]byte
	for i := range requests {
		requests[i] = []byte("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
	}
	for _, test := range []struct {
		name    string
		from    time.Duration // from now
		status  int
		counted int
		sent    int64
		want    string
	}{
		{"settling", time.Hour, http.StatusOK, 0, 1, ""},
		{"measured", -time.Hour, http.StatusOK, 1, 2, ""},
		{"refused", -time.Hour, http.StatusTooManyRequests, 0, 2, "got 429 Too Many Requests"},
	} {
		status = test.status
		err := c.load(t.Context(), &requests, 0, time.Now().Add(test.from), time.Now().Add(-time.Second)) // one request
		if len(c.took) != test.counted || c.sent != test.sent {
			t.Errorf("%s: %d requests count of %d, want %d of %d", test.name, len(c.took), c.sent, test.counted,
				test.sent)
		}
		if test.want == "" && err != nil ||
			test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestWhoHangs: a request that nobody answers ends the measurement, which would wait for it for good.
func TestWhoHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(30*time.Second, func() { _ = conn.Close() }).Stop()
	c := connection{Conn: conn, Reader: bufio.NewReader(conn)}
	err = c.load(t.Context(), &[variety][]byte{}, 0, time.Now(), time.Now().Add(-answerLimit))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
}
