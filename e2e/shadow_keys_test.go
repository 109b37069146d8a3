package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// shadowed keeps a conversation where it is: by the key mine of the body and the header x-mine, and its shadow by
// other and x-other.
func shadowed() map[string]any {
	bySession := func(key string) map[string]any {
		return map[string]any{"plugins": []map[string]any{{"type": "session-affinity-scorer",
			"parameters": map[string]any{"strategy": "consistent_hash", "sessionIdConfig": map[string]any{
				"sources": []map[string]any{{"header": "x-" + key}, {"body": key}}}}}}}
	}
	return map[string]any{"config": bySession("mine"), "shadow": map[string]any{"config": bySession("other")},
		"stale": map[string]any{"after": "1h"}, "failing": map[string]any{"policy": "ignore"}}
}

// choices is a follow.Sink that counts where requests went, and where their shadow would have sent them.
type choices struct {
	mu          sync.Mutex
	own, shadow map[uint64]int
}

// Take implements follow.Sink.
func (c *choices) Take(e *follow.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Kind == journal.Decision && e.Shadowed.Decided {
		c.own[e.Primary]++
		c.shadow[e.Shadowed.Primary]++
	}
}

// Caught implements follow.Sink.
func (c *choices) Caught(string, journal.Position) {}

// TestShadowReadsItsOwn: a shadow goes by keys of the body and by headers that the plan that acts does not read, and
// that one by its own.
func TestShadowReadsItsOwn(t *testing.T) {
	const sessions = 40 // all of which one of four servers has once in 4^39
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, f.pool()...)
		seen := &choices{}
		seen.clear()
		followed(t, f.Envoy, seen)
		client := harness.Client(t, false)
		send := func(headers bool, mine, other string) {
			t.Helper()
			body, more := chatBody[:len(chatBody)-1]+fmt.Sprintf(`,"mine":%q,"other":%q}`, mine, other), []string{}
			if headers {
				body, more = chatBody, []string{"x-mine", mine, "x-other", other}
			}
			request := harness.Request(t, http.MethodPost, f.URL("shadowed", chatPath), body, false)
			for i := 0; i < len(more); i += 2 {
				request.Header.Set(more[i], more[i+1])
			}
			wantAnyServer(t, harness.Send(t, client, request))
		}
		for _, headers := range []bool{false, true} {
			for _, sameOther := range []bool{false, true} {
				seen.clear()
				for i := range sessions {
					if n := fmt.Sprint(i); sameOther {
						send(headers, n, "same")
					} else {
						send(headers, "same", n)
					}
				}
				own, shadow := seen.wait(t, sessions)
				if (len(own) == 1) == sameOther || (len(shadow) == 1) != sameOther {
					t.Errorf("by headers %v, one session by the shadow's key %v: got %v, and %v by the shadow", headers,
						sameOther, own, shadow)
				}
			}
		}
	})
}

func (c *choices) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own, c.shadow = map[uint64]int{}, map[uint64]int{}
}

// wait waits until so many decisions were told.
func (c *choices) wait(t *testing.T, decisions int) (own, shadow map[uint64]int) {
	t.Helper()
	harness.WaitFor(t, 20*time.Second, "all decisions to be told", func() (bool, string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := 0
		for _, count := range c.own {
			n += count
		}
		own, shadow = c.own, c.shadow
		return n == decisions, fmt.Sprint(n)
	})
	return own, shadow
}
