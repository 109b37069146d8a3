package kvpub

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/zmtp"
)

// connect connects as a socket of a type until the test ends.
func connect(t *testing.T, address, socket string) *zmtp.Conn {
	t.Helper()
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := zmtp.Open(raw, socket, zmtp.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestRestartEndsAll: an engine that is started anew has no connection left, that of who asks for old batches neither.
func TestRestartEndsAll(t *testing.T) {
	p, err := New(Options{Listen: "127.0.0.1:0", Replay: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	subscriber, asking := connect(t, p.Address(), "SUB"), connect(t, p.ReplayAddress(), "DEALER")
	if err := subscriber.Subscribe(""); err != nil {
		t.Fatal(err)
	}
	for p.Subscribers() == 0 {
		time.Sleep(time.Millisecond)
	}
	p.Restart()
	for name, conn := range map[string]*zmtp.Conn{"who has subscribed": subscriber, "who asks": asking} {
		if _, err := conn.Await(10 * time.Second); err == nil {
			t.Errorf("%s: the connection goes on, want it ended", name)
		}
	}
	if conn := connect(t, p.ReplayAddress(), "DEALER"); conn.Peer() != "ROUTER" {
		t.Errorf("got the peer %q behind a restart, want ROUTER", conn.Peer())
	}
}

// TestBuffer: of the batches that were published so many can be asked for, from any number on.
func TestBuffer(t *testing.T) {
	p, err := New(Options{Listen: "127.0.0.1:0", Replay: "127.0.0.1:0", Buffer: 3, Topic: "kv"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range 7 {
		p.Publish([]byte{byte(i)})
	}
	conn := connect(t, p.ReplayAddress(), "DEALER")
	for from, want := range []string{"4 5 6 end", 5: "5 6 end", 7: "end"} {
		if want == "" {
			continue
		}
		if err := conn.Send(nil, binary.BigEndian.AppendUint64(nil, uint64(from))); err != nil {
			t.Fatal(err)
		}
		var got []string
		for len(got) == 0 || got[len(got)-1] != "end" {
			frames, err := conn.Recv()
			if err != nil || len(frames) != 4 || len(frames[2]) != 8 {
				t.Fatalf("got %q, %v, want nothing, topic, number and payload", frames, err)
			}
			number := binary.BigEndian.Uint64(frames[2])
			switch {
			case number == math.MaxUint64:
				got = append(got, "end")
			case len(frames[3]) == 1 && uint64(frames[3][0]) == number:
				got = append(got, fmt.Sprint(number))
			default:
				t.Fatalf("batch %d is %q, want another one", number, frames[3])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("from %d on: got %v, want %s", from, got, want)
		}
	}
}
