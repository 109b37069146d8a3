package main

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/internal/wrk"
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

// TestMeasured: a round has the requests of its own time, without those that settled the Envoy, and says why it fails.
func TestMeasured(t *testing.T) {
	var status atomic.Int64
	status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Millisecond)
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()
	st := &stack.Stack{Root: t.TempDir(), Dir: t.TempDir()}
	defer st.Close()
	envoy, err := st.Start("envoy", "/bin/sleep", "600")
	if err != nil {
		t.Fatal(err)
	}
	v := &variant{name: "plain", requestsPort: server.Listener.Addr().(*net.TCPAddr).Port, envoy: envoy}
	c, err := newClients(v, []byte(`{"content":"abc "}`))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	m, err := c.measure(t.Context(), v, 300*time.Millisecond)
	counted := 0
	for i := range c.connections {
		counted += len(c.connections[i].took)
	}
	if err != nil || m.Requests != int64(counted) || m.P50 > m.P99 || m.Micros < 300_000 {
		t.Errorf("got %+v, %v, want %d requests in 0.3 s of %d that were sent", m, err, counted, c.sent())
	}
	status.Store(http.StatusServiceUnavailable)
	if _, err := c.measure(t.Context(), v, time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "plain: got 503") {
		t.Errorf("refused: got %v, want the status", err)
	}
	s := sequel{variant: v, conn: c.connections[0].Conn, reader: c.connections[0].Reader}
	if _, err := s.send(c.requests[0]); err == nil || !strings.Contains(err.Error(), "plain: got 503") {
		t.Errorf("refused, one after the other: got %v, want the status", err)
	}
}

// TestStreams: what an event costs is what answers of many take more than those of one.
func TestStreams(t *testing.T) {
	round := func(cpu time.Duration) *measurement {
		return &measurement{Result: wrk.Result{Requests: 1000, Micros: 1e6}, cpu: cpu}
	}
	one := results{{round(time.Second)}, {round(2 * time.Second)}}
	many := results{{round(1990 * time.Millisecond)}, {round(3980 * time.Millisecond)}}
	var out strings.Builder
	writeStreams(&out, options{rounds: 1}, variants("m", nil)[:2], one, many)
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{"plain 1000 1990 10.00 (10.0-10.0)", "pause 2000 3980 20.00 (20.0-20.0) +10.00 us"} {
		if got := strings.Join(strings.Fields(rows[len(rows)-2+i]), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
