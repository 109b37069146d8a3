package sidecar

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestPatience: whoever sends no whole request, or takes no answer, keeps no connection of the public address.
func TestPatience(t *testing.T) {
	if publicPatience.read <= 0 || publicPatience.write <= 0 || publicPatience.idle <= 0 {
		t.Errorf("got %+v for the public address, want bounds", publicPatience)
	}
	const bytesOfPage = 64 << 20 // more than lies in any buffers on the way
	for _, tc := range []struct {
		name, request string
		reads         bool
	}{
		{"no body", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", true},
		{"takes no answer", "GET /page HTTP/1.1\r\nHost: a\r\n\r\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			written := make(chan error, 1)
			page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/page" {
					_, err := w.Write(bytes.Repeat([]byte("a"), bytesOfPage))
					written <- err
				}
			})
			p := patience{read: 50 * time.Millisecond, write: 50 * time.Millisecond, idle: time.Minute}
			go func() { _ = serve(t.Context(), listener, page, p) }()
			client, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := fmt.Fprint(client, tc.request); err != nil {
				t.Fatal(err)
			}
			const long = 30 * time.Second
			if !tc.reads {
				select {
				case err := <-written:
					if err == nil {
						t.Error("the answer is written, want it given up")
					}
				case <-time.After(long):
					t.Error("the answer is still being written, want it given up")
				}
				return
			}
			_ = client.SetReadDeadline(time.Now().Add(long))
			if _, err := io.Copy(io.Discard, client); err != nil {
				t.Errorf("got %v, want the connection closed", err)
			}
		})
	}
}
