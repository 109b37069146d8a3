package replicate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/journal"
)

// appender is a publisher that does nothing by itself.
type appender struct {
	*publisher
	t      *testing.T
	client redis.UniversalClient
	leave  func()
}

func newAppender(t *testing.T, v *harness.Valkey) *appender {
	t.Helper()
	all, err := New(&config.Config{Ingests: []config.Ingest{{Name: "a", URL: "http://127.0.0.1:1"}},
		Replicate: &config.Replicate{Redis: addressOf(v), Stream: stream, MaxLen: 10_000, Gateway: "a"}},
		func() string { return token }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a := &appender{publisher: &all[0].publisher, t: t, client: v.Client()}
	a.ctx, a.leave = context.WithCancel(t.Context())
	t.Cleanup(func() {
		a.leave()
		_ = a.client.Close()
	})
	return a
}

// batch is one with a decision, behind which the next process goes on at end.
func batch(lease uint32, end journal.Position) sentBatch {
	return sentBatch{end: end, events: 1, text: appendEvent(nil, 0, uint64(lease),
		&journal.Event{Kind: journal.Decision, Instance: 1, Lease: lease})}
}

// drain appends all that waits.
func (a *appender) drain() {
	a.t.Helper()
	for {
		more, err := a.next()
		if err != nil {
			a.t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// entries are those of the stream: their decisions, and where the next process goes on.
func (a *appender) entries() (all []string) {
	a.t.Helper()
	page, err := a.client.XRange(a.t.Context(), stream, "-", "+").Result()
	if err != nil {
		a.t.Fatal(err)
	}
	for i := range page {
		e, err := a.codec.open(textOf(&page[i]))
		if err == nil {
			err = a.codec.unpack(&e)
		}
		if err != nil {
			a.t.Fatal(err)
		}
		text, event := "", journal.Event{}
		eachEvent(e.batch, &event, func(_ uint64, event *journal.Event) { text += short(event) })
		all = append(all, fmt.Sprintf("%s@%d", text, e.end.Seq))
	}
	return all
}

// lose has the server lose all, and waits until it would not call another entry as it called the last.
func (a *appender) lose() {
	a.t.Helper()
	flush(a.t, a.client)
	harness.WaitFor(a.t, limit, "the next millisecond", func() (bool, string) {
		now, err := a.client.Time(a.t.Context()).Result()
		return err == nil && uint64(now.UnixMilli()) > a.lastID.High, fmt.Sprint(now, err)
	})
}

// cut has the stream be so long at most.
func (a *appender) cut(length int64) {
	a.t.Helper()
	if err := a.client.XTrimMaxLen(a.t.Context(), stream, length).Err(); err != nil {
		a.t.Fatal(err)
	}
}

// memory bounds the server's: with 1 it takes nothing more.
func (a *appender) memory(limit string) {
	a.t.Helper()
	if err := a.client.ConfigSet(a.t.Context(), "maxmemory", limit).Err(); err != nil {
		a.t.Fatal(err)
	}
}

// TestOrderOfBatches: batches come in their order, and where the next process goes on never goes back, whatever waits,
// fails or has to come again.
func TestOrderOfBatches(t *testing.T) {
	v := harness.StartValkey(t)
	at := func(seq uint64) journal.Position { return journal.Position{Epoch: 1, Seq: seq} }
	for _, test := range []struct {
		name string
		play func(a *appender)
		want []string
	}{
		{"behind what waits", func(a *appender) {
			a.wait(batch(1, at(5)))
			a.publish(batch(2, at(9)))
		}, []string{"d1@5", "d2@9"}},
		{"a heartbeat while something waits", func(a *appender) {
			a.wait(batch(1, at(5)))
			a.beat()
		}, []string{"d1@5"}},
		{"behind one that failed", func(a *appender) {
			a.publish(batch(1, at(5)))
			a.memory("1")
			a.publish(batch(2, at(9)))
			a.memory("0")
			a.publish(batch(3, at(12)))
		}, []string{"d1@5", "d1@5", "d2@9", "d3@12"}},
		{"again", func(a *appender) {
			a.publish(batch(1, at(5)))
			a.publish(batch(2, at(9)))
			a.repeat()
			a.repeat()
		}, []string{"d1@5", "d2@9", "d1@9", "d2@9"}},
		{"again, of this log alone", func(a *appender) {
			a.publish(batch(1, at(5)))
			a.publish(batch(2, journal.Position{Epoch: 2, Seq: 1}))
			a.repeat()
		}, []string{"d1@5", "d2@1", "d2@1"}},
		{"again, as the stream was lost", func(a *appender) {
			a.publish(batch(1, at(5)))
			a.lose()
			a.publish(batch(2, at(9)))
		}, []string{"d2@9", "d1@9", "d2@9"}},
		{"again, as another stream calls an entry as the lost one called the last", func(a *appender) {
			a.publish(batch(1, at(5)))
			flush(t, a.client)
			a.lastID = streamID{uint64(time.Now().Add(time.Hour).UnixMilli()), 1}
			before := streamID{a.lastID.High, 0} // the next one is behind it
			if err := a.client.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, ID: before.String(),
				Values: []any{field, sealed(token, time.Now(), 3)}}).Err(); err != nil {
				t.Fatal(err)
			}
			a.publish(batch(2, at(9)))
		}, []string{"d3@0", "d2@9", "d1@9", "d2@9"}},
		{"again, as a long stream was lost", func(a *appender) {
			a.publish(batch(1, at(5)))
			a.length = shortStream + 1
			a.lose()
			a.publish(batch(2, at(9)))
		}, []string{"d2@9", "d1@9", "d2@9"}},
		{"not again, as another gateway has a smaller maxLen", func(a *appender) {
			a.publish(batch(1, at(5)))
			a.publish(batch(2, at(9)))
			a.publish(batch(3, at(12)))
			a.cut(1)
			a.publish(batch(4, at(15)))
		}, []string{"d3@12", "d4@15"}},
		{"not again, as it has a long stream be shorter", func(a *appender) {
			a.publish(batch(1, at(5)))
			a.length = shortStream + 1
			a.publish(batch(2, at(9)))
		}, []string{"d1@5", "d2@9"}},
		{"again, before what waits", func(a *appender) {
			a.publish(batch(1, at(5)))
			a.lose()
			a.wait(batch(2, at(9)))
			a.wait(batch(3, at(12)))
		}, []string{"d2@9", "d1@9", "d3@12"}},
		{"left to the next process", func(a *appender) {
			a.publish(batch(1, at(5)))
			a.leave()
			a.publish(batch(2, at(9)))
		}, []string{"d1@5"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAppender(t, v)
			flush(t, a.client)
			test.play(a)
			if waits := len(a.waiting) > 0; a.behind.Load() != waits {
				t.Errorf("%d batches wait, and it says so: %v", len(a.waiting), !waits)
			}
			a.drain()
			if got := a.entries(); !slices.Equal(got, test.want) {
				t.Errorf("got the entries %q, want %q", got, test.want)
			}
			if a.behind.Load() || len(a.waiting) > 0 {
				t.Errorf("%d batches wait, and it says so: %v; want none", len(a.waiting), a.behind.Load())
			}
		})
	}
}
