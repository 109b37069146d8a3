package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestWorkersSleep: a plug-in ticks every 10 ms while requests wait, and no longer when they have left. Envoy's workers
// go on with the timer of a plug-in that is gone, at its last period; one that is replaced while requests wait leaves
// none.
func TestWorkersSleep(t *testing.T) {
	t.Parallel()
	const changes, held, seconds, most = 6, 8, 3, 100
	plugin := with(alone("queue-scorer"), "startup", map[string]any{"wait": "60s"})
	o := harness.Options{Dynamic: true, Args: []string{"--drain-time-s", "1"}, Edit: func(config string) string {
		return config + "\nenable_dispatcher_stats: true\nstats_flush_on_admin: true\n"
	}}
	l := newLab(t, o, recoveryCells[0], plugin)
	l.LogOnFailure(t)
	for i := range changes {
		ended := make(chan exchange, held)
		for range held {
			go func() { ended <- l.exchange(t, "requests", chatBody) }()
		}
		l.wantStat(t, "http.requests.downstream_rq_active", held)
		plugin["stale"] = map[string]any{"after": fmt.Sprintf("%ds", 3+i)}
		l.Reconfigure(t, nil, l.listeners...)
		for range held {
			if x := <-ended; x.status != 0 {
				t.Fatalf("a request that waited at a listener that went: got %v, want no answer", x)
			}
		}
	}
	var leaving []*harness.Conn
	for range held {
		c := harness.Dial(t, l.Address("requests"))
		c.Say(t, fmt.Sprintf("POST %s HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%s", chatPath, len(chatBody),
			chatBody))
		leaving = append(leaving, c)
	}
	l.wantStat(t, "http.requests.downstream_rq_active", held)
	for _, c := range leaving {
		_ = c.Close()
	}
	l.wantStat(t, "http.requests.downstream_rq_active", 0)
	l.Publish(t, l.endpoints()...)
	l.wantService(t)
	before, start, up := l.loops(t), l.uptime(t), 0
	harness.WaitFor(t, 30*time.Second, "Envoy to be at rest for some seconds", func() (bool, string) {
		up = l.uptime(t)
		return up >= start+seconds, fmt.Sprint("up for ", up, " s")
	})
	if got := (l.loops(t) - before) / (up - start); got > most {
		t.Errorf("at rest after %d changes: the workers woke up %d times a second, want at most %d", changes, got, most)
	}
}

// loops is how often the workers' event loops have gone round, as their histograms count it. Envoy merges those when it
// is asked, for whoever asks next.
func (l *lab) loops(t *testing.T) (sum int) {
	t.Helper()
	var text string
	for range 2 {
		var err error
		if text, err = l.Admin("/stats/prometheus?filter=dispatcher.loop_duration_us"); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(value); err == nil && strings.Contains(name, "worker_") &&
			strings.Contains(name, "_count") {
			sum += n
		}
	}
	if sum == 0 {
		t.Fatalf("Envoy does not count its workers' loops: %s", text)
	}
	return sum
}

// uptime is for how long Envoy has run, in seconds. Asking wakes no worker.
func (l *lab) uptime(t *testing.T) int {
	t.Helper()
	text, err := l.Admin("/server_info")
	var info struct {
		Uptime string `json:"uptime_current_epoch"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &info)
	}
	seconds, err2 := strconv.Atoi(strings.TrimSuffix(info.Uptime, "s"))
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return seconds
}
