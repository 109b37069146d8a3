package kvevents

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// subscription follows one publisher over all its connections.
type subscription struct {
	*shared
	stream stream
	source atomic.Pointer[source]
	log    *slog.Logger

	// known is set once a number is: that of the last batch that was taken in, with the hash of its payload, by which a
	// restarted engine is told from one whose numbers go on.
	known bool
	last  uint64
	sum   uint64
	// nameless is set while a replay without a topic waits for one.
	nameless bool
	// fresh is set until the first message of a connection: only then may an engine be another one than before.
	fresh bool
	// mute is until when the engine is not asked for more unless a message tells of a gap.
	mute time.Time
	// dirty is set while the index could not be told that all is forgotten.
	dirty bool
	// misses counts tries to connect in vain, since missing; shorts are connections that brought nothing.
	misses, shorts int
	missing        time.Time

	pacer pacer
	// stop ends run, which closes done; only for one that is looked for.
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	status Status
	// heard is set once it was said that the publisher is listened to, brief while the last connection brought nothing
	// and did not last, either.
	heard, brief bool
}

// shared is what all subscriptions have in common.
type shared struct {
	filter  string
	limits  zmtp.Limits
	permits chan struct{}
	// allowed says whether a topic's endpoint may be that of a subscription: not when it is another one's.
	allowed func(endpoint, topic string) bool
	// dial connects to a publisher, or to who sends old batches again.
	dial func(ctx context.Context, address, socket string, limits zmtp.Limits) (*zmtp.Conn, error)
}

const (
	// patience is how long an endpoint may be out of reach before its entries go. One that refuses connections has no
	// engine, which is known at once.
	patience     = 10 * time.Second
	leastBackoff = 50 * time.Millisecond
	mostBackoff  = 2 * time.Second
	// steadyTime is how long a connection behind a brief one has to last, unless a message comes, to count as one that
	// works: a publisher may take connections and end them all the while.
	steadyTime = 10 * time.Second
)

// start has it run until ctx ends, as one of tasks.
func (s *subscription) start(ctx context.Context, tasks *sync.WaitGroup) {
	ctx, s.stop = context.WithCancel(ctx)
	s.done = make(chan struct{})
	tasks.Go(func() {
		defer close(s.done)
		s.run(ctx)
	})
}

// end ends run, and forgets what is known of the publisher.
func (s *subscription) end(ctx context.Context) {
	s.stop()
	<-s.done
	if s.known {
		s.forget(ctx)
	}
}

// run dials and follows until ctx ends.
func (s *subscription) run(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := s.dial(ctx, s.source.Load().address, "SUB", s.limits)
		if err == nil {
			if err = conn.Subscribe(s.filter); err == nil {
				s.missed(ctx, nil)
				err = s.follow(ctx, conn)
			}
			_ = conn.Close()
		} else {
			s.missed(ctx, err)
		}
		if ctx.Err() != nil {
			return
		}
		s.ended(err)
		pace.Sleep(ctx, pace.Jitter(pace.Backoff(leastBackoff, max(s.misses, s.shorts), mostBackoff)))
	}
}

// ended takes it that there is no connection. It is logged when there was one that worked, or never one.
func (s *subscription) ended(err error) {
	before := s.now().Failure
	s.note(func(st *Status) { st.Connected, st.Failure = false, err.Error() })
	s.shorts++
	if before == "" {
		s.log.Warn("not listening to KV events", "error", err)
	}
}

// missed takes it that a try to connect failed, or did not. When the engine is gone its entries go.
func (s *subscription) missed(ctx context.Context, err error) {
	if err == nil {
		s.misses = 0
		return
	}
	if s.misses == 0 {
		s.missing = time.Now()
	}
	s.misses++
	if s.known && (errors.Is(err, syscall.ECONNREFUSED) || time.Since(s.missing) > patience) {
		s.stream.counts.restarts.Add(1)
		s.log.Info("the publisher of KV events is gone: its blocks are forgotten", "error", err)
		s.forget(ctx)
	}
}

// forget drops what is known of the publisher.
func (s *subscription) forget(ctx context.Context) {
	s.known, s.dirty = false, true
	if err := s.stream.clear(ctx); err != nil {
		s.log.Error("the index of KV blocks cannot be told that a publisher is gone; it is told again", "error", err)
		return
	}
	s.dirty = false
}

// follow takes in what comes over a connection until it ends.
func (s *subscription) follow(ctx context.Context, conn *zmtp.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if s.dirty {
		if s.forget(ctx); s.dirty {
			return errIndex
		}
	}
	s.fresh = true
	s.note(func(st *Status) { st.Connected = true })
	if err := s.resume(ctx); err != nil {
		return err
	}
	if s.isBrief() {
		steady := time.AfterFunc(steadyTime, s.works)
		defer steady.Stop()
	} else {
		s.works()
		s.mu.Lock()
		s.brief = true
		s.mu.Unlock()
	}
	quiet := firstQuiet
	for {
		if err := s.attend(ctx, conn, quiet); err != nil {
			return err
		}
		quiet = laterQuiet
		frames, err := conn.Recv()
		if err != nil {
			return err
		}
		if err := s.message(ctx, frames); err != nil {
			return err
		}
		if s.shorts = 0; s.isBrief() {
			s.works()
		}
		s.pacer.took(ctx, bytesOf(frames))
	}
}

// works takes it that there is a connection over which events can come.
func (s *subscription) works() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.status.Connected {
		return // it has ended at this moment
	}
	if !s.heard || s.status.Failure != "" {
		s.log.Info("listening to KV events", "address", s.source.Load().address)
	}
	s.heard, s.brief, s.status.Failure = true, false, ""
}

func (s *subscription) isBrief() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.brief
}
