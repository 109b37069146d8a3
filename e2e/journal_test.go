package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// heard is a follow.Sink that writes down what becomes of requests for one model, and of refused ones.
type heard struct {
	mu     sync.Mutex
	model  string
	open   map[uint32]journal.Event
	ended  []string
	missed uint64
}

// Take implements follow.Sink.
func (h *heard) Take(e *follow.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	model := e.Names.Of(journal.ModelName, e.Asked)
	switch {
	case e.Kind == journal.Missed:
		h.missed += e.Missed
	case e.Kind == journal.Refused:
		h.ended = append(h.ended, fmt.Sprintf("refused %s %d", e.Names.Of(journal.ReasonName, e.Reason), e.Code))
	case e.Kind == journal.Decision && model == h.model:
		h.open[e.Lease] = *e.Event
	case e.Kind == journal.Completion && model == h.model:
		d, ok := h.open[e.Lease]
		h.ended = append(h.ended,
			fmt.Sprintf("%v %d at %s by %s, %d and %d tokens", ok && d.Instance == e.Instance, e.Code,
				e.Names.Endpoint(e.Primary), e.Names.Of(journal.ProfileName, e.Profile), e.InputTokens, e.OutputTokens))
	}
}

// Caught implements follow.Sink.
func (h *heard) Caught(string, journal.Position) {}

func (h *heard) take() (all []string, missed uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, h.ended = h.ended, nil
	return all, h.missed
}

// TestJournalIsTold: who has the token reads from outside what became of every request.
func TestJournalIsTold(t *testing.T) {
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		h := &heard{model: "m-v2", open: map[uint32]journal.Event{}}
		b := newBegun(h)
		follower := followed(t, f.Envoy, b)
		b.await(t, f.URL("requests", chatPath))
		b.settle(t, f.URL("requests", chatPath))
		h.take()
		client := harness.Client(t, false)
		send := func(body string) {
			harness.Send(t, client, harness.Request(t, http.MethodPost, f.URL("requests", chatPath), body, false))
		}
		body := `{"model":"m-v2","max_tokens":3,"messages":[{"role":"user","content":"hello"}],"stream":%v,"stream_options":{"include_usage":true}}`
		send(fmt.Sprintf(body, false))
		send(fmt.Sprintf(body, true))
		send(`{"model":"m-v2"`)
		var all []string
		var missed uint64
		harness.WaitFor(t, 10*time.Second, "three requests to be told", func() (bool, string) {
			more, n := h.take()
			all, missed = append(all, more...), n
			return len(all) >= 3, fmt.Sprint(all, follower.Now())
		})
		got := strings.Join(all, "; ")
		if !strings.HasPrefix(all[0], "true 200 at sim-") ||
			!strings.HasSuffix(all[0], " by default, 8 and 3 tokens") || all[0] != all[1] ||
			all[2] != "refused invalid_body 400" || missed != 0 {
			t.Errorf("got %s and %d missed, want two answers and a refusal", got, missed)
		}
	})
}

// TestTokensBehindAByteOrderMark: an answer and a stream that begin with one tell their tokens as others.
func TestTokensBehindAByteOrderMark(t *testing.T) {
	const usage = `{"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":7}}`
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		h := &heard{model: "m-v2", open: map[uint32]journal.Event{}}
		b := newBegun(h)
		followed(t, f.Envoy, b)
		f.Publish(t, harness.Endpoint{Name: "scripted", Address: f.scripted.Address})
		b.await(t, f.URL("requests", chatPath))
		b.settle(t, f.URL("requests", chatPath))
		h.take()
		body := strings.Replace(chatBody, "sim-model", "m-v2", 1)
		for _, answer := range []string{"\ufeff" + usage, "\ufeffdata: " + usage + "\n\ndata: [DONE]\n\n"} {
			f.scripted.Script(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, answer)
			})
			got := harness.Send(t, harness.Client(t, false),
				harness.Request(t, http.MethodPost, f.URL("requests", chatPath), body, false))
			if got.Body != answer {
				t.Errorf("got %q, want %q", got.Body, answer)
			}
			var told []string
			harness.WaitFor(t, 10*time.Second, "a request to be told", func() (bool, string) {
				more, _ := h.take()
				told = append(told, more...)
				return len(told) > 0, "none"
			})
			want := "true 200 at scripted by default, 40 and 7 tokens"
			if len(told) != 1 || told[0] != want {
				t.Errorf("%q: got %q, want %q", answer, told, want)
			}
		}
	})
}

// TestJournalIsToldToNobodyElse: without the token, and on any other listener, there is nothing to read.
func TestJournalIsToldToNobodyElse(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		follower, _ := followedBy(t, f.Envoy, "another", &heard{}, 0)
		harness.WaitFor(t, 10*time.Second, "the refusal", func() (bool, string) {
			failure := follower.Now().Failure
			return strings.Contains(failure, "401"), failure
		})
		request := harness.Request(t, http.MethodGet, f.URL("requests", "/pintle/v1/journal"), "", false)
		request.Header.Set("Authorization", bearer)
		if got := harness.Send(t, harness.Client(t, false), request); got.Server() == "" {
			t.Errorf("got %d %q, want a server's answer to an ordinary request", got.Status, got.Body)
		}
	})
}
