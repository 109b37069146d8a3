package sidecar

import (
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// listening is an HTTP server at an address of its own, which can be taken away and given back.
type listening struct {
	t       testing.TB
	address string
	handler http.Handler

	mu     sync.Mutex
	server *http.Server // nil while nobody listens
	open   map[net.Conn]bool
}

// start listens, unless it does.
func (l *listening) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil {
		return
	}
	var listener net.Listener
	var err error
	for range 100 {
		if listener, err = net.Listen("tcp", l.address); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.open = map[net.Conn]bool{}
	l.server = &http.Server{Handler: l.handler, ConnState: l.count}
	go func(s *http.Server) { _ = s.Serve(listener) }(l.server)
}

func (l *listening) count(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew:
		l.open[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(l.open, c)
	}
}

func (l *listening) connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// stop refuses connections from now on, and breaks those that there are.
func (l *listening) stop() {
	l.mu.Lock()
	s := l.server
	l.server = nil
	l.mu.Unlock()
	if s != nil {
		_ = s.Close()
	}
}

func (l *listening) listens() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.server != nil
}

// The ways in which servers answer.
const (
	well    = "well"
	hangs   = "hangs"
	garbage = "garbage"
	fails   = "fails"
	late    = "late"
	refuses = "refuses"
	breaks  = "breaks"
)
