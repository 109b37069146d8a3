package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// inSilence runs a test in two cells that have nothing in common, beside each other and beside other tests, as it takes
// long and costs little.
func inSilence(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Parallel()
	for _, cell := range []harness.Cell{{Hold: "pause", Destination: "original-dst"},
		{Hold: "buffer", Destination: "override-host"}} {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, harness.Options{}, cell, alone("queue-scorer"))
			l.Publish(t, l.endpoints()...)
			test(t, l)
		})
	}
}

// from is a client with an address of its own, each request of which has a connection of its own.
func from(client int) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(client+1))}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
}

// knock sends a request and returns who answered it, "" for nobody until ctx ended.
func (l *lab) knock(ctx context.Context, client *http.Client, body string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL("requests", chatPath),
		strings.NewReader(body))
	if err != nil {
		return ""
	}
	response, err := client.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return response.Header.Get("X-Sim-Server")
}

// crowd sends a request at each pace for a time, from four addresses in turn, while fresh samples say that all servers
// are idle. It counts who answered until a grace behind the last one, in as many parts of the time as asked for.
func (l *lab) crowd(t *testing.T, pace, lasts, grace time.Duration, parts int) []map[string]int {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	var running sync.WaitGroup
	counts := make([]map[string]int, parts)
	for i := range parts {
		counts[i] = map[string]int{}
	}
	total := int(lasts / pace)
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for i := range total {
		if i%4 == 0 {
			l.Publish(t, l.endpoints()...)
		}
		running.Go(func() {
			server := l.knock(ctx, from(i%4), slowBody)
			mu.Lock()
			defer mu.Unlock()
			counts[i*parts/total][server]++
		})
		<-ticker.C
	}
	defer time.AfterFunc(grace, cancel).Stop()
	running.Wait()
	return counts
}

// TestHangingServer: a server that accepts requests and answers nothing, while its metrics say that it is idle, is soon
// left out, though no client gives up.
func TestHangingServer(t *testing.T) {
	const pace = 50 * time.Millisecond
	inSilence(t, func(t *testing.T, l *lab) {
		if n := l.crowd(t, pace, time.Second, 4*time.Second, 1)[0][""]; n > 0 {
			t.Fatalf("%d requests unanswered while all servers work, want none", n)
		}
		response, err := http.Post("http://"+l.servers[0].Address+"/sim/fail", "application/json",
			strings.NewReader(`{"mode":"hang"}`))
		if err != nil || response.StatusCode != http.StatusNoContent {
			t.Fatalf("told to hang: got %v, %v", response, err)
		}
		_ = response.Body.Close()
		counts := l.crowd(t, pace, 9*time.Second, 3*time.Second, 3)
		t.Logf("who answered, in 3 parts of 3 s: %v", counts)
		const most = 60 / 2 // of the first part, in which it is found out; a third of it would be lost by chance alone
		if n := counts[0][""]; n == 0 || n > most {
			t.Errorf("%d of 60 requests unanswered at first, want 1 to %d", n, most)
		}
		for i, count := range counts[1:] {
			if count[""] > 1 {
				t.Errorf("part %d: %d of 60 requests unanswered, want 1 at the most", i+1, count[""])
			}
		}
	})
}

// TestImpatientClients: clients that leave together after a while without a byte, as their answers are long and not
// streamed, say nothing about servers that answer others, however many addresses they come from.
func TestImpatientClients(t *testing.T) {
	harness.Long(t)
	const (
		impatient = 40
		patience  = 6 * time.Second
		// pace has each server answer somebody within each second: one that does not, while it says that it is idle and
		// others answer, is rightly suspected.
		pace  = 40 * time.Millisecond
		parts = 3 // the first of which ends about when they leave for the first time
		lasts = parts * patience
	)
	body := strings.NewReplacer(`"max_tokens":10`, `"max_tokens":4000`, `"stream":true`,
		`"stream":false`).Replace(slowBody)
	inSilence(t, func(t *testing.T, l *lab) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var running sync.WaitGroup
		for i := range impatient {
			running.Go(func() {
				for ctx.Err() == nil {
					short, leave := context.WithTimeout(ctx, patience)
					l.knock(short, from(100+i), body)
					leave()
				}
			})
		}
		counts := l.crowd(t, pace, lasts, 5*time.Second, parts)
		cancel()
		running.Wait()
		t.Logf("who answered, in %d parts: %v", parts, counts)
		for part, count := range counts {
			l.wantSpread(t, fmt.Sprint("part ", part), count, int(lasts/pace)/parts)
		}
	})
}

// wantSpread checks that all requests were answered, and by each server about as many.
func (l *lab) wantSpread(t *testing.T, when string, count map[string]int, total int) {
	t.Helper()
	const least, most = 0.08, 0.6 // four deviations of the part that chance gives one of three
	for _, s := range l.servers {
		if share := float64(count[s.Name]) / float64(total); share < least || share > most {
			t.Errorf("%s: %s answered %d of %d, want about a third", when, s.Name, count[s.Name], total)
		}
	}
	if count[""] > 0 {
		t.Errorf("%s: %d of %d requests unanswered, want none", when, count[""], total)
	}
}
