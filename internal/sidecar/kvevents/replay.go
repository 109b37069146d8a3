package kvevents

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/pintle-dev/pintle/internal/zmtp"
)

const (
	// replayTime bounds one replay, after which what has come counts.
	replayTime = 30 * time.Second
	// replayQuiet is how long there may be nothing of it.
	replayQuiet = 5 * time.Second
)

var errQuiet = errors.New("nothing comes any more")

// replay asks for the batches from a number on and hands them over as they come, until the end or until handle says
// that it is enough. A router drops what does not fit into its queue, so numbers may be missing, and so may the end.
func (s *subscription) replay(ctx context.Context, from uint64,
	handle func(topic string, number uint64, payload []byte) (more bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, replayTime)
	defer cancel()
	conn, err := s.dial(ctx, s.source.Load().replay, "DEALER", s.limits)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := conn.Send(nil, binary.BigEndian.AppendUint64(nil, from)); err != nil {
		return err
	}
	for {
		begins, err := conn.Await(replayQuiet)
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		if !begins {
			return errQuiet
		}
		frames, err := conn.Recv()
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		topic, number, payload, err := replayed(frames)
		if err != nil {
			return err
		}
		if number == ^uint64(0) {
			return nil
		}
		if more, err := handle(topic, number, payload); err != nil || !more {
			return err
		}
	}
}

// replayed takes a replay's message apart: nothing, the topic, which older engines leave out, number and payload.
func replayed(frames [][]byte) (topic string, number uint64, payload []byte, err error) {
	n := len(frames)
	if n < 3 || n > 4 || len(frames[0]) > 0 || len(frames[n-2]) != 8 {
		return "", 0, nil, fmt.Errorf("a replay of %d frames is not known", n)
	}
	if n == 4 {
		topic = string(frames[1])
	}
	return topic, binary.BigEndian.Uint64(frames[n-2]), frames[n-1], nil
}

// dial connects to a publisher or a router.
func dial(ctx context.Context, address, socket string, limits zmtp.Limits) (*zmtp.Conn, error) {
	dialer := net.Dialer{Timeout: dialTime, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// An endpoint that leaves while it shakes hands is not waited for.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	return zmtp.Open(conn, socket, limits)
}

// dialTime bounds a connection's beginning.
const dialTime = 5 * time.Second
