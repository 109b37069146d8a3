package zmtp

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
)

// pipe returns the two ends of a connection over TCP.
func pipe(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err == nil {
		b, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

// pair returns two connections to each other.
func pair(t *testing.T, limits Limits) (a, b *Conn) {
	t.Helper()
	left, right := pipe(t)
	opened := make(chan *Conn)
	go func() {
		c, _ := Open(right, "PUB", limits)
		opened <- c
	}()
	a, err := Open(left, "SUB", limits)
	if err != nil {
		t.Fatal(err)
	}
	b = <-opened
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

func TestMessages(t *testing.T) {
	a, b := pair(t, Limits{})
	if a.Peer() != "PUB" || b.Peer() != "SUB" {
		t.Errorf("got the peers %q and %q", a.Peer(), b.Peer())
	}
	go func() { _, _ = b.Recv() }() // the answers to PING
	large := bytes.Repeat([]byte("x"), 3*chunk+5)
	for _, message := range [][]string{{"a", "", "c"}, {string(large)}, {"", string(large[:256]), "d"}, {"e"}} {
		go func() {
			var frames [][]byte
			for _, f := range message {
				frames = append(frames, []byte(f))
			}
			_ = b.sendCommand(append([]byte("\x04PING\x00\x00"), "context"...))
			_ = b.Send(frames...)
		}()
		got, err := a.Recv()
		if err != nil || len(got) != len(message) {
			t.Fatalf("got %d frames, %v, want %d", len(got), err, len(message))
		}
		_ = append(got[0], "what a reader appends to a frame is in no other one"...)
		for i := range got {
			if string(got[i]) != message[i] {
				t.Errorf("frame %d: got %d bytes, want %d", i, len(got[i]), len(message[i]))
			}
		}
	}
}

// TestHostile: what peers must not send ends the connection with an error that says it, and takes no memory.
func TestHostile(t *testing.T) {
	huge := binary.BigEndian.AppendUint64([]byte{flagLong}, 1<<62)
	tests := []struct {
		name, sends, want string
	}{
		{"a huge frame", string(huge), "over the limit"},
		{"a frame over the limit", string(binary.BigEndian.AppendUint64([]byte{flagLong}, 2049)), "over the limit"},
		{"frames over the limit together", "\x01\xff" + strings.Repeat("x", 255) +
			string(binary.BigEndian.AppendUint64([]byte{flagLong}, 2000)), "over the limit"},
		{"frames without end", strings.Repeat("\x01\x00", 9), "too many frames"},
		{"unknown flags", "\x08\x00", "unknown flags"},
		{"a malformed PING", "\x04\x05\x04PING", "malformed PING"},
		{"an error", "\x04\x0a\x05ERROR\x03bad", `the peer says "bad"`},
		{"an error cut short", "\x04\x08\x05ERROR\x03b", `the peer says "\x03b"`},
		{"a large command", string(binary.BigEndian.AppendUint64([]byte{flagLong | flagCommand}, 2000)) +
			"\x05OTHER" + strings.Repeat("x", 1994), "a command of 2000 bytes"},
		{"commands without end", strings.Repeat("\x04\x06\x05OTHER", 10_000), "too many commands"},
		{"half a message", "\x00\x05ab", "EOF"},
		{"half a header", "\x02\x00\x00", "EOF"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a, b := pair(t, Limits{Message: 2048, Frames: 8})
			go func() {
				_, _ = io.WriteString(b.conn, tc.sends)
				_ = b.Close()
			}()
			if _, err := a.Recv(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestTime: a message that has begun must come to its end; one that has not begun is waited for.
func TestTime(t *testing.T) {
	a, b := pair(t, Limits{Whole: 50 * time.Millisecond})
	go func() {
		time.Sleep(100 * time.Millisecond) // longer than a message may take
		_ = b.Send([]byte("late"))
		_, _ = io.WriteString(b.conn, "\x00\x05ab")
	}()
	if got, err := a.Recv(); err != nil || string(got[0]) != "late" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := a.Recv(); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("got %v, want a timeout", err)
	}
}

func TestHandshakes(t *testing.T) {
	greeting := func(change func(g []byte)) string {
		g := make([]byte, greetingBytes)
		g[0], g[9], g[10] = 0xff, 0x7f, 3
		copy(g[12:], "NULL")
		change(g)
		return string(g)
	}
	fine := greeting(func([]byte) {})
	tests := []struct{ name, sends, want string }{
		{"HTTP", strings.Repeat("HTTP/1.1 400 Bad Request\r\n", 4), "does not speak ZMTP"},
		{"an old version", greeting(func(g []byte) { g[10] = 1 }), "too old"},
		{"a mechanism", greeting(func(g []byte) { copy(g[12:], "CURVE") }), `"CURVE"`},
		{"a message", fine + "\x00\x01a", "no command"},
		{"an error", fine + "\x04\x06\x05ERROR", `the peer says ""`},
		{"a refusal", fine + "\x04\x0a\x05ERROR\x03400", `the peer says "400"`},
		{"a name of 255 bytes", fine + "\x06\x00\x00\x00\x00\x00\x00\x01\x00\xff" + strings.Repeat("a", 255), `"aaa`},
		{"a short READY", fine + "\x04\x08\x05READY\x0bS", "cut short"},
		{"a READY with a long value", fine + "\x04\x0c\x05READY\x01S\xff\xff\xff\xff", "cut short"},
		{"a huge READY", fine + "\x06" + string(binary.BigEndian.AppendUint64(nil, 1<<40)), "over the limit"},
		{"nothing", "", "EOF"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			left, right := pipe(t)
			go func() { _, _ = io.Copy(io.Discard, right) }()
			go func() {
				_, _ = io.WriteString(right, tc.sends)
				_ = right.(*net.TCPConn).CloseWrite()
			}()
			if _, err := Open(left, "SUB", Limits{}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestPeers talks to another implementation of ZeroMQ's sockets: a publisher that listens, and a router.
func TestPeers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pub := zmq4.NewPub(ctx)
	defer pub.Close()
	if err := pub.Listen("tcp://127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	sub := dial(t, pub.Addr(), "SUB")
	if err := sub.Subscribe("kv@"); err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		// A publisher says nothing of who has subscribed: it sends until something has come.
		for n := 0; ; n++ {
			select {
			case <-sent:
				return
			case <-time.After(time.Millisecond):
			}
			_ = pub.Send(zmq4.NewMsgFrom([]byte("other"), []byte("no")))
			_ = pub.Send(zmq4.NewMsgFrom([]byte("kv@a"), fmt.Append(nil, n), bytes.Repeat([]byte("z"), 1000)))
		}
	}()
	got, err := sub.Recv()
	close(sent)
	if err != nil || len(got) != 3 || string(got[0]) != "kv@a" || len(got[2]) != 1000 {
		t.Fatalf("got %q, %v", got, err)
	}
	router := zmq4.NewRouter(ctx)
	defer router.Close()
	if err := router.Listen("tcp://127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	dealer := dial(t, router.Addr(), "DEALER")
	go func() {
		asked, err := router.Recv()
		if err == nil {
			_ = router.Send(zmq4.NewMsgFrom(append([][]byte{asked.Frames[0]}, asked.Frames[1:]...)...))
		}
	}()
	if err := dealer.Send(nil, []byte("12345678")); err != nil {
		t.Fatal(err)
	}
	if got, err := dealer.Recv(); err != nil || len(got) != 2 || string(got[1]) != "12345678" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func dial(t *testing.T, address net.Addr, socket string) *Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(conn, socket, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func FuzzRecv(f *testing.F) {
	f.Add([]byte("\x00\x01a"))
	f.Add([]byte("\x01\x01a\x02\x00\x00\x00\x00\x00\x00\x00\x01b"))
	f.Add([]byte("\x04\x07\x04PING\x00\x00"))
	f.Add([]byte("\x06\x00\x00\x00\x00\x00\x00\x01\x00\xff" + strings.Repeat("a", 255)))
	f.Fuzz(func(t *testing.T, b []byte) {
		a := &reading{in: bytes.NewReader(b)}
		c := &Conn{conn: a, in: newReader(a), limits: Limits{Message: 1000, Frames: 4}.withDefaults()}
		for {
			frames, err := c.Recv()
			if err != nil {
				return
			}
			total := 0
			for _, frame := range frames {
				total += len(frame)
			}
			if total > 1000 || len(frames) > 4 || len(frames) == 0 {
				t.Fatalf("got %d frames of %d bytes", len(frames), total)
			}
		}
	})
}

// reading is a connection that has been sent all that it will be.
type reading struct {
	net.Conn
	in io.Reader
}

func (r *reading) Read(b []byte) (int, error)         { return r.in.Read(b) }
func (r *reading) Write(b []byte) (int, error)        { return len(b), nil }
func (r *reading) SetReadDeadline(t time.Time) error  { return nil }
func (r *reading) SetWriteDeadline(t time.Time) error { return nil }

// TestAwait: waiting in vain for a message costs nothing of those that come later.
func TestAwait(t *testing.T) {
	a, b := pair(t, Limits{})
	if began, err := a.Await(time.Millisecond); began || err != nil {
		t.Errorf("got %v, %v of silence", began, err)
	}
	if err := b.Send([]byte("late")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if began, err := a.Await(time.Minute); !began || err != nil {
			t.Errorf("got %v, %v of a message", began, err)
		}
	}
	if got, err := a.Recv(); err != nil || string(got[0]) != "late" {
		t.Errorf("got %q, %v", got, err)
	}
	_ = b.Close()
	if began, err := a.Await(time.Minute); began || err == nil {
		t.Errorf("got %v, %v of a connection that has ended", began, err)
	}
}
