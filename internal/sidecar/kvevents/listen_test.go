package kvevents

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// newListening returns a fleet whose engines connect, and offer old batches for which the sidecar asks by dial.
func newListening(t *testing.T, dial func(ctx context.Context, address, socket string, limits zmtp.Limits) (*zmtp.Conn,
	error), names ...string) *fleet {
	t.Helper()
	f := newFleet(t, func(c *Config) {
		c.ZMQEndpoint, c.DiscoverPods, c.ReplaySocketPort = "tcp://127.0.0.1:0", false, 1
	}, names...)
	f.subscriber.shared.dial = dial
	return f
}

// connects has a server publish by a connection to the sidecar.
func (s *server) connects(t *testing.T, f *fleet) {
	t.Helper()
	s.publishes(t, func(o *kvpub.Options) {
		o.Listen, o.Replay, o.Connect = "", "", f.subscriber.listener.Addr().String()
	})
}

// TestLeavesDuringReplay: an engine that leaves while it owes old batches is not waited for, as all others, the status
// page and the metrics would wait, too.
func TestLeavesDuringReplay(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan error, 1)
	f := newListening(t, func(ctx context.Context, _, _ string, _ zmtp.Limits) (*zmtp.Conn, error) {
		close(asked)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}, "a", "b")
	a, b := f.servers[0], f.servers[1]
	f.run()
	f.wait("the endpoint", func() bool {
		f.subscriber.mu.Lock()
		defer f.subscriber.mu.Unlock()
		return f.subscriber.followed[a.name] != nil
	})
	a.connects(t, f)
	f.wait("a connection", func() bool { return a.publisher.Subscribers() == 1 })
	a.does(1)
	<-asked
	f.are(b)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the question for old batches ended with %v, want it ended by the leaving", err)
	}
	f.agrees("it left", b)
}

// TestTakenTooLate: a connection that comes to be the publisher's when its endpoint has just left brings nothing into
// the index, which nobody would take out again.
func TestTakenTooLate(t *testing.T) {
	batch := kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{{Kind: "BlockStored", Hashes: []uint64{1},
		Tokens: []uint32{1}, BlockTokens: 1}})
	sent := slices.Concat(greeted(), resent("", 0, batch), resent("", ^uint64(0), nil))
	f := newListening(t, func(_ context.Context, _, socket string, limits zmtp.Limits) (*zmtp.Conn, error) {
		return zmtp.Open(&sentBy{in: bytes.NewReader(sent)}, socket, limits)
	}, "a")
	a := f.servers[0]
	f.run()
	l, local := f.subscriber.listener, netip.MustParseAddr("127.0.0.1")
	var in *incoming
	f.wait("the endpoint", func() (found bool) {
		var err error
		in, err = l.publisher(t.Context(), local, a.address, 0)
		return err == nil
	})
	l.drop(a.name)
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	conn, err := zmtp.Open(&sentBy{Conn: ours, in: bytes.NewReader(greeted())}, "SUB", zmtp.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.taken(conn); err == nil {
		t.Error("the connection is taken, want it refused")
	}
	if n := f.subscriber.Index.Stats().Entries; n != 0 {
		t.Errorf("got %d blocks of an endpoint that has left, want none", n)
	}
}

// TestEndsDuringHandshake: a sidecar that ends does not wait for who has connected and says nothing.
func TestEndsDuringHandshake(t *testing.T) {
	f := newListening(t, nil, "a")
	f.subscriber.shared.limits.Handshake = time.Hour
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.subscriber.Run(ctx)
	}()
	conn, err := net.Dial("tcp", f.subscriber.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	greeting := make([]byte, 64)
	if _, err := io.ReadFull(conn, greeting); err != nil { // it waits for the answer now
		t.Fatal(err)
	}
	end()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("waited a minute in vain for the end")
	}
}

// TestRefusedIsToldOnce: ZeroMQ connects again and again, and each time it is refused for the same reason.
func TestRefusedIsToldOnce(t *testing.T) {
	f := newListening(t, nil, "a")
	f.run()
	stranger := newServer(t, "stranger", 7)
	stranger.connects(t, f)
	for n := 1; n <= 3; n++ {
		f.wait("a stranger", func() bool {
			return stranger.publisher.Joined() == n && stranger.publisher.Subscribers() == 1
		})
		stranger.does(1)
	}
	f.wait("it to be refused", func() bool { return stranger.publisher.Joined() > 3 })
	if n := strings.Count(f.log.String(), `level=WARN msg="refused a publisher of KV events"`); n != 1 {
		t.Errorf("got %d warnings, want 1:\n%s", n, f.log.String())
	}
}

// TestConnectionsOfOneAddress: one address has so many connections and no more, and room again when one has ended.
func TestConnectionsOfOneAddress(t *testing.T) {
	l := &listener{connections: map[netip.Addr]int{}}
	one, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for n := range maxConnections {
		if !l.count(one, 1) {
			t.Fatalf("connection %d is refused, want %d", n+1, maxConnections)
		}
	}
	for _, step := range []struct {
		name    string
		address netip.Addr
		more    int
		want    bool
	}{{"one more", one, 1, false}, {"of another address", other, 1, true}, {"one has ended", one, -1, true},
		{"one in its place", one, 1, true}, {"one more again", one, 1, false}} {
		if got := l.count(step.address, step.more); got != step.want {
			t.Errorf("%s: got %v, want %v", step.name, got, step.want)
		}
	}
	for range maxConnections {
		l.count(one, -1)
	}
	if l.count(other, -1); len(l.connections) != 0 {
		t.Errorf("got %v when all have ended, want nothing kept of them", l.connections)
	}
}
