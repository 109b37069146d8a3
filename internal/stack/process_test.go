package stack

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWhoDoesNotEnd: a process that does not heed SIGTERM is ended when its time is over.
func TestWhoDoesNotEnd(t *testing.T) {
	s := newTestStack(t)
	p, err := s.Start("stubborn", "/bin/sh", "-c", "trap '' TERM; echo started; while :; do sleep 600; done")
	if err != nil {
		t.Fatal(err)
	}
	for p.Logged("started") == 0 {
		time.Sleep(time.Millisecond)
	}
	p.Terminate()
	if p.await(time.Millisecond); !p.Ended() {
		t.Error("the process goes on, want it ended")
		p.Kill()
	}
}

// TestTail: what was written since the last time is given once, as far as it is kept.
func TestTail(t *testing.T) {
	var out tail
	long := strings.Repeat("x", tailBytes-2)
	for _, test := range []struct{ name, writes, want string }{
		{"nothing", "", ""}, {"some", "a\nb\n", "a\nb\n"}, {"nothing more", "", ""}, {"more", "c", "c"},
		{"more than fits beside what was given", long, long}, {"more again", "de", "de"},
		{"more than fits", "f" + long + "gh", long + "gh"},
	} {
		_, _ = out.Write([]byte(test.writes))
		if got := out.take(); got != test.want {
			t.Errorf("%s: got %d bytes that end in %.3q, want %d", test.name, len(got), got[max(len(got)-3, 0):],
				len(test.want))
		}
	}
	if got := out.lines(1); len(got) != tailBytes || !strings.HasSuffix(got, "xgh") {
		t.Errorf("the last line: got %d bytes, want %d", len(got), tailBytes)
	}
}

// TestGet: a page counts when it is there whole and is what was asked for.
func TestGet(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(`{"n":3}`))
	}))
	defer server.Close()
	var page struct{ N int }
	if err := Get(server.URL, &page); err != nil || page.N != 3 {
		t.Errorf("got %+v, %v, want 3", page, err)
	}
	for _, into := range []any{nil, &page} {
		if err := Get(server.URL+"/busy", into); err == nil || !strings.Contains(err.Error(), "/busy answers 503") {
			t.Errorf("got %v, want the status that was answered", err)
		}
	}
	if err := Get(server.URL, &[]int{}); err == nil {
		t.Error("a page that is something else is read")
	}
}

// TestStoppedIsNoFailure: a process that was told to end has not ended by itself.
func TestStoppedIsNoFailure(t *testing.T) {
	for name, end := range map[string]func(p *Process){"stopped": (*Process).Stop, "killed": (*Process).Kill,
		"asked to": func(p *Process) { p.Terminate(); <-p.Done() }} {
		t.Run(name, func(t *testing.T) {
			s := newTestStack(t)
			p, err := s.Start("sleeper", "/bin/sleep", "600")
			if err != nil {
				t.Fatal(err)
			}
			end(p)
			if err := s.Check(); err != nil {
				t.Errorf("got %v, want nothing", err)
			}
		})
	}
}

// TestEndedTellsWhy: what cannot be measured of a process as it has ended says that, with the end of its log.
func TestEndedTellsWhy(t *testing.T) {
	s := newTestStack(t)
	p, err := s.Start("loser", "/bin/sh", "-c", "echo out of luck; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	const want = "loser ended unexpectedly (exit status 3); the end of its log:\n  | out of luck"
	for _, test := range []struct {
		name string
		ask  func() error
	}{
		{"processor time", func() error { _, err := p.CPU(); return err }},
		{"memory", func() error { _, err := p.Memory(); return err }},
		{"its group's", func() error { _, _, err := p.Group(); return err }},
	} {
		if err := test.ask(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", test.name, err, want)
		}
	}
}

// TestKillTakesAll: what a process has started ends with it, and so does what waits for its output.
func TestKillTakesAll(t *testing.T) {
	s := newTestStack(t)
	p, err := s.Start("wrapper", "/bin/sh", "-c", "sleep 600 & echo started; wait")
	if err != nil {
		t.Fatal(err)
	}
	for p.Logged("started") == 0 {
		time.Sleep(time.Millisecond)
	}
	killed := make(chan struct{})
	go func() {
		p.Kill()
		p.Kill() // again is nothing
		close(killed)
	}()
	select {
	case <-killed:
	case <-time.After(30 * time.Second):
		t.Error("the process that it has started holds its output open")
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	}
}
