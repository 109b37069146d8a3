package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestPreciseBackgroundHangs stops the process that prompts are handed to, without ending it: under load no request is
// lost or waits for it. When it goes on, it says again what the caches hold.
func TestPreciseBackgroundHangs(t *testing.T) {
	harness.Long(t)
	document := map[string]any{"plugins": []map[string]any{{"type": "precise-prefix-cache-scorer",
		"parameters": map[string]any{"mode": "background",
			"tokenProcessorConfig": map[string]any{"blockSize": 16},
			"indexerConfig":        map[string]any{"tokenizersPoolConfig": map[string]any{"modelName": "m"}}}}}}
	c := newCaches(t, document, "here/a", "here/b", "here/c")
	sidecar := c.follow(document, c.URL("ingest", harness.IngestPath), c.prefix)
	l := &steady{}
	for i := range 12 {
		l.bodies = append(l.bodies, chatOf(fmt.Sprint("prompt ", i, strings.Repeat(" of twelve", 40))))
	}
	handed := func() (n int64) {
		for _, count := range c.Stats(t, "pintle.prefix.handed") {
			n += count
		}
		return n
	}
	harness.WaitFor(t, 30*time.Second, "prompts to be handed over", func() (bool, string) {
		got := c.send(l.bodies[0])
		return got.Status == http.StatusOK && handed() > 0, fmt.Sprint(got)
	})
	l.start(t, 4, c.URL("requests", chatPath))
	l.more(t, 200)
	c.wantTruth(l.bodies...)

	l.lap()
	l.more(t, 1000)
	running := l.lap()
	pid := sidecar.PID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // it may have gone on
	// A request that waited for the sidecar would do so for the 20 s that a call may take.
	l.more(t, 1000)
	stopped := l.lap()
	c.tell(c.servers[0], "/sim/events", `{"fault":"clear"}`)
	l.more(t, 100)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	took := c.wantTruth(l.bodies...)
	before := handed()
	harness.WaitFor(t, 30*time.Second, "prompts to be handed over again", func() (bool, string) {
		return handed() > before, ""
	})
	l.stop()
	for _, lost := range l.lost {
		t.Errorf("a request was lost: %s", lost)
	}
	usual, slow := running[len(running)/2], stopped[len(stopped)/2]
	t.Logf("%d requests served; half within %v, and %v with the sidecar stopped; the index is true again after %v",
		l.served.Load(), usual, slow, took)
	if slow > 5*usual {
		t.Errorf("half of the requests took more than %v with the sidecar stopped, %v before", slow, usual)
	}
	c.learnsAgain()
}

// learnsAgain waits until a prompt that came through the filter is known to it where a server says so.
func (c *caches) learnsAgain() {
	c.t.Helper()
	s, i := c.servers[2], 0
	harness.WaitFor(c.t, 30*time.Second, "the filter to know what a server has", func() (bool, string) {
		i++
		body := chatOf(fmt.Sprint("afterwards ", i, strings.Repeat(" and so on", 40)))
		c.send(body)
		c.wantTruth(body)
		for _, other := range c.servers {
			c.tell(other, "/sim/events", `{"fault":"clear"}`)
		}
		c.wantTruth(body)
		c.tell(s, chatPath, body)
		c.wantTruth(body)
		got := c.send(body)
		return got.Server() == s.Name && strings.Contains(got.Header.Get("X-Pintle-Explain"),
			fmt.Sprintf(`%q,"precise-prefix-cache-scorer",1]`, s.Name)), fmt.Sprint(got)
	})
}
