package kvevents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// listener takes the connections of engines that connect by themselves. The topic says whose events they are, and only
// an endpoint's own address may say so.
type listener struct {
	*Subscriber
	net.Listener

	mu          sync.Mutex
	publishers  map[kvindex.Publisher]*incoming
	connections map[netip.Addr]int
	// refused are those of which it was told that they are.
	refused map[stranger]bool
}

// stranger is who says that it is a publisher, and where it is.
type stranger struct {
	address netip.Addr
	topic   string
}

const (
	// maxConnections bounds those from one address.
	maxConnections = 64
	// maxRefused bounds the publishers of which it is known that their refusal was told.
	maxRefused = 1024
	// reconnectTime is how long an engine's connection may be away: ZeroMQ connects again after 100 ms.
	reconnectTime = time.Second
)

func (s *Subscriber) listen() (*listener, error) {
	address, err := listenAddress(s.Config.ZMQEndpoint)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("zmqEndpoint: %q cannot be listened on: %w; a free address of this machine is right",
			s.Config.ZMQEndpoint, err)
	}
	return &listener{Subscriber: s, Listener: l, publishers: map[kvindex.Publisher]*incoming{},
		connections: map[netip.Addr]int{}, refused: map[stranger]bool{}}, nil
}

// run takes connections until ctx ends.
func (l *listener) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			pace.Sleep(ctx, leastBackoff)
			continue
		}
		from, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
		address := from.Addr().Unmap()
		if !l.count(address, 1) {
			_ = conn.Close()
			continue
		}
		tasks.Go(func() {
			defer l.count(address, -1)
			defer conn.Close()
			if err := l.serve(ctx, conn, address); err != nil && ctx.Err() == nil {
				l.Log.Debug("a publisher of KV events has gone", "address", from, "error", err)
			}
		})
	}
}

// count takes it that an address has that many connections more. It reports whether it may.
func (l *listener) count(address netip.Addr, more int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.connections[address]+more > maxConnections {
		return false
	}
	if l.connections[address] += more; l.connections[address] == 0 {
		delete(l.connections, address)
	}
	return true
}

// serve takes in what comes over a connection until it ends.
func (l *listener) serve(ctx context.Context, raw net.Conn, address netip.Addr) error {
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	conn, err := zmtp.Open(raw, "SUB", l.shared.limits)
	if err != nil {
		return err
	}
	if err := conn.Subscribe(l.shared.filter); err != nil {
		return err
	}
	topic := ""
	var in *incoming
	defer func() { l.left(ctx, in, conn) }()
	for {
		frames, err := conn.Recv()
		if err != nil {
			return err
		}
		if len(frames) != 3 {
			return fmt.Errorf("a message of %d frames is not known", len(frames))
		}
		if len(frames[0]) > maxTopic {
			return errTopic
		}
		if in == nil {
			topic = string(frames[0])
			if in, err = l.join(ctx, conn, address, topic, frames[2]); err != nil {
				l.refuse(ctx, stranger{address, topic}, err)
				return err
			}
		}
		if string(frames[0]) != topic {
			return fmt.Errorf("the topic changed from %q to %q", topic, frames[0])
		}
		if err := in.message(conn, frames); err != nil {
			return err
		}
	}
}

// join finds the publisher that a connection is of.
func (l *listener) join(ctx context.Context, conn *zmtp.Conn, address netip.Addr, topic string, payload []byte) (
	*incoming, error) {
	said, _ := topicParts(topic)
	in, err := l.publisher(ctx, address, said, peekRank(payload))
	if err != nil {
		return nil, err
	}
	if err := in.taken(conn); err != nil {
		return in, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.refused, stranger{address, topic})
	return in, nil
}

// errLeft is no refusal.
var errLeft = errors.New("the endpoint has left")

// refuse tells that a publisher is refused: once, as ZeroMQ connects again after a moment, for as long as it lives.
func (l *listener) refuse(ctx context.Context, who stranger, err error) {
	if errors.Is(err, errLeft) {
		return
	}
	l.mu.Lock()
	level := slog.LevelWarn
	if l.refused[who] {
		level = slog.LevelDebug
	}
	if len(l.refused) >= maxRefused {
		clear(l.refused)
	}
	l.refused[who] = true
	l.mu.Unlock()
	l.Log.Log(ctx, level, "refused a publisher of KV events", "address", who.address, "topic", who.topic, "error", err)
}

// drop ends the connections of an endpoint that has left.
func (l *listener) drop(endpoint string) {
	l.mu.Lock()
	var gone []*incoming
	for key, in := range l.publishers {
		if key.Endpoint == endpoint {
			delete(l.publishers, key)
			gone = append(gone, in)
		}
	}
	l.mu.Unlock()
	for _, in := range gone {
		in.leave()
		in.lock.Lock()
		in.gone = true
		if in.by != nil {
			_ = in.by.Close()
		}
		in.lock.Unlock()
	}
}

func (l *listener) all() []*subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*subscription
	for _, in := range l.publishers {
		all = append(all, in.subscription)
	}
	return all
}
