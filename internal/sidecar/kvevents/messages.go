package kvevents

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cespare/xxhash/v2"
)

// message takes in a message of a publisher.
func (s *subscription) message(ctx context.Context, frames [][]byte) error {
	if len(frames) != 3 || len(frames[1]) != 8 {
		s.stream.counts.malformed.Add(1)
		return nil
	}
	if err := s.named(ctx, string(frames[0])); err != nil {
		return err
	}
	number := binary.BigEndian.Uint64(frames[1])
	if !s.known && number > 0 && s.source.Load().replay != "" {
		if _, err := s.replayFrom(ctx, 0, true); err != nil || s.known && number <= s.last {
			return err
		}
	}
	if !s.known || number == s.last+1 {
		return s.take(ctx, number, frames[2], true)
	}
	if number <= s.last {
		if !s.fresh {
			return nil // replay was faster
		}
		if s.restarted(); s.source.Load().replay == "" {
			if s.forget(ctx); s.dirty {
				return errIndex
			}
			return s.take(ctx, number, frames[2], true)
		}
		if err := s.relearn(ctx); err != nil || s.known && number <= s.last {
			return err
		}
		return s.take(ctx, number, frames[2], true)
	}
	if err := s.bridge(ctx, number); err != nil || s.known && number <= s.last {
		return err
	}
	return s.take(ctx, number, frames[2], true)
}

// bridge learns what was missed before a number: from what the engine sends again, or else by learning all anew.
func (s *subscription) bridge(ctx context.Context, number uint64) error {
	missed := number - s.last - 1
	mended, err := s.mend(ctx, number)
	if mended {
		s.stream.counts.mended.Add(1)
	} else {
		s.stream.counts.forgotten.Add(1)
	}
	if err != nil {
		return err
	}
	s.log.Info("KV events were missed", "batches", missed, "mended", mended)
	if mended {
		return nil
	}
	return s.relearn(ctx)
}

var errIndex = errors.New("the index cannot be reached")

// maxTopic bounds the bytes of a topic: an address and a model's name.
const maxTopic = 4096

var errTopic = fmt.Errorf("the topic has more than %d bytes", maxTopic)

// topic takes in what a topic says.
func (s *subscription) topic(topic string) error {
	if len(topic) > maxTopic {
		return errTopic
	}
	endpoint, model := topicParts(topic)
	if endpoint != "" && !s.allowed(s.stream.name.Endpoint, endpoint) {
		return fmt.Errorf("the publisher says it is %q, which is another endpoint", endpoint)
	}
	if model != s.stream.base {
		s.stream.base = model
	}
	return nil
}

// named takes a live message's topic. SGLang's replays have none: what was replayed before went by the configuration's
// model, or waits for the first topic where there is none.
func (s *subscription) named(ctx context.Context, topic string) error {
	before := s.stream.base
	if err := s.topic(topic); err != nil {
		return err
	}
	if s.nameless && !s.known {
		s.nameless = false
		_, err := s.replayFrom(ctx, 0, true)
		return err
	}
	if s.known && before == "" && s.stream.base != "" && s.stream.base != s.stream.index.Model() {
		return s.relearn(ctx)
	}
	return nil
}

func (s *subscription) restarted() {
	s.stream.counts.restarts.Add(1)
	s.log.Info("the publisher of KV events has begun anew: its blocks are forgotten")
}

// take takes a batch in, as one of few at a time. What is missing before a live one is so for good: it may have removed
// what is known.
func (s *subscription) take(ctx context.Context, number uint64, payload []byte, live bool) error {
	if live && s.known && number > s.last+1 {
		if s.forget(ctx); s.dirty {
			return errIndex
		}
	}
	select {
	case s.permits <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	b, err := s.stream.apply(ctx, payload)
	<-s.permits
	if err != nil {
		s.forget(ctx)
		return err
	}
	s.known, s.fresh, s.last, s.sum = true, false, number, xxhash.Sum64(payload)
	now := time.Now()
	s.note(func(st *Status) {
		if st.Last = now; live && b.at > 0 && !math.IsInf(b.at, 1) {
			st.Lag = float64(now.UnixNano())/1e9 - b.at
		}
	})
	return nil
}
