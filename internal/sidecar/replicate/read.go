package replicate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/journal"
)

// fullPostBytes of events make a post to Envoy; an entry more fits.
const fullPostBytes = 64 << 10

// reader reads what the other gateways appended and posts it to its Envoy.
type reader struct {
	*Member
	codec *codec
	// known, refused, refusing and namesake are guarded by Member.mu.
	known    peers
	refused  map[string]uint64
	refusing map[string]refused
	namesake namesake
	// began is when it was made.
	began time.Time
	// cursor is up to where the stream has been read, mark what of it Envoy has.
	cursor, mark streamID
	// old is up to where Envoy had the stream when reading began: that is read for what has been seen.
	old streamID
	// own is the epoch of Envoy's log: what this gateway says of that, it has.
	own uint64
	// rewind asks for the stream to be read from its beginning.
	rewind atomic.Bool
	// taken is the last entry that was read of the stream, by the process before if Envoy says so; nil for none.
	taken atomic.Pointer[streamID]

	answer bytes.Buffer // of Envoy
	most   int64        // entries are asked for the next time, 0 before the first
	full   bool         // as many came as were asked for, so that there are more
	events []byte       // to be posted, with times of this clock
	order  order
	event  journal.Event
	posted time.Time
	looked time.Time       // when the stream was last looked at
	newest map[*peer]int64 // the time of the newest of them
}

// errElsewhere is Envoy's answer when it does not stand where the reader thought, errRefused one that asking again does
// not change.
var (
	errElsewhere = errors.New("envoy has another mark")
	errRefused   = errors.New("refused")
)

// run reads until ctx ends.
func (r *reader) run(ctx context.Context) {
	r.newest = map[*peer]int64{}
	if !r.resume(ctx) {
		return
	}
	var page []redis.XMessage
	for ctx.Err() == nil {
		if r.rewind.Swap(false) {
			r.beginAnew()
		}
		if !r.full { // what comes meanwhile is read and posted at once
			pace.Sleep(ctx, time.Until(r.looked.Add(r.pace)))
		}
		ok := r.retry(ctx, "stream", func() (err error) {
			page, err = r.next(ctx)
			return err
		})
		r.looked = time.Now()
		for i := range page {
			if ok = ok && r.take(ctx, &page[i]); !ok {
				break
			}
		}
		if ok {
			r.events = r.order.due(r.events, r.looked)
			r.post(ctx)
		}
	}
}

// resume finds out where Envoy stands, and begins to read the whole stream for it: it posts what Envoy lacks.
func (r *reader) resume(ctx context.Context) (ok bool) {
	if !r.retry(ctx, "envoy", func() error {
		err := r.send(ctx, journal.AppendRelay(nil, journal.Mark{}, journal.Mark{}, nil))
		if errors.Is(err, errElsewhere) {
			return nil
		}
		return err
	}) {
		return false
	}
	r.reached(r.mark)
	r.old, r.cursor, r.events, r.order = r.mark, streamID{}, r.events[:0], order{}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.namesake = namesake{}
	r.known.unseen()
	return ctx.Err() == nil
}

// beginAnew begins to read another stream. Where no entry has come behind those that Envoy was thought to have, what
// was passed over was of this stream: Envoy has it not.
func (r *reader) beginAnew() {
	if r.old != (streamID{}) && !r.old.less(r.cursor) {
		r.order = order{}
		r.mu.Lock()
		r.known.unseen()
		r.mu.Unlock()
	}
	r.cursor, r.old = streamID{}, streamID{}
	r.taken.Store(nil)
}

// take adds an entry to what is to be posted, and posts when that is enough.
func (r *reader) take(ctx context.Context, m *redis.XMessage) (ok bool) {
	id, ok := parseID(m.ID)
	if !ok {
		return true
	}
	e, err := r.codec.open(textOf(m))
	if err == nil {
		err = r.collect(&e, id)
	}
	if err != nil {
		r.refuse(err, id)
	}
	r.cursor = id
	r.reached(id)
	return len(r.events) < fullPostBytes || r.post(ctx)
}

// reached takes down that an entry has been read.
func (r *reader) reached(id streamID) {
	if last := r.taken.Load(); last == nil || last.less(id) {
		r.taken.Store(&id)
	}
}

// collect adds the events of an entry that are new here. Their times become times of this clock.
func (r *reader) collect(e *entry, id streamID) error {
	now := now()
	// By how much the sender's clock has to be set forward, so that the entry was sent when the server took it.
	offset := int64(id.High)*int64(time.Millisecond) - e.sent
	if at := r.clock.Load(); at != nil {
		offset -= at.offset
	}
	if e.gateway == r.Gateway {
		own := e.end.Epoch == r.own
		r.hearName(own, id, now)
		if own {
			return nil
		}
	}
	if err := r.codec.unpack(e); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.known.of(e.gateway)
	log := p.log(e.end.Epoch)
	said := r.said(id, now)
	if said.After(p.heard) {
		p.heard = said
	}
	start := len(r.events)
	whole := eachEvent(e.batch, &r.event, func(seq uint64, event *journal.Event) {
		if event.Kind != journal.Gone && !log.admit(seq) {
			p.duplicates++
			return
		}
		event.Time = min(event.Time+offset, now.UnixNano())
		if !r.old.less(id) { // Envoy has it, but for what waited
			r.order.passed(event, said, time.Now())
			return
		}
		r.newest[p] = max(r.newest[p], event.Time)
		r.events = r.order.add(r.events, event, time.Now())
		p.events++
	})
	if !whole {
		r.events = r.events[:start]
		return errTorn
	}
	return nil
}

// said is when the server took an entry, by this clock and at the latest now.
func (r *reader) said(id streamID, now time.Time) time.Time {
	age := now.UnixNano() - int64(id.High)*int64(time.Millisecond)
	if at := r.clock.Load(); at != nil {
		age += at.offset
	}
	return time.Now().Add(-time.Duration(max(age, 0)))
}

// post posts what has been collected, as often as it takes, and nothing from time to time. Where Envoy stands
// elsewhere, as it was started anew, the reader begins anew.
func (r *reader) post(ctx context.Context) (ok bool) {
	if len(r.events) == 0 && time.Since(r.posted) < blockTime {
		return true
	}
	pace.Sleep(ctx, time.Until(r.posted.Add(r.pace/4)))
	after := r.mark
	message := journal.AppendRelay(nil, journal.Mark(after), journal.Mark(r.cursor), r.events)
	ok = r.retry(ctx, "envoy", func() error {
		err := r.send(ctx, message)
		if errors.Is(err, errElsewhere) {
			return nil
		}
		if errors.Is(err, errRefused) {
			r.refusedByEnvoy(err)
			return nil
		}
		return err
	})
	r.events, r.posted = r.events[:0], time.Now()
	if !ok {
		return false
	}
	if r.mark == r.cursor {
		r.told()
		return true
	}
	clear(r.newest) // Envoy has not taken them
	if r.mark == after {
		return true
	}
	return r.resume(ctx) && false
}

// told notes how old the newest event of each gateway was when Envoy had it.
func (r *reader) told() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, at := range r.newest {
		p.lag = now().Sub(time.Unix(0, at))
		r.metrics.lag.Observe(p.lag.Seconds())
	}
	clear(r.newest)
}

// send posts a message to Envoy and takes down how that stands then. The answer brings what is new in Envoy's journal.
func (r *reader) send(ctx context.Context, message []byte) error {
	return r.follower.Ride(ctx, func(query string) (answer []byte, err error) {
		request, err := r.ingest.Request(ctx, http.MethodPost, "/events"+query, r.token(), bytes.NewReader(message))
		if err != nil {
			return nil, err
		}
		response, err := r.http.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		r.answer.Reset()
		if _, err := r.answer.ReadFrom(io.LimitReader(response.Body, journal.MaxAnswerBytes+1<<16)); err != nil {
			return nil, err
		}
		return r.answered(response, r.answer.Bytes())
	})
}

// answered takes down what Envoy says of a message, and returns what it says of its journal.
func (r *reader) answered(response *http.Response, text []byte) (rest []byte, err error) {
	now, rest, ok := journal.ParseRelayed(text)
	switch status := response.StatusCode; {
	case ok && (status == http.StatusOK || status == http.StatusConflict):
		r.mark, r.own = streamID(now.Mark), now.Epoch
		if status == http.StatusConflict {
			return nil, errElsewhere
		}
		return rest, nil
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge:
		return nil, fmt.Errorf("the ingest listener answered %s: %s: %w", response.Status, pool.OneLine(string(text)),
			errRefused)
	}
	return nil, fmt.Errorf("the ingest listener answered %s: %s", response.Status, pool.OneLine(string(text)))
}
