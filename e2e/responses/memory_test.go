//go:build responses

package responses

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestMemory: a sidecar with 10,000 entries of 16 KB in memory has at most 1.3 times their bytes, all that it has
// beside included.
func TestMemory(t *testing.T) {
	const entries, size, most = 10_000, 16 << 10, 1.3
	g := startGatewayWith(t, "{inMemoryConfig: {}}")
	empty, err := g.Memory()
	if err != nil {
		t.Skip(err)
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for n := i; n < entries; n += 4 {
				// Half of it is the request's, half the response's.
				response := `{"id":"r` + strconv.Itoa(n) + `","status":"completed","output":[` + said("") + `]}`
				answer := strings.Replace(response, `""`, `"`+text(n, size/2-len(response))+`"`, 1)
				item := `[{"type":"message","role":"user","content":""}]`
				input := strings.Replace(item, `""`, `"`+text(n, size/2-len(item)+2)+`"`, 1)
				status, why := g.ask("POST", "turns", input+answer, "X-Pintle-Input", strconv.Itoa(len(input)))
				if status != 204 {
					t.Errorf("entry %d: got %d %s", n, status, why)
					return
				}
			}
		})
	}
	writers.Wait()
	g.metric(`pintle_store_entries`, entries)
	g.metric(`pintle_store_entry_bytes`, entries*size)
	var full int64
	harness.WaitFor(t, 30*time.Second, "what it took to get them to be given back", func() (bool, string) {
		full, err = g.Memory() // one that has ended has none
		ratio := float64(full) / (entries * size)
		return err == nil && ratio <= most, fmt.Sprintf("%.3f of the entries' bytes, %v", ratio, err)
	})
	ratio := float64(full) / (entries * size)
	t.Logf("%d entries of %d bytes: the sidecar has %.1f MB, %.3f of them; without any %.1f MB", entries, size,
		float64(full)/1e6, ratio, float64(empty)/1e6)
}

// text is one of n bytes, which begins with a number.
func text(number, n int) string {
	start := strconv.Itoa(number)
	return start + strings.Repeat("x", n-len(start))
}
