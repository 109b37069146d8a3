package kvevents

import (
	"context"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/internal/zmtp"
)

// resume takes in what happened while there was no connection, if the engine offers it, and finds out whether it is
// still the same engine. Where that cannot be told, the first message tells.
func (s *subscription) resume(ctx context.Context) error {
	if s.source.Load().replay == "" {
		return nil
	}
	if !s.known {
		_, err := s.replayFrom(ctx, 0, true)
		return err
	}
	same := false
	err := s.replay(ctx, s.last,
		func(_ string, number uint64, payload []byte) (bool, error) {
			same = number == s.last && xxhash.Sum64(payload) == s.sum
			return false, nil
		})
	if err != nil {
		s.log.Debug("no replay of KV events", "error", err)
		return ctx.Err()
	}
	if !same {
		s.restarted()
		return s.relearn(ctx)
	}
	s.fresh = false
	_, err = s.replayFrom(ctx, s.last+1, false)
	return err
}

// mend fills the gap before number. It reports whether nothing is missing any more.
func (s *subscription) mend(ctx context.Context, number uint64) (bool, error) {
	if s.source.Load().replay == "" {
		return false, nil
	}
	complete, err := s.replayFrom(ctx, s.last+1, false)
	return complete && s.last+1 >= number, err
}

// replayFrom takes in the batches from one on, up to the newest. When some are missing in between it asks for those
// again, and gives up when the engine does not have them; anew, it forgets what came before and goes on. Complete is
// whether it was all that the engine has published from there on. What the engine does not offer is no error but just
// not there; what it says of another endpoint is one, and so is what happens to the index.
func (s *subscription) replayFrom(ctx context.Context, from uint64, anew bool) (complete bool, err error) {
	const rounds = 20
	for range rounds {
		next, hole := from, false
		var foreign error
		failure := s.replay(ctx, next,
			func(topic string, number uint64, payload []byte) (bool, error) {
				s.pacer.took(ctx, len(topic)+len(payload))
				switch {
				case number < next:
					return true, nil
				case number > next && s.known && (next > from || !anew):
					hole = true
					return false, nil
				case number > next && s.known:
					if s.forget(ctx); s.dirty {
						return false, errIndex
					}
				}
				if s.nameless = topic == "" && s.stream.base == "" && s.stream.index.Model() == ""; s.nameless {
					return false, nil
				}
				if topic != "" {
					if foreign = s.topic(topic); foreign != nil {
						return false, foreign
					}
				}
				if err := s.take(ctx, number, payload, false); err != nil {
					return false, err
				}
				next = number + 1
				return true, nil
			})
		if s.dirty || foreign != nil {
			return false, failure
		}
		s.mute = time.Time{}
		if failure != nil {
			s.mute = time.Now().Add(muteTime)
			s.log.Debug("a replay of KV events ended early", "error", failure)
		}
		if failure == nil && !hole {
			return true, nil
		}
		if next == from { // nothing has come of it
			return false, ctx.Err()
		}
		from = next
	}
	return false, ctx.Err()
}

// relearn forgets all, and learns what the engine still offers: what is stored by that and not removed is there.
func (s *subscription) relearn(ctx context.Context) error {
	if s.forget(ctx); s.dirty {
		return errIndex
	}
	if s.source.Load().replay == "" {
		return nil
	}
	_, err := s.replayFrom(ctx, 0, true)
	return err
}

const (
	// firstQuiet is how long after a connection's begin the engine is asked for what it published before it heeded the
	// subscription, if nothing comes. A publisher heeds one later than it answers a replay.
	firstQuiet = 100 * time.Millisecond
	// laterQuiet is how long after a message it is asked for what got lost behind that.
	laterQuiet = time.Second
	// muteTime is for how long it is not asked so when it did not answer: who waits for an answer hears no messages.
	muteTime = time.Minute
)

// attend waits for a message to begin. When none does, the engine is asked, once, whether there is one that got lost:
// numbers tell of a gap only when another message comes.
func (s *subscription) attend(ctx context.Context, conn *zmtp.Conn, quiet time.Duration) error {
	if s.source.Load().replay == "" || time.Now().Before(s.mute) {
		return nil
	}
	if begins, err := conn.Await(quiet); begins || err != nil {
		return err
	}
	if !s.known {
		_, err := s.replayFrom(ctx, 0, true)
		return err
	}
	before := s.last
	_, err := s.replayFrom(ctx, s.last+1, false)
	if s.known && s.last > before {
		s.stream.counts.mended.Add(1)
		s.log.Info("KV events were missed", "batches", s.last-before, "mended", true)
	}
	return err
}
