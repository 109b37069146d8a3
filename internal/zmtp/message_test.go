package zmtp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

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

// TestHeartbeats: a PING is answered by a PONG with what it has behind its time to live, of 16 bytes at most.
func TestHeartbeats(t *testing.T) {
	for _, tc := range []struct {
		context int
		fails   bool
	}{{0, false}, {1, false}, {16, false}, {17, true}} {
		context := strings.Repeat("c", tc.context)
		ping := "\x04PING\x00\x09" + context
		var written bytes.Buffer
		conn := &answered{reading: reading{in: strings.NewReader(
			"\x04" + string([]byte{byte(len(ping))}) + ping + "\x00\x01a")}, out: &written}
		c := &Conn{conn: conn, in: newReader(conn), limits: Limits{}.withDefaults()}
		frames, err := c.Recv()
		want := "\x04" + string([]byte{byte(5 + tc.context)}) + "\x04PONG" + context
		if tc.fails {
			want = ""
		}
		if (err != nil) != tc.fails || written.String() != want || err == nil && string(frames[0]) != "a" {
			t.Errorf("%d bytes of context: got %q, %v and the answer %q, want %q, and a failure: %v", tc.context,
				frames, err, written.String(), want, tc.fails)
		}
	}
}

// TestCommandWithinAMessage: libzmq sends a heartbeat between a message's frames where one is due then. It is answered,
// and the message stays whole.
func TestCommandWithinAMessage(t *testing.T) {
	const ping = "\x04\x0a\x04PING\x00\x09abc"
	for _, tc := range []struct {
		name, sends string
	}{
		{"behind the first frame", "\x01\x01a" + ping + "\x01\x02bc\x00\x01d"},
		{"two at once", "\x01\x01a\x01\x02bc" + ping + ping + "\x00\x01d"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var written bytes.Buffer
			conn := &answered{reading: reading{in: strings.NewReader(tc.sends)}, out: &written}
			c := &Conn{conn: conn, in: newReader(conn), limits: Limits{}.withDefaults()}
			frames, err := c.Recv()
			if err != nil || string(bytes.Join(frames, []byte("|"))) != "a|bc|d" {
				t.Errorf("got %q, %v, want a, bc and d", frames, err)
			}
			want := strings.Repeat("\x04\x08\x04PONGabc", strings.Count(tc.sends, ping))
			if written.String() != want {
				t.Errorf("got the answers %q, want %q", written.String(), want)
			}
		})
	}
}

// TestWhoDoesNotRead: a message that nobody takes has its time to be sent, too.
func TestWhoDoesNotRead(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	defer time.AfterFunc(30*time.Second, func() { _ = near.Close() }).Stop()
	c := &Conn{conn: near, in: newReader(near), limits: Limits{Whole: time.Millisecond}.withDefaults()}
	if err := c.Subscribe("kv@"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
}

// answered is a connection that has been sent all that it will be, and keeps what is written.
type answered struct {
	reading
	out *bytes.Buffer
}

func (a *answered) Write(b []byte) (int, error) { return a.out.Write(b) }

// TestLargeMessagesAreForgotten: what one large message took is given back with the next message.
func TestLargeMessagesAreForgotten(t *testing.T) {
	var b bytes.Buffer
	for _, size := range []int{5 * chunk, 1} {
		b.Write(appendHead(nil, 0, size))
		b.Write(make([]byte, size))
	}
	in := &reading{in: &b}
	c := &Conn{conn: in, in: newReader(in), limits: Limits{}.withDefaults()}
	for _, want := range []int{5 * chunk, 1} {
		if frames, err := c.Recv(); err != nil || len(frames[0]) != want {
			t.Fatalf("got %d frames, %v, want one of %d bytes", len(frames), err, want)
		}
	}
	if got := cap(c.buffer); got > 4*chunk {
		t.Errorf("got %d bytes kept behind a message of one, want at most %d", got, 4*chunk)
	}
}
