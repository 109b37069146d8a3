package kvevents

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// incoming is a publisher that connects by itself. Its subscription is used by whoever holds the lock, which does what
// may take long under the context: that ends when the endpoint leaves.
type incoming struct {
	*subscription
	context context.Context
	leave   context.CancelFunc
	lock    sync.Mutex
	// by is the connection that it has now, nil for none.
	by   *zmtp.Conn
	gone bool
}

// publisher returns the one that is said to be at an address, made now when there was none.
func (l *listener) publisher(ctx context.Context, address netip.Addr, said string, rank int) (*incoming, error) {
	l.Subscriber.mu.Lock()
	defer l.Subscriber.mu.Unlock()
	f := l.followed[said]
	if name, known := (*l.addresses.Load())[said]; known {
		f = l.followed[name]
	}
	if f == nil {
		return nil, errors.New("the topic names no endpoint by its address; kv@IP:PORT@MODEL is right")
	}
	endpoint, err := netip.ParseAddrPort(f.target.Address)
	if err != nil || endpoint.Addr().Unmap() != address {
		return nil, fmt.Errorf("the topic names %s, which has another address", f.target.Name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := l.rankOf(f.target.Name, rank, address)
	in := l.publishers[key]
	if in == nil {
		in = &incoming{subscription: l.newSubscription(key.Endpoint, key.Rank)}
		in.context, in.leave = context.WithCancel(ctx)
		src := &source{}
		if l.Config.ReplaySocketPort != 0 {
			src.replay = l.Config.configured(rank, endpoint).replay
		}
		in.source.Store(src)
		l.publishers[key] = in
	}
	return in, nil
}

// taken has a connection be the publisher's only one.
func (in *incoming) taken(conn *zmtp.Conn) error {
	in.lock.Lock()
	defer in.lock.Unlock()
	if in.gone {
		return errLeft
	}
	if in.by != nil {
		_ = in.by.Close()
	}
	in.by, in.fresh = conn, true
	in.note(func(st *Status) { st.Connected, st.Failure = true, "" })
	in.log.Info("listening to KV events")
	if in.dirty {
		if in.forget(in.context); in.dirty {
			return errIndex
		}
	}
	if err := in.resume(in.context); in.context.Err() == nil {
		return err
	}
	return errLeft
}

func (in *incoming) message(conn *zmtp.Conn, frames [][]byte) error {
	in.lock.Lock()
	defer in.lock.Unlock()
	if in.by != conn || in.gone {
		return fmt.Errorf("another connection has taken its place")
	}
	if err := in.subscription.message(in.context, frames); err != nil {
		return err
	}
	in.pacer.took(in.context, bytesOf(frames))
	return nil
}

// left takes it that a connection has ended. The publisher's entries go unless it is soon back.
func (l *listener) left(ctx context.Context, in *incoming, conn *zmtp.Conn) {
	_ = conn.Close()
	if in == nil {
		return
	}
	in.lock.Lock()
	mine := in.by == conn
	if mine {
		in.by = nil
		in.note(func(st *Status) { st.Connected, st.Failure = false, "the connection has ended" })
	}
	in.lock.Unlock()
	if !mine {
		return
	}
	pace.Sleep(ctx, reconnectTime)
	in.lock.Lock()
	defer in.lock.Unlock()
	if in.by == nil && !in.gone && in.known && ctx.Err() == nil {
		in.stream.counts.restarts.Add(1)
		in.log.Info("the publisher of KV events is gone: its blocks are forgotten")
		in.forget(ctx)
	}
}
