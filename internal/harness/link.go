package harness

import (
	"net"
	"sync"
	"testing"
)

// Link is a way to a server over TCP, which can be cut and held up. Safe for concurrent use.
type Link struct {
	// Address is where it listens.
	Address string

	target string
	mu     sync.Mutex
	cut    bool
	gate   chan struct{} // closed unless what clients send is held back
	conns  map[net.Conn]bool
}

// NewLink leads to a server until the test ends.
func NewLink(t testing.TB, target string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return NewLinkAt(t, listener, target)
}

// NewLinkAt is NewLink for a listener, which it closes.
func NewLinkAt(t testing.TB, listener net.Listener, target string) *Link {
	t.Helper()
	l := &Link{Address: listener.Addr().String(), target: target, gate: make(chan struct{}),
		conns: map[net.Conn]bool{}}
	l.Release()
	t.Cleanup(func() {
		_ = listener.Close()
		l.Cut()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(client)
		}
	}()
	return l
}

func (l *Link) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp4", l.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !l.add(client, server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(server, client, l.wait) })
	both.Go(func() { l.carry(client, server, func() {}) })
	both.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, client)
	delete(l.conns, server)
}

// add has connections end with the link. It returns false if that is cut.
func (l *Link) add(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return false
	}
	for _, c := range conns {
		l.conns[c] = true
	}
	return true
}

// carry passes on what one side sends until either side ends, which then ends both.
func (l *Link) carry(to, from net.Conn, wait func()) {
	defer to.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		wait()
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// wait waits until what clients send is no longer held back.
func (l *Link) wait() {
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	<-gate
}

// Drop ends all connections; new ones may follow.
func (l *Link) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
}

// Cut ends all connections, and every new one at once, until Mend.
func (l *Link) Cut() {
	l.setCut(true)
	l.Drop()
}

// Mend ends what Cut began.
func (l *Link) Mend() { l.setCut(false) }

func (l *Link) setCut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
}

// Hold holds back what clients send until Release.
func (l *Link) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = make(chan struct{})
}

// Release ends what Hold began.
func (l *Link) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.gate)
}
