package scrape

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// onePage is a whole answer after which the connection may be kept.
const onePage = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n"

// TestFetchEndsWithItsContext: what is waited for is given up, be it asked for already.
func TestFetchEndsWithItsContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		reader := bufio.NewReader(connection)
		for line := ""; line != "\r\n"; {
			if line, err = reader.ReadString('\n'); err != nil {
				return
			}
		}
		cancel()
		_, _ = reader.ReadByte()
	}()
	f := newFetcher(ctx, listener.Addr().String(), nil)
	defer f.close()
	f.aim("/metrics", 0)
	var page bytes.Buffer
	if _, err := f.fetch(ctx, time.Now().Add(time.Hour), &page); err == nil {
		t.Error("got a page, want an error once the context has ended")
	}
}

// TestNothingIsAskedAtTheEnd: once a fetcher's context has ended, it asks for nothing, whoever wants it to.
func TestNothingIsAskedAtTheEnd(t *testing.T) {
	address, _ := scripted(t, onePage, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := newFetcher(ctx, address, nil)
	defer f.close()
	f.aim("/metrics", 0)
	harness.WaitFor(t, time.Minute, "the end", func() (bool, string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.ended, ""
	})
	var page bytes.Buffer
	if _, err := f.fetch(t.Context(), time.Now().Add(time.Minute), &page); err == nil ||
		!errors.Is(err.err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
}

// TestConnectionsAreClosed: one that the server has closed, one to another port and the last one.
func TestConnectionsAreClosed(t *testing.T) {
	first, _ := scripted(t, onePage, 2)
	second, others := scripted(t, onePage, 0)
	f := newFetcher(t.Context(), first, nil)
	var sockets []net.Conn
	fetch := func() {
		t.Helper()
		var page bytes.Buffer
		if _, err := f.fetch(t.Context(), time.Now().Add(time.Minute), &page); err != nil || page.String() != "a 1\n" {
			t.Fatalf("got %q, %v, want the page", page.String(), err)
		}
		sockets = append(sockets, f.socket)
	}
	f.aim("/metrics", 0)
	for range 3 {
		fetch()
	}
	f.aim("/metrics", netip.MustParseAddrPort(second).Port())
	fetch()
	if got := others.Load(); got != 1 {
		t.Errorf("got %d connections to the other port, want one", got)
	}
	f.close()
	for i, socket := range sockets {
		if err := socket.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("connection %d: got %v, want it closed", i, err)
		}
	}
}
