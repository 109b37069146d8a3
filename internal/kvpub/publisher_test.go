package kvpub

import (
	"net"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/zmtp"
)

// TestRestartEndsAll: an engine that is started anew has no connection left, that of who asks for old batches neither.
func TestRestartEndsAll(t *testing.T) {
	p, err := New(Options{Listen: "127.0.0.1:0", Replay: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	connect := func(address, socket string) *zmtp.Conn {
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
	subscriber, asking := connect(p.Address(), "SUB"), connect(p.ReplayAddress(), "DEALER")
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
	if conn := connect(p.ReplayAddress(), "DEALER"); conn.Peer() != "ROUTER" {
		t.Errorf("got the peer %q behind a restart, want ROUTER", conn.Peer())
	}
}
