package replicate

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// sharedSample is a sample as an entry's batch has it, as JSON in a line of its own.
type sharedSample struct {
	// Version is 1; of another one nothing is taken.
	Version               int
	Name, Address, Engine string
	// Age is how old it was when the entry was sent, in nanoseconds.
	Age     time.Duration
	Sample  engine.Sample
	Missing []string `json:",omitempty"`
}

const sampleVersion = 1

// clock is how far the server's clock is ahead of this one's: by offset, give or take error.
type clock struct{ offset, error int64 }

// earliest and latest are what the server's clock may show at a time of this one, nanoseconds since 1970.
func (c *clock) earliest(at time.Time) int64 { return at.UnixNano() + c.offset - c.error }
func (c *clock) latest(at time.Time) int64   { return at.UnixNano() + c.offset + c.error }

// tell appends the samples that were taken since the last time, if this sidecar scrapes for all. What cannot be
// appended is left out: there is a newer one soon.
func (s *Share) tell(ctx context.Context, codec *codec) {
	s.mu.Lock()
	read := s.read
	s.read = map[*pool.Target]bool{}
	s.mu.Unlock()
	at := s.member.clock.Load()
	if at == nil || len(read) == 0 || !s.Holds() {
		return
	}
	now := time.Now()
	var batch []byte
	for t := range read {
		view := t.Now()
		if view.Kind == nil || view.Shared {
			continue
		}
		text, err := json.Marshal(sharedSample{sampleVersion, t.Name, t.Address, view.Kind.Name(),
			now.Sub(view.Sampled), view.Sample, view.Missing})
		if err != nil || len(text) >= fullBatchBytes {
			continue // a number that JSON has not, or a list without measure
		}
		batch = append(append(batch, text...), '\n')
		if len(batch) >= fullBatchBytes {
			s.append(ctx, codec, batch, at.earliest(now))
			batch = batch[:0]
		}
	}
	if len(batch) > 0 {
		s.append(ctx, codec, batch, at.earliest(now))
	}
}

// append appends samples whose ages are those at sent, by the server's clock.
func (s *Share) append(ctx context.Context, codec *codec, batch []byte, sent int64) {
	limited, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	text := codec.seal(&entry{gateway: s.member.Gateway, sent: sent, batch: batch})
	err := s.member.client.XAdd(limited, &redis.XAddArgs{Stream: s.stream, MaxLen: sharedEntries, Approx: true,
		Values: []any{field, text}}).Err()
	if ctx.Err() == nil {
		s.member.note("samples", err)
	}
}

// listen takes what another sidecar tells until ctx ends.
func (s *Share) listen(ctx context.Context) {
	codec := newCodec(s.stream, s.member.key)
	var cursor, heard streamID // heard is up to where the stream was read when it was last read to its end
	for failures := 0; ctx.Err() == nil; {
		page, err := s.member.page(ctx, s.stream, cursor, sharedEntries)
		if ctx.Err() != nil {
			return
		}
		s.member.note("shared", err)
		if err != nil {
			failures++
			pace.Sleep(ctx, pace.Jitter(pace.Backoff(firstBackoff, failures, maxBackoff)))
			continue
		}
		failures = 0
		if len(page) == 0 {
			heard, cursor = cursor, streamID{} // the stream may be another, by a clock that is behind
		}
		for i := range page {
			id, ok := parseID(page[i].ID)
			if !ok {
				continue
			}
			cursor = id
			e, err := codec.open(textOf(&page[i]))
			if err == nil {
				err = codec.unpack(&e)
			}
			if err == nil {
				err = s.take(&e, id)
			}
			if err != nil && heard.less(id) {
				s.member.reader.refuse(err, id)
			}
		}
	}
}

// take has the pool's endpoints take the samples of an entry, never as newer than they are. It does nothing where this
// sidecar scrapes for all, or cannot say how old they are.
func (s *Share) take(e *entry, id streamID) error {
	now, at := time.Now(), s.member.clock.Load()
	g := s.pool.Generation()
	if at == nil || g == nil || e.gateway == s.member.Gateway || s.Holds() {
		return nil
	}
	// The server wrote the entry down between its being sent and now. Else its clock has leapt.
	written := int64(id.High) * int64(time.Millisecond)
	if e.sent > written+int64(time.Millisecond) || written > at.latest(now) {
		return nil
	}
	old := time.Duration(at.latest(now) - e.sent)
	if old < 0 || old > s.fresh {
		return nil
	}
	s.mu.Lock()
	s.holder, s.heard = e.gateway, now
	s.mu.Unlock()
	targets := make(map[string]*pool.Target, len(g.Targets))
	for _, t := range g.Targets {
		targets[t.Name] = t
	}
	changed, sampled := false, false
	for line := range bytes.Lines(e.batch) {
		var sample sharedSample
		if json.Unmarshal(line, &sample) != nil || sample.Age < 0 {
			return errTorn
		}
		if sample.Version != sampleVersion {
			return otherVersion(sample.Version, sampleVersion)
		}
		kind, t := s.engines.ByName(sample.Engine), targets[sample.Name]
		if kind == nil || t == nil || t.Address != sample.Address {
			continue
		}
		taken, differs := t.Share(kind, &sample.Sample, now.Add(-old-sample.Age), sample.Missing)
		if taken {
			s.member.metrics.shared.Inc()
		}
		changed, sampled = changed || differs, sampled || taken
	}
	switch {
	case changed:
		s.pool.Changed()
	case sampled:
		s.pool.Sampled(now)
	}
	return nil
}
