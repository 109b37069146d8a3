package replicate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/journal"
)

// field is the one that an entry of the stream has.
const field = "e"

// publisher appends the events of its Envoy to the stream. It is the sink of a follower, which asks for no more as long
// as an append fails: Envoy's journal keeps what comes meanwhile.
type publisher struct {
	*Member
	codec *codec
	ctx   context.Context

	batch  []byte
	events int
	last   uint64           // number of the last event in the batch
	end    journal.Position // where the next process goes on once the batch is appended

	appending sync.Mutex // held while an entry is appended; it guards what follows
	told      journal.Position
	lastID    streamID
	length    int64 // of the stream, as of the last append
	recent    []recentBatch
}

// recentBatch is one that was appended of late, or once more. A server that ends, or is flushed, may lose it before
// others read it.
type recentBatch struct {
	appended time.Time
	epoch    uint64
	events   int
	batch    []byte
}

// recentAge is how long batches are kept for the case that the server loses them, recentBatches how many at most. A
// reader that could not reach the server needs up to 3 s to try again.
var recentAge = 10 * time.Second

const (
	recentBatches = 256
	// shortStream is a length that others can append while a gateway looks elsewhere.
	shortStream = 4 * recentBatches
)

// begin finds where the former process of this gateway ended, and says that this one is there.
func (p *publisher) begin(ctx context.Context) (from journal.Position, ok bool) {
	p.ctx = ctx
	if !p.retry(ctx, "stream", func() (err error) {
		p.told, err = p.lastPublished(ctx)
		return err
	}) {
		return from, false
	}
	p.end = p.told
	return p.told, p.retry(ctx, "stream", func() error { return p.append(nil, 0, p.told) })
}

const pageEntries = 128

// lastPublished looks from the end of the stream for an entry of this gateway.
func (p *publisher) lastPublished(ctx context.Context) (journal.Position, error) {
	for end := "+"; ; {
		page, err := p.client.XRevRangeN(ctx, p.stream, end, "-", pageEntries).Result()
		if err != nil || len(page) == 0 {
			return journal.Position{}, err
		}
		for i := range page {
			if e, err := p.codec.open(textOf(&page[i])); err == nil && e.gateway == p.Gateway {
				return e.end, nil
			}
		}
		end = "(" + page[len(page)-1].ID
	}
}

// textOf is what an entry of the stream holds.
func textOf(m *redis.XMessage) []byte {
	text, _ := m.Values[field].(string)
	return []byte(text)
}

// Take implements follow.Sink.
func (p *publisher) Take(e *follow.Event) {
	switch e.Kind {
	case journal.Decision, journal.Completion, journal.Began, journal.Alive, journal.Gone:
	default:
		return
	}
	event := *e.Event
	event.Steps, event.Shadowed, event.Asked, event.Profile, event.Fairness = nil, journal.Shadowed{}, 0, 0, 0
	event.Priority = 0
	p.enter(e.At.Epoch)
	p.batch = appendEvent(p.batch, p.last, e.At.Seq, &event)
	p.last = e.At.Seq
	p.events++
	if len(p.batch) >= fullBatchBytes {
		// Its end is before this answer of Envoy: the next process reads it again, which does no harm.
		p.flush()
	}
}

// Caught implements follow.Sink.
func (p *publisher) Caught(_ string, at journal.Position) {
	p.enter(at.Epoch)
	p.end = at
	p.flush()
}

// enter appends what is left of a former log.
func (p *publisher) enter(epoch uint64) {
	if p.end.Epoch != epoch {
		p.flush()
		p.end = journal.Position{Epoch: epoch}
	}
}

// flush appends the batch, however long that takes. When ctx ends it is left to the next process.
func (p *publisher) flush() {
	if len(p.batch) == 0 {
		return
	}
	p.appending.Lock()
	defer p.appending.Unlock()
	before, length, tries := p.lastID, p.length, 0
	p.retry(p.ctx, "stream", func() error {
		tries++
		return p.append(p.batch, p.events, p.end)
	})
	// It is among those that are repeated: it may be lost since it was appended.
	p.recent = append(p.recent, recentBatch{time.Now(), p.end.Epoch, p.events, slices.Clone(p.batch)})
	if tries > 1 || p.lost(before, length) {
		p.repeat()
	}
	p.forget()
	p.batch, p.events, p.last = p.batch[:0], 0, 0
}

// repeat appends once more what others may not have read. They get as long for that as the first time: a server that
// stood still may end before it has served them.
func (p *publisher) repeat() {
	for i := range p.recent {
		b := &p.recent[i]
		if b.epoch != p.end.Epoch {
			continue
		}
		if p.retry(p.ctx, "stream", func() error { return p.append(b.batch, b.events, p.end) }) {
			b.appended = time.Now()
		}
	}
}

// lost reports whether the stream, which had a length after the entry before, was emptied since. It is only cut where
// it is longer than it may be. Others may have filled a short one again meanwhile.
func (p *publisher) lost(before streamID, length int64) bool {
	if p.length >= p.maxLen || before == (streamID{}) {
		return false
	}
	if p.length < length || p.length > shortStream {
		return p.length < length
	}
	ctx, cancel := context.WithTimeout(p.ctx, redisTimeout)
	defer cancel()
	found, err := p.client.XRange(ctx, p.stream, before.String(), before.String()).Result()
	return err == nil && len(found) == 0
}

// forget drops the batches that others have read by now.
func (p *publisher) forget() {
	old := 0
	for old < len(p.recent) && (time.Since(p.recent[old].appended) > recentAge || len(p.recent)-old > recentBatches) {
		old++
	}
	p.recent = slices.Delete(p.recent, 0, old)
}

// append appends a batch once.
func (p *publisher) append(batch []byte, events int, end journal.Position) error {
	ctx, cancel := context.WithTimeout(p.ctx, redisTimeout)
	defer cancel()
	began := now()
	text := p.codec.seal(&entry{gateway: p.Gateway, sent: began.UnixNano(), end: end, batch: batch})
	commands := p.client.Pipeline()
	added := commands.XAdd(ctx, &redis.XAddArgs{Stream: p.stream, MaxLen: p.maxLen, Approx: true,
		Values: []any{field, text}})
	length := commands.XLen(ctx, p.stream)
	if _, err := commands.Exec(ctx); err != nil {
		return err
	}
	at, ok := parseID(added.Val())
	if !ok {
		return fmt.Errorf("the server names an entry %q", added.Val())
	}
	took := now().Sub(began)
	// The ID is cut to a millisecond.
	p.clock.Store(&clock{offset: int64(at.High)*int64(time.Millisecond) - began.Add(took/2).UnixNano(),
		error: int64(took/2 + time.Millisecond)})
	if at.less(p.lastID) {
		p.reader.rewind.Store(true) // another stream, by a clock that is behind
	}
	p.told, p.lastID, p.length = end, at, length.Val()
	p.metrics.appended(events, len(text), took)
	p.mu.Lock()
	p.published = time.Now()
	p.mu.Unlock()
	return nil
}

// run says from time to time that the gateway is there.
func (p *publisher) run(ctx context.Context) {
	for ctx.Err() == nil {
		pace.Sleep(ctx, heartbeat)
		p.mu.Lock()
		silent := time.Since(p.published) >= heartbeat
		p.mu.Unlock()
		if silent && time.Since(p.follower.Now().Answered) <= 2*heartbeat {
			p.beat()
		}
	}
}

// beat says so, unless there is news to tell just now.
func (p *publisher) beat() {
	if !p.appending.TryLock() {
		return
	}
	defer p.appending.Unlock()
	before, length := p.lastID, p.length
	err := p.append(nil, 0, p.told)
	p.note("stream", err)
	if err == nil && p.lost(before, length) {
		p.repeat()
	}
}

// streamID is the name of an entry: milliseconds since 1970 by the server's clock, and a number.
type streamID journal.Mark

func (id streamID) less(other streamID) bool {
	return id.High < other.High || id.High == other.High && id.Low < other.Low
}

// String is how the server writes it.
func (id streamID) String() string {
	return strconv.FormatUint(id.High, 10) + "-" + strconv.FormatUint(id.Low, 10)
}

// parseID reads one.
func parseID(text string) (id streamID, ok bool) {
	high, low, _ := strings.Cut(text, "-")
	h, err := strconv.ParseUint(high, 10, 64)
	if err != nil {
		return id, false
	}
	l, err := strconv.ParseUint(low, 10, 64)
	return streamID{h, l}, err == nil
}
