package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestManyConfigurations changes the configuration fifty times under load. Envoy keeps the workers' VMs over a change,
// so whatever an old plug-in leaves behind would stay: each new one has the whole prefix index, read from the journal.
// Envoy itself keeps an old plug-in until its drain time is over. After some changes there is room for an old and a new
// state, with holes between their pieces, and Envoy grows no further.
func TestManyConfigurations(t *testing.T) {
	harness.Long(t)
	const changes, settled, prompts = 50, 15, 1200
	plugin := alone("prefix-cache-scorer")
	o := harness.Options{Dynamic: true, Workers: 1, Args: []string{"--drain-time-s", "1"}}
	l := newLab(t, o, harness.Cell{Hold: "pause", Destination: "original-dst"}, plugin)
	l.LogOnFailure(t)
	l.Publish(t, l.endpoints()...)
	client := harness.Client(t, false)
	for i := range prompts {
		body := fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":%q}]}`,
			strings.Repeat(fmt.Sprintf("%08d%08d", i, i*7), 1024))
		response, err := client.Post(l.URL("requests", chatPath), "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	warm, err := l.Memory()
	if err != nil {
		t.Skip(err)
	}
	var resident []int64
	for i := range changes {
		// Ever fewer streams at a time: those that are idle then stay on the worker's list.
		stop := l.load(t, max(1, 12-i/4))
		plugin["stale"] = map[string]any{"after": fmt.Sprintf("%dms", 2000+i)}
		l.Reconfigure(t, nil, l.listeners...)
		time.Sleep(1500 * time.Millisecond) // longer than the drain time, so that the old plug-in has gone
		stop()                              // what such a short drain time cuts off does not matter here
		memory, err := l.Memory()
		if err != nil {
			t.Fatal(err)
		}
		resident = append(resident, memory>>20)
	}
	t.Logf("%d MiB, and after each change: %v", warm>>20, resident)
	first, last := resident[settled-1], resident[changes-1]
	if last*100 > first*110 {
		t.Errorf("resident memory: got %d MiB after %d changes, and %d after %d", last, changes, first, settled)
	}
}

// TestOutlastsDrainTime: where the plug-in stands in the listener, a change cuts off an answer that goes on when
// Envoy's drain time is over.
func TestOutlastsDrainTime(t *testing.T) {
	t.Parallel()
	plugin := alone("queue-scorer")
	o := harness.Options{Dynamic: true, Args: []string{"--drain-time-s", "1"}}
	l := newLab(t, o, recoveryCells[0], plugin)
	l.Publish(t, l.endpoints()...)
	answer := make(chan exchange, 1)
	go func() {
		answer <- l.exchange(t, "requests", strings.Replace(slowBody, `"max_tokens":10`, `"max_tokens":400`, 1))
	}()
	l.wantStat(t, "http.requests.downstream_rq_active", 1)
	plugin["stale"] = map[string]any{"after": "3s"}
	l.Reconfigure(t, nil, l.listeners...)
	if x := <-answer; x.status != http.StatusOK || !x.cut {
		t.Errorf("got %v, want 200 and an answer that is cut off", x)
	}
	l.wantService(t)
}

// TestListenerGoes: when a listener is taken away and its drain time is over, what it had in flight no longer counts,
// and the listener can come back.
func TestListenerGoes(t *testing.T) {
	t.Parallel()
	o := harness.Options{Dynamic: true, Args: []string{"--drain-time-s", "1"}}
	l := newLab(t, o, recoveryCells[0], alone("active-request-scorer"))
	l.LogOnFailure(t)
	l.Publish(t, l.endpoints()...)
	const streams = 4
	answers := make(chan exchange, streams)
	for range streams {
		go func() {
			answers <- l.exchange(t, "requests", strings.Replace(slowBody, `"max_tokens":10`, `"max_tokens":4000`, 1))
		}()
	}
	l.wantStat(t, "http.requests.downstream_rq_active", streams)
	l.Reconfigure(t, nil, l.listeners[1:]...)
	for range streams {
		if x := <-answers; x.status != 0 && (x.status != http.StatusOK || !x.cut) {
			t.Errorf("got %v, want no answer or one that is cut off", x)
		}
	}
	l.wantRest(t, 20*time.Second)
	l.Reconfigure(t, nil, l.listeners...)
	l.wantService(t)
}

// TestEmptyConfiguration: an update whose plug-ins have no configuration is refused, and what was there goes on.
func TestEmptyConfiguration(t *testing.T) {
	t.Parallel()
	plugin := alone("queue-scorer")
	l := newLab(t, harness.Options{Dynamic: true}, recoveryCells[0], plugin)
	l.Publish(t, l.endpoints()...)
	l.ReconfigureWithout(t, l.listeners...)
	harness.WaitFor(t, 20*time.Second, "Envoy to say why", func() (bool, string) {
		return strings.Contains(l.Log(), "configuration: is empty"), "not in the log yet"
	})
	for range 20 {
		if x := l.exchange(t, "requests", chatBody); x.status != http.StatusOK {
			t.Fatalf("after the refused update: got %v, want 200", x)
		}
	}
}
