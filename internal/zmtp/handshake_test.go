package zmtp

import (
	"strings"
	"testing"
	"time"
)

// noted is a connection that has been sent all that it will be, and notes what is done with it.
type noted struct {
	reading
	deadlines []time.Time
	closed    int
}

func (n *noted) SetDeadline(t time.Time) error {
	n.deadlines = append(n.deadlines, t)
	return nil
}

func (n *noted) SetReadDeadline(t time.Time) error { return n.SetDeadline(t) }

func (n *noted) Close() error {
	n.closed++
	return nil
}

// hello is a greeting of ZMTP 3.0 with a change, and readied that with a READY behind it.
func hello(change func(g []byte)) string {
	g := make([]byte, greetingBytes)
	g[0], g[9], g[10] = 0xff, 0x7f, 3
	copy(g[12:], "NULL")
	change(g)
	return string(g)
}

const ready = "\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB\x08Identity\x00\x00\x00\x00"

func readied(change func(g []byte)) string {
	return hello(change) + "\x04" + string([]byte{byte(len(ready))}) + ready
}

// TestHandshakeTime: a handshake has its time, of which nothing is left once it is over, and one that fails keeps no
// connection.
func TestHandshakeTime(t *testing.T) {
	for _, tc := range []struct {
		name, sends string
		fails       bool
	}{
		{"whole", readied(func([]byte) {}), false},
		{"of a later version", readied(func(g []byte) { g[10], g[11] = 3, 1 }), false},
		{"of a version to come", readied(func(g []byte) { g[10] = 4 }), false},
		{"of an older version", readied(func(g []byte) { g[10] = 2 }), true},
		{"of something else at its beginning", readied(func(g []byte) { g[0] = 'H' }), true},
		{"of something else behind that", readied(func(g []byte) { g[9] = 0x7e }), true},
		{"of a mechanism that begins alike", readied(func(g []byte) { copy(g[12:], "NULLS") }), true},
		{"cut off", hello(func([]byte) {})[:40], true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn := &noted{reading: reading{in: strings.NewReader(tc.sends)}}
			began := time.Now()
			c, err := Open(conn, "SUB", Limits{Handshake: time.Hour})
			if (err != nil) != tc.fails || conn.closed == 1 != tc.fails {
				t.Errorf("got %v, closed %d times, want a failure, and closed: %v", err, conn.closed, tc.fails)
			}
			if len(conn.deadlines) == 0 || conn.deadlines[0].Before(began.Add(time.Hour)) {
				t.Fatalf("got the deadlines %v, want one in an hour first", conn.deadlines)
			}
			if last := conn.deadlines[len(conn.deadlines)-1]; err == nil && (!last.IsZero() || c.Peer() != "PUB") {
				t.Errorf("got the last deadline %v and the peer %q, want none and PUB", last, c.Peer())
			}
		})
	}
}

// TestReadyCutShort: a READY that ends anywhere is one or is not, and nothing is read behind it.
func TestReadyCutShort(t *testing.T) {
	whole := map[int]bool{6: true, 25: true, len(ready): true} // behind the name and each property
	for n := range len(ready) + 1 {
		if err := new(Conn).ready([]byte(ready)[:n:n]); (err == nil) != whole[n] {
			t.Errorf("%d bytes of it: got %v, want it whole: %v", n, err, whole[n])
		}
	}
}

func TestCommandNames(t *testing.T) {
	for body, want := range map[string][2]string{
		"": {}, "\x00": {}, "\x01": {}, "\x04PIN": {}, "\xffPING": {}, "\x04PING": {"PING", ""},
		"\x04PING\x00\x01": {"PING", "\x00\x01"}, "\x00rest": {"", "rest"},
	} {
		name, rest := commandName([]byte(body))
		if got := [2]string{name, string(rest)}; got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
}
