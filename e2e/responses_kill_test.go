package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// testKilledSidecar: the real sidecar at a unix socket is killed again and again under load. Conversations wait for it
// with 503, and go on with all that was said; what needs no store notices nothing; and in the end every response is
// stored.
func testKilledSidecar(t *testing.T) {
	t.Parallel()
	kills := 20
	if testing.Short() {
		kills = 3
	}
	folder, err := os.MkdirTemp("", "pintle-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket := filepath.Join(folder, "store")
	c := newConversations(t, recoveryCells[0], map[string]string{"requests": socket})
	sidecar := func() *harness.Sidecar {
		var text strings.Builder
		fmt.Fprintf(&text, "envoy: {ingest: %q, token: %q}\nadmin: {address: \"127.0.0.1:0\"}\n"+
			"responses: {address: 'unix://%s', storeConfig: {inMemoryConfig: {file: %s/file, maxEntries: 1000000}}}\n"+
			"discovery:\n  static:\n", c.URL("ingest", harness.IngestPath), harness.Token, socket, folder)
		for _, e := range c.endpoints {
			fmt.Fprintf(&text, "  - {name: %q, address: %q, engine: vllm}\n", e.Name, e.Address)
		}
		return harness.StartSidecarWith(t, text.String())
	}
	l := &talkers{url: c.URL("requests", "/v1/responses")}
	s := sidecar()
	for range 4 {
		l.tasks.Go(l.talk)
	}
	l.tasks.Go(l.others)
	t.Cleanup(l.stop)
	for range kills {
		l.waitMore(t, &l.goneOn, 20)
		s.Kill()
		l.waitMore(t, &l.refused, 1)
		s = sidecar()
	}
	l.waitMore(t, &l.goneOn, 20)
	l.stop()
	l.wantStored(t)
	t.Logf("%d turns went on, %d were told to try again, %d came too early; %d requests needed no store",
		l.goneOn.Load(), l.refused.Load(), l.early.Load(), l.free.Load())
}

// talkers are clients. What is wrong goes into wrong.
type talkers struct {
	url                          string
	tasks                        sync.WaitGroup
	stopped                      atomic.Bool
	goneOn, refused, early, free atomic.Int64

	mu    sync.Mutex
	wrong []string
	ids   []string // of all responses to be stored
}

func (l *talkers) stop() {
	l.stopped.Store(true)
	l.tasks.Wait()
}

func (l *talkers) complain(format string, arguments ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) < 10 {
		l.wrong = append(l.wrong, fmt.Sprintf(format, arguments...))
	}
}

// waitMore waits until a counter has grown.
func (l *talkers) waitMore(t *testing.T, counter *atomic.Int64, by int64) {
	t.Helper()
	began := counter.Load()
	harness.WaitFor(t, time.Minute, "requests", func() (bool, string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.wrong) > 0 {
			t.Fatal(strings.Join(l.wrong, "\n"))
		}
		return counter.Load() >= began+by, fmt.Sprint(counter.Load())
	})
}

// spoken is what a test looks at in a response.
type spoken struct {
	ID       string
	Output   []json.RawMessage
	Metadata struct{ Seen string }
}

func (l *talkers) send(client *http.Client, body string) (status int, header http.Header, r spoken) {
	response, err := client.Post(l.url, "application/json", strings.NewReader(body))
	if err != nil {
		l.complain("%s: %v", body, err)
		return 0, nil, r
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		l.complain("%s: %v: %s", body, err, text)
	}
	return response.StatusCode, response.Header, r
}

// talk has one conversation after the other.
func (l *talkers) talk() {
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for !l.stopped.Load() {
		status, _, r := l.send(client, `{"model":"m","input":"turn 0"}`)
		if status != http.StatusOK {
			l.complain("a first turn: got %d, want 200", status)
			return
		}
		said := []string{`{"type":"message","role":"user","content":"turn 0"}`, string(r.Output[0])}
		l.note(r.ID)
		for turn := 1; turn < 8 && !l.stopped.Load(); turn++ {
			text := fmt.Sprintf("turn %d", turn)
			said = append(said, `{"type":"message","role":"user","content":"`+text+`"}`)
			next, ok := l.goOn(client, text, r.ID, said)
			if !ok {
				return
			}
			said = append(said, string(next.Output[0]))
			r = next
			l.note(r.ID)
		}
	}
}

// goOn sends a turn until it is served; false at the end.
func (l *talkers) goOn(client *http.Client, text, previous string, said []string) (r spoken, ok bool) {
	body := fmt.Sprintf(`{"model":"m","previous_response_id":%q,"input":%q}`, previous, text)
	for !l.stopped.Load() {
		status, header, r := l.send(client, body)
		switch {
		case status == http.StatusOK:
			if want := "[" + strings.Join(said, ",") + "]"; compact(r.Metadata.Seen) != compact(want) {
				l.complain("the server got %s, want %s", r.Metadata.Seen, want)
			}
			l.goneOn.Add(1)
			return r, true
		case status == http.StatusServiceUnavailable && header.Get("X-Pintle-Reason") == "store_unavailable" &&
			header.Get("Retry-After") != "":
			l.refused.Add(1)
		case status == http.StatusNotFound:
			// The answer before is not handed over yet: on a busy machine that may take longer than the store waits.
			l.early.Add(1)
		default:
			l.complain("turn %q: got %d %v, want it served or store_unavailable", text, status, header)
			return r, false
		}
	}
	return r, false
}

func compact(text string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return text
	}
	return b.String()
}

func (l *talkers) note(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, id)
}

// others sends what needs no store.
func (l *talkers) others() {
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for !l.stopped.Load() {
		for _, more := range []string{`,"store":false`, `,"store":false,"stream":true`} {
			status, header, _ := l.sendOther(client, `{"model":"m","input":"a"`+more+`}`)
			if status != http.StatusOK {
				l.complain("what needs no store: got %d %v, want 200", status, header)
				return
			}
			l.free.Add(1)
		}
	}
}

func (l *talkers) sendOther(client *http.Client, body string) (int, http.Header, error) {
	response, err := client.Post(l.url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header, err
}

// wantStored waits until each response can be read.
func (l *talkers) wantStored(t *testing.T) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for _, id := range l.ids {
		harness.WaitFor(t, time.Minute, id+" to be stored", func() (bool, string) {
			response, err := client.Get(l.url + "/" + id)
			if err != nil {
				return false, err.Error()
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			return response.StatusCode == http.StatusOK && strings.Contains(string(text), id),
				fmt.Sprintf("%d %s", response.StatusCode, text)
		})
	}
	if len(l.wrong) > 0 {
		t.Error(strings.Join(l.wrong, "\n"))
	}
}
