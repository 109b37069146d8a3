package e2e

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestPreciseBackground: requests go where servers say that their blocks are, though none waits for that to be known:
// once a prompt has been here, what becomes of its blocks anywhere is followed.
func TestPreciseBackground(t *testing.T) {
	harness.Long(t)
	document := map[string]any{"plugins": []map[string]any{{"type": "precise-prefix-cache-scorer",
		"parameters": map[string]any{"mode": "background",
			"tokenProcessorConfig": map[string]any{"blockSize": 16},
			"indexerConfig":        map[string]any{"tokenizersPoolConfig": map[string]any{"modelName": "m"}}}}}}
	c := newCaches(t, document, "here/a", "here/b", "here/c")
	sidecar := c.follow(document, c.URL("ingest", harness.IngestPath), c.prefix)
	wantMetric := func(name string, value int) { t.Helper(); wantMetricOf(t, sidecar, name, value) }
	harness.WaitFor(t, 30*time.Second, "the sidecar to hear the servers", func() (bool, string) {
		for _, s := range c.servers {
			c.tell(s, chatPath, chatOf(strings.Repeat("is it heard? ", 20)))
		}
		said, _ := c.holders(chatOf(strings.Repeat("is it heard? ", 20)))
		return len(said) == len(c.servers), fmt.Sprint(said)
	})
	sent := 0
	// forget has all servers forget everything.
	forget := func() {
		for _, s := range c.servers {
			c.tell(s, "/sim/events", `{"fault":"clear"}`)
		}
	}
	// find has a prompt known, and forgotten everywhere; then a server gets it from somebody else.
	find := func(text string, s *harness.Server) harness.Answer {
		t.Helper()
		body := chatOf(text + strings.Repeat(" and so on", 40))
		c.send(body)
		sent++
		wantMetric("pintle_prefix_prompts_total{result=\"learnt\"}", sent)
		c.wantTruth(body)
		forget()
		c.wantTruth(body)
		c.tell(s, chatPath, body)
		c.wantTruth(body)
		wantMetric("pintle_prefix_untold", 0)
		sent++
		return c.send(body)
	}
	found := func(got harness.Answer, s *harness.Server) bool {
		return got.Server() == s.Name && strings.Contains(got.Header.Get("X-Pintle-Explain"),
			fmt.Sprintf(`%q,"precise-prefix-cache-scorer",1]`, s.Name))
	}
	// With the first metrics of the servers the filter begins to cut prompts by their pages.
	i := 0
	harness.WaitFor(t, 30*time.Second, "the filter to know the servers' pages", func() (bool, string) {
		i++
		got := find(fmt.Sprint("greeting ", i), c.servers[0])
		return found(got, c.servers[0]), fmt.Sprint(got)
	})
	for i, s := range c.servers {
		if got := find(fmt.Sprint("conversation ", i), s); !found(got, s) {
			t.Errorf("conversation %d: got %d from %s, want %s: %s", i, got.Status, got.Server(), s.Name,
				got.Header.Get("X-Pintle-Explain"))
		}
	}
}

// wantMetricOf waits until a metric of a sidecar has a value.
func wantMetricOf(t *testing.T, s *harness.Sidecar, name string, value int) {
	t.Helper()
	admin := regexp.MustCompile(`msg=started admin=(\S+)`).FindStringSubmatch(s.Log())
	if admin == nil {
		t.Fatalf("no address in %s", s.Log())
	}
	harness.WaitFor(t, 30*time.Second, name, func() (bool, string) {
		response, err := http.Get("http://" + admin[1] + "/metrics")
		if err != nil {
			return false, err.Error()
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return err == nil && strings.Contains(string(text), fmt.Sprintf("\n%s %d\n", name, value)), string(text)
	})
}
