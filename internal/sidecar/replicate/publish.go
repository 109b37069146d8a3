package replicate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	recent    []sentBatch
	waiting   []sentBatch
	behind    atomic.Bool   // something waits
	wake      chan struct{} // so that it is appended
}

// shortStream is a length that others can append while a gateway looks elsewhere.
const shortStream = 4 * recentBatches

// begin finds where the former process of this gateway ended, and says that this one is there.
func (p *publisher) begin(ctx context.Context) (from journal.Position, ok bool) {
	p.ctx = ctx
	most := int64(pageEntries)
	if !p.retry(ctx, "stream", func() (err error) {
		if p.told, err = p.lastPublished(ctx, most); err != nil {
			most = fewer(most)
		}
		return err
	}) {
		return from, false
	}
	p.end = p.told
	p.appending.Lock()
	defer p.appending.Unlock()
	p.publish(sentBatch{end: p.told})
	return p.told, ctx.Err() == nil
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

// flush appends the batch, or has it wait behind those that wait.
func (p *publisher) flush() {
	if len(p.batch) == 0 {
		return
	}
	p.appending.Lock()
	defer p.appending.Unlock()
	p.publish(sentBatch{end: p.end, events: p.events, text: slices.Clone(p.batch)})
	p.batch, p.events, p.last = p.batch[:0], 0, 0
}

// append appends a batch once. lost says that the stream was emptied since the last time: that the entry before is not
// there, and not as it was cut.
func (p *publisher) append(batch []byte, events int, end journal.Position) (lost bool, err error) {
	ctx, cancel := context.WithTimeout(p.ctx, redisTimeout)
	defer cancel()
	began, taken := now(), p.reader.taken.Load()
	text := p.codec.seal(&entry{gateway: p.Gateway, sent: began.UnixNano(), end: end, batch: batch})
	commands := p.client.Pipeline()
	added := commands.XAdd(ctx, &redis.XAddArgs{Stream: p.stream, MaxLen: p.maxLen, Approx: true,
		Values: []any{field, text}})
	length := commands.XLen(ctx, p.stream)
	before := redis.NewXMessageSliceCmd(ctx) // no answer
	if p.lastID != (streamID{}) && p.length <= shortStream {
		last := p.lastID.String()
		before = commands.XRange(ctx, p.stream, last, last)
	}
	_, _ = commands.Exec(ctx)
	if err := errors.Join(added.Err(), length.Err()); err != nil {
		return false, err
	}
	at, ok := parseID(added.Val())
	if !ok {
		return false, fmt.Errorf("the server names an entry %q", added.Val())
	}
	took := now().Sub(began)
	// The ID is cut to a millisecond.
	p.clock.Store(&clock{offset: int64(at.High)*int64(time.Millisecond) - began.Add(took/2).UnixNano(),
		error: int64(took/2 + time.Millisecond)})
	if at.less(p.lastID) || taken != nil && at.less(*taken) {
		p.reader.rewind.Store(true) // another stream, by a clock that is behind
	}
	// A stream that was emptied may call its first entry, within the same millisecond, as it called the last one.
	lost = at == p.lastID || length.Val() < p.maxLen && p.lost(ctx, length.Val(), before)
	p.told, p.lastID, p.length = end, at, length.Val()
	p.metrics.appended(events, len(text), took)
	p.mu.Lock()
	p.published = time.Now()
	p.mu.Unlock()
	return lost, nil
}

// lost reports whether the entry before is not there, as far as that has been asked. Others may fill a short stream
// again meanwhile; of a long one it is asked when it is shorter now, as a gateway with a smaller maxLen cuts it, too.
func (p *publisher) lost(ctx context.Context, length int64, before *redis.XMessageSliceCmd) bool {
	if length < p.length && before.Val() == nil {
		last := p.lastID.String()
		if before = p.client.XRange(ctx, p.stream, last, last); before.Err() != nil {
			return true
		}
	}
	return before.Val() != nil && len(before.Val()) == 0
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
	if len(p.waiting) > 0 {
		return
	}
	lost, err := p.append(nil, 0, p.told)
	p.note("append", err)
	if err == nil && lost {
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
