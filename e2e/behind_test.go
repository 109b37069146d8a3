package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestLongJournal: when the configuration changes, the new plug-in has a long journal to read. What comes meanwhile
// waits, all of it is answered, and prompts go to the servers that have them.
func TestLongJournal(t *testing.T) {
	const prompts, last = 240, 36
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			plugin := alone("prefix-cache-scorer")
			plugin["stale"] = map[string]any{"after": "1h"}
			l := newLab(t, harness.Options{Dynamic: true}, cell, plugin)
			l.LogOnFailure(t)
			l.Publish(t, l.endpoints()...)
			l.askLong(t, 0, prompts-last)
			before := l.askLong(t, prompts-last, prompts)
			plugin["stale"] = map[string]any{"after": "2h"}
			l.Reconfigure(t, nil, l.listeners...)
			// The listener rest has another plug-in.
			l.wantStat(t, "listener_manager.listener_modified", 2)
			l.wantStat(t, "listener_manager.total_listeners_warming", 0)
			for i, x := range l.askLong(t, prompts-last, prompts) {
				if x.status != http.StatusOK || x.server != before[i].server {
					t.Errorf("prompt %d: got %v after the change, want 200 from %q, which has it", i, x,
						before[i].server)
				}
			}
		})
	}
}

// askLong sends the prompts from one number up to another, of 16 KB each, by twelve clients.
func (l *lab) askLong(t *testing.T, from, to int) []exchange {
	const clients = 12
	all := make([]exchange, to-from)
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for i := c; i < len(all); i += clients {
				prompt := strings.Repeat(fmt.Sprintf("%08d%08d", from+i, (from+i)*7), 1024)
				all[i] = l.exchange(t, "requests", fmt.Sprintf(
					`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":%q}]}`, prompt))
			}
		})
	}
	wait.Wait()
	return all
}
