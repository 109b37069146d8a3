package precise

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
)

// TestMuchIsAsked: while much is looked at, no more is taken in than there is room for, and what is small still is.
func TestMuchIsAsked(t *testing.T) {
	began, over := make(chan bool, 8), make(chan bool)
	s := newService(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 1<<20 {
			began <- true
			<-over
		}
		tenTokens(w, r)
	})
	large := `{"model":"m","prompt":"` + strings.Repeat("a ", mostBody/2-50) + `"}`
	ended := make(chan int)
	go func() { ended <- s.ask(Path, "secret-token", large).Code }()
	<-began
	for _, tc := range []struct {
		name string
		body string
		want int
	}{
		{"another large one", large, 503},
		{"a small one", `{"model":"m","prompt":"a"}`, 200},
	} {
		if got := s.ask(Path, "secret-token", tc.body).Code; got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
	close(over)
	if got := <-ended; got != 200 {
		t.Errorf("the large one: got %d, want 200", got)
	}
	if got := s.ask(Path, "secret-token", large).Code; got != 200 {
		t.Errorf("a large one after it: got %d, want 200", got)
	}
	if s.asked.left != mostAsked {
		t.Errorf("room for %d bytes is left, want %d", s.asked.left, mostAsked)
	}
}

// TestMuchWaits: of the prompts that wait for their tokens no more are kept than there is room for, until they are
// learnt.
func TestMuchWaits(t *testing.T) {
	b := inBackground(newService(t, tenTokens), config.Ingest{Name: "an Envoy"})
	p := fourBlocks()
	p.Body = append(p.Body, bytes.Repeat([]byte(" "), 1<<20)...)
	for range mostWaiting {
		b.Take(p.AppendTo(nil))
	}
	waiting := len(b.waiting)
	if bytes := waiting * p.Bytes(); bytes > mostWaitingBytes || bytes < mostWaitingBytes/2 {
		t.Errorf("%d prompts of %d bytes wait, want so many that they take up to %d", waiting, bytes, mostWaitingBytes)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool)
	go func() {
		b.Learn(ctx)
		close(done)
	}()
	harness.WaitFor(t, 20*time.Second, "all room to be given back", func() (bool, string) {
		b.kept.mu.Lock()
		defer b.kept.mu.Unlock()
		return b.kept.left == mostWaitingBytes, fmt.Sprint(b.kept.left, " bytes of ", mostWaitingBytes)
	})
	cancel()
	<-done
}
