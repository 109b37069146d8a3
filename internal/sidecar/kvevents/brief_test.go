package kvevents

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// TestBriefConnections: of a publisher that takes connections and ends them all the while it is said once that it is
// not listened to, and that it is when one lasts or brings something.
func TestBriefConnections(t *testing.T) {
	batch := kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, nil)
	message := [][]byte{nil, make([]byte, 8), batch}
	tests := []struct {
		name string
		// last is what the publisher does with the last of its connections.
		last func(ctx context.Context, c *zmtp.Conn)
		want []string
	}{
		{"they never last", func(context.Context, *zmtp.Conn) {}, []string{"listening", "not listening"}},
		{"one lasts", func(ctx context.Context, _ *zmtp.Conn) { <-ctx.Done() },
			[]string{"listening", "not listening", "listening"}},
		{"one brings something", func(_ context.Context, c *zmtp.Conn) { _ = c.Send(message...) },
			[]string{"listening", "not listening", "listening", "not listening", "listening", "not listening"}},
		{"one brings what is refused", func(_ context.Context, c *zmtp.Conn) {
			_ = c.Send([]byte("kv@10.0.0.9:1@m"), make([]byte, 8), batch)
		}, []string{"listening", "not listening"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testBriefConnections(t, tc.last, tc.want) })
		})
	}
}

func testBriefConnections(t *testing.T, last func(context.Context, *zmtp.Conn), want []string) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	const connections = 20
	dialled := 0
	log := &harness.Log{}
	s := &subscription{
		shared: &shared{
			permits: make(chan struct{}, 1),
			allowed: func(string, string) bool { return false },
			dial: func(context.Context, string, string, zmtp.Limits) (*zmtp.Conn, error) {
				near, other := net.Pipe()
				own := newEager(near)
				dialled++
				number := dialled
				go func() {
					publisher, err := zmtp.Open(other, "PUB", zmtp.Limits{})
					if err != nil {
						return
					}
					_, _ = publisher.Recv() // the subscription
					if number == connections {
						last(ctx, publisher)
					}
					_ = publisher.Close()
				}()
				return zmtp.Open(own, "SUB", zmtp.Limits{})
			},
		},
		log: slog.New(slog.NewTextHandler(log, nil)),
	}
	s.stream = stream{index: newIndex(t), counts: &counts{}}
	s.source.Store(&source{address: "publisher"})
	s.run(ctx)
	var got []string
	for line := range strings.Lines(log.String()) {
		if _, said, ok := strings.Cut(line, `msg="`); ok {
			got = append(got, strings.TrimSuffix(strings.Split(said, `"`)[0], " to KV events"))
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got the log\n%s\nwant %q", log.String(), want)
	}
	if dialled < connections {
		t.Errorf("%d connections, want at least %d", dialled, connections)
	}
}

// eager is a connection whose writes wait for nobody: in a handshake both sides write first.
type eager struct {
	net.Conn
	out   chan []byte
	ended context.Context
	end   context.CancelFunc
}

func newEager(conn net.Conn) *eager {
	e := &eager{Conn: conn, out: make(chan []byte, 8)}
	e.ended, e.end = context.WithCancel(context.Background())
	go func() {
		for {
			select {
			case b := <-e.out:
				_, _ = conn.Write(b)
			case <-e.ended.Done():
				return
			}
		}
	}()
	return e
}

func (e *eager) Write(b []byte) (int, error) {
	select {
	case e.out <- bytes.Clone(b):
		return len(b), nil
	case <-e.ended.Done():
		return 0, net.ErrClosed
	}
}

func (e *eager) Close() error {
	e.end()
	return e.Conn.Close()
}
