package zmtp

import (
	"bytes"
	"io"
	"net"
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

// TestRestHasItsTime: a message that is not there as a whole has a time to come, which ends with it, as does that of a
// message that is waited for.
func TestRestHasItsTime(t *testing.T) {
	for _, tc := range []struct {
		name, sends string
		timed       bool
	}{
		{"whole", "\x00\x01a", false},
		{"whole and empty", "\x00\x00", false},
		{"of two frames", "\x01\x01a\x00\x01b", true},
		{"of a long frame", "\x02\x00\x00\x00\x00\x00\x00\x00\x01a", true},
		{"behind a command", "\x04\x05\x04NONE\x00\x01a", true},
		{"one frame of two", "\x01\x01a", true},
		{"half a frame", "\x00\x02a", true},
		{"half a head", "\x00", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn := &noted{reading: reading{in: strings.NewReader(tc.sends)}}
			c := &Conn{conn: conn, in: newReader(conn), limits: Limits{Whole: time.Hour}.withDefaults()}
			began := time.Now()
			_, _ = c.Recv()
			var last time.Time
			timed := false
			for _, last = range conn.deadlines {
				timed = timed || !last.Before(began.Add(time.Hour))
			}
			if timed != tc.timed || !last.IsZero() {
				t.Errorf("got the deadlines %v, want one in an hour %v, and none in the end", conn.deadlines, tc.timed)
			}
			conn.deadlines = nil
			_, _ = c.Await(time.Hour)
			if n := len(conn.deadlines); n != 2 || !conn.deadlines[1].IsZero() {
				t.Errorf("a wait: got the deadlines %v, want one and none in the end", conn.deadlines)
			}
		})
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

// TestLargest: a message may have as many bytes and frames as the limits say.
func TestLargest(t *testing.T) {
	var b bytes.Buffer
	frame := func(flags byte, size int) {
		b.Write(appendHead(nil, flags, size))
		b.Write(make([]byte, size))
	}
	frame(flagMore, 200)
	frame(flagMore, 0)
	frame(0, 300)
	frame(0, 500)
	in := &reading{in: &b}
	c := &Conn{conn: in, in: newReader(in), limits: Limits{Message: 500, Frames: 3}.withDefaults()}
	for _, want := range []int{3, 1} {
		if frames, err := c.Recv(); err != nil || len(frames) != want {
			t.Errorf("got %d frames, %v, want %d", len(frames), err, want)
		}
	}
	if _, err := c.Recv(); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}
}

var _ net.Conn = (*noted)(nil)
