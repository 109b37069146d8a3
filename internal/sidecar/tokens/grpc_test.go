package tokens

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// TestSilentConnection: where a connection's other end is gone without a word, calls find another one.
func TestSilentConnection(t *testing.T) {
	s, address := startService(t, "tcp", "127.0.0.1:0")
	s.says("InitializeTokenizer", "success: true")
	between, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = between.Close() })
	var connections atomic.Int32
	var silent atomic.Bool
	go func() {
		for {
			client, err := between.Accept()
			if err != nil {
				return
			}
			first := connections.Add(1) == 1
			server, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			pass := func(to, from net.Conn) {
				buffer := make([]byte, 1<<16)
				for {
					n, err := from.Read(buffer)
					if err != nil {
						_ = to.Close()
						return
					}
					if first && silent.Load() {
						continue
					}
					if _, err := to.Write(buffer[:n]); err != nil {
						return
					}
				}
			}
			go pass(server, client)
			go pass(client, server)
		}
	}()
	c := newGRPC("tcp", between.Addr().String(), 50*time.Millisecond)
	call := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.call(ctx, serviceMethod+"InitializeTokenizer", appendLoad(nil, "m"))
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	silent.Store(true)
	for range 20 {
		if err = call(); err == nil {
			break
		}
	}
	if err != nil || connections.Load() < 2 {
		t.Errorf("got %v after %d connections, want an answer by another one", err, connections.Load())
	}
}
