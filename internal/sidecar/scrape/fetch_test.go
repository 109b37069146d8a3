package scrape

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// scripted serves each request with raw bytes, and closes the connection after every so many; 0 is never.
func scripted(t *testing.T, response string, closeAfter int) (address string, connections *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	connections = &atomic.Int64{}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer connection.Close()
				reader := bufio.NewReader(connection)
				for n := 1; ; n++ {
					for line := ""; line != "\r\n"; {
						if line, err = reader.ReadString('\n'); err != nil {
							return
						}
					}
					if _, err := connection.Write([]byte(response)); err != nil || n == closeAfter {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String(), connections
}

func TestFetch(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
	long := strings.Repeat("a 1\n", maxPageBytes/8)
	tests := []struct {
		name, response string
		closeAfter     int
		want           string // the page
		result         string // of the failure; empty is none
		connections    int64  // for three fetches
	}{
		{"length", head + "Content-Length: 4\r\n\r\na 1\n", 0, "a 1\n", "", 1},
		{"chunks", head + "Transfer-Encoding: chunked\r\n\r\n2\r\na \r\n2\r\n1\n\r\n0\r\n\r\n", 0, "a 1\n", "", 1},
		{"long pages, more in all than one may have",
			fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(long), long), 0, long, "", 1},
		{"after hints", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + head +
			"Content-Length: 4\r\n\r\na 1\n", 0, "a 1\n", "", 1},
		{"endless hints", strings.Repeat("HTTP/1.1 103 Early Hints\r\nA: "+strings.Repeat("b", 1000)+"\r\n\r\n",
			12<<10), 1, "", "error", 3},
		{"switching protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 1, "",
			"status", 3},
		{"unauthorized", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", 0, "", "unauthorized", 3},
		{"until the end", head + "\r\na 1\n", 1, "a 1\n", "", 3},
		{"asked to close", head + "Connection: close\r\nContent-Length: 4\r\n\r\na 1\n", 0, "a 1\n", "", 3},
		{"closed in between", head + "Content-Length: 4\r\n\r\na 1\n", 1, "a 1\n", "", 3},
		{"more than said", head + "Content-Length: 4\r\n\r\na 1\nHTTP/1.1 500 No\r\n\r\n", 0, "a 1\n", "", 3},
		{"less than said", head + "Content-Length: 400\r\n\r\na 1\n", 1, "", "error", 3},
		{"no HTTP", "a 1\n", 1, "", "error", 3},
		{"not found", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 0, "", "status", 3},
		{"endless head", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 12<<10), 1, "",
			"error", 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			address, connections := scripted(t, test.response, test.closeAfter)
			f := newFetcher(t.Context(), address, nil)
			defer f.close()
			f.aim("/metrics", 0)
			for range 3 {
				var page bytes.Buffer
				text, err := f.fetch(t.Context(), time.Now().Add(30*time.Second), &page)
				switch {
				case test.result != "" && (err == nil || err.result != test.result):
					t.Fatalf("got %v, want failure %s", err, test.result)
				case test.result == "" && (err != nil || page.String() != test.want || !text):
					t.Fatalf("got %.100q, text %v, %v, want %.100q as text", page.String(), text, err, test.want)
				}
			}
			if got := connections.Load(); got != test.connections {
				t.Errorf("got %d connections for three fetches, want %d", got, test.connections)
			}
		})
	}
}

// TestFetchOfSilence: a server that accepts and says nothing costs no more than the deadline, and the connection.
func TestFetchOfSilence(t *testing.T) {
	address, _ := scripted(t, "", 0)
	f := newFetcher(t.Context(), address, nil)
	defer f.close()
	f.aim("/metrics", 0)
	for range 3 {
		if err := f.connect(t.Context(), time.Now().Add(30*time.Second)); err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if _, err := f.fetch(t.Context(), time.Now().Add(20*time.Millisecond), &page); err == nil ||
			err.result != "timeout" {
			t.Fatalf("got %v, want failure timeout", err)
		}
		if f.connection != nil {
			t.Fatal("the connection is kept, want none that may answer late")
		}
	}
}
