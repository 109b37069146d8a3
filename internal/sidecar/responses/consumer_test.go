package responses

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/scoring"
)

// TestEntryOfAnotherRelease: what another release has written is left to its consumers, and holds nothing else up.
func TestEntryOfAnotherRelease(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	second := &fakeTier{}
	c := openTiers(t, v, second, nil)
	e := &Entry{ID: "r1", Expires: time.Now().Add(time.Hour), Response: []byte("{}")}
	write := func(version byte) {
		t.Helper()
		text := e.encode(nil)
		text[0] = version
		if err := client.Set(t.Context(), keyPrefix+e.Key(), text, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	write(entryVersion + 1)
	add := &redis.XAddArgs{Stream: "sync", Values: []any{"key", e.Key()}}
	if err := client.XAdd(t.Context(), add).Err(); err != nil {
		t.Fatal(err)
	}
	c.store("", `"a"`, answer("r2", "b"))
	second.waitFor(t, "the entry of this release", 1)
	harness.WaitFor(t, 20*time.Second, "the stream to keep the other one's message", func() (bool, string) {
		n, err := client.XLen(t.Context(), "sync").Result()
		refused := c.counted("synced_total", "refused")
		return n == 1 && refused > 0, fmt.Sprint(n, " messages, ", refused, " refused, ", err)
	})
	write(entryVersion) // as if this release could read it
	second.waitFor(t, "both", 2)
	empty(t, v)
}

// TestRefusedIsToldNowAndThen: of responses that cannot be brought one is logged, however many there are and however
// often they are claimed, and another one when they still cannot be later.
func TestRefusedIsToldNowAndThen(t *testing.T) {
	v := harness.StartValkey(t)
	config := tieredOf(scoring.StoreRedis{Address: "redis://" + v.Address}).Tiered
	config.Mongo = &scoring.StoreMongo{TTL: time.Hour}
	var log bytes.Buffer
	c, err := newConsumer(*config, &fakeTier{}, newMetrics(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.client.Close()
	var told []redis.XMessage
	for _, id := range []string{"r1", "r2", "r3"} {
		e := &Entry{ID: id, Expires: time.Now().Add(time.Hour), Response: []byte("{}")}
		text := e.encode(nil)
		text[0] = entryVersion + 1
		if err := c.client.Set(t.Context(), keyPrefix+e.Key(), text, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		told = append(told, redis.XMessage{ID: "1-1", Values: map[string]any{"key": e.Key()}})
	}
	for lines := 1; lines <= 2; lines++ {
		for range 2 {
			c.held = told
			if err := c.bring(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		const want = `msg="a response cannot be brought to mongo; redis keeps it" key=r`
		if got := log.String(); strings.Count(got, "\n") != lines || strings.Count(got, want) != lines {
			t.Errorf("logged %q, want %d lines with %s", got, lines, want)
		}
		c.nextRefused = time.Now() // as if it were much later
	}
}

// TestTidyWithoutTheStream: where Redis has lost the stream when it is looked for consumers that ended, there is a new
// one, and what comes is brought.
func TestTidyWithoutTheStream(t *testing.T) {
	v := harness.StartValkey(t)
	c := openTiers(t, v, &fakeTier{}, nil)
	c.stop()
	client := v.Client()
	defer client.Close()
	if err := client.Del(t.Context(), "sync").Err(); err != nil {
		t.Fatal(err)
	}
	one, err := newConsumer(c.s.backend.(*tiered).config, &fakeTier{}, c.s.metrics, c.s.log)
	if err != nil {
		t.Fatal(err)
	}
	one.nextClaim = time.Now().Add(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		one.run(ctx)
	}()
	harness.WaitFor(t, 20*time.Second, "a group that is read from", func() (bool, string) {
		all, err := client.XInfoConsumers(t.Context(), "sync", "g").Result()
		return len(all) == 1, fmt.Sprint(all, err)
	})
	cancel()
	<-ended
}
