package responses

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
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
