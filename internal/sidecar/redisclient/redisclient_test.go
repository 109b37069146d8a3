package redisclient

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// left is an address at which nobody listens any more.
func left(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestRefused: an operation on a server that is away ends by why nobody can connect, before its time is up.
func TestRefused(t *testing.T) {
	address := left(t)
	for _, tc := range []struct {
		name string
		to   scoring.StoreRedis
	}{
		{"by a URL", scoring.StoreRedis{Address: "redis://" + address}},
		{"by an address", scoring.StoreRedis{Addresses: []string{address}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const timeout = 300 * time.Millisecond
				client, err := New(tc.to, Security{}, timeout)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				if err := client.Get(ctx, "key").Err(); !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("got %v, want %v", err, syscall.ECONNREFUSED)
				}
			})
		})
	}
}

// TestBack: an operation meets a server that comes back while it runs.
func TestBack(t *testing.T) {
	address := left(t)
	synctest.Test(t, func(t *testing.T) {
		const timeout = 300 * time.Millisecond
		client, err := New(scoring.StoreRedis{Addresses: []string{address}}, Security{}, timeout)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		back := make(chan net.Listener, 1)
		time.AfterFunc(timeout/2, func() {
			listener, err := net.Listen("tcp", address)
			if err != nil {
				t.Error(err)
			}
			back <- listener
		})
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		// What listens says nothing, and what says nothing is late.
		if err := client.Get(ctx, "key").Err(); errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v for a server that came back", err)
		}
		if len(back) == 0 {
			t.Error("the operation ended before the server was back")
		}
		if listener := <-back; listener != nil {
			listener.Close()
		}
	})
}
