package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// flood is uploads that are held back.
type flood struct {
	stop    chan struct{}
	sending sync.WaitGroup
	all     sync.WaitGroup
	done    chan struct{}
}

// newFlood starts so many senders, a few at a time. Each sends its upload but for the end, and returns what ends it, or
// nil.
func newFlood(t *testing.T, senders int, send func(f *flood, number int) (end func())) *flood {
	t.Helper()
	f := &flood{stop: make(chan struct{}), done: make(chan struct{})}
	throttle := make(chan struct{}, 50)
	for i := range senders {
		f.sending.Add(1)
		f.all.Go(func() {
			throttle <- struct{}{}
			end := send(f, i)
			<-throttle
			f.sending.Done()
			if end != nil {
				<-f.stop
				end()
			}
		})
	}
	go func() { f.sending.Wait(); close(f.done) }()
	t.Cleanup(f.end)
	return f
}

// floodConnections has a connection for each upload.
func floodConnections(t *testing.T, address string) *flood {
	t.Helper()
	body := []byte(longChat(uploadBytes))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nhost: e2e\r\ncontent-length: %d\r\n\r\n", chatPath, len(body))
	return newFlood(t, uploads, func(f *flood, _ int) func() {
		if c := f.upload(address, head, body[:len(body)-1]); c != nil {
			return func() { _ = c.Close() }
		}
		return nil
	})
}

// floodStreams has as many streams for each connection as Envoy takes.
func floodStreams(t *testing.T, address string) *flood {
	t.Helper()
	const streams = 100
	body := longChat(uploadBytes)
	body = body[:len(body)-1]
	var clients []*http.Client
	for range uploads / streams {
		client := harness.Client(t, true)
		client.Timeout = 0
		clients = append(clients, client)
	}
	return newFlood(t, uploads, func(f *flood, number int) func() {
		upload := &withheld{Reader: strings.NewReader(body), sent: make(chan struct{}), stop: f.stop}
		ended := make(chan struct{})
		client := clients[number/streams]
		f.all.Go(func() {
			defer close(ended)
			response, err := client.Post("http://"+address+chatPath, "application/json", upload)
			if err == nil {
				_ = response.Body.Close()
			}
			client.CloseIdleConnections()
		})
		select {
		case <-upload.sent:
		case <-ended:
		}
		return nil // the request ends by itself
	})
}

// withheld is a body whose end does not come until stop, and then is none.
type withheld struct {
	*strings.Reader
	sent, stop chan struct{}
	told       bool
}

// Read returns what is there, tells when that was all, and waits.
func (w *withheld) Read(p []byte) (int, error) {
	if n, err := w.Reader.Read(p); err == nil {
		return n, nil
	}
	if !w.told {
		w.told = true
		close(w.sent)
	}
	<-w.stop
	return 0, io.ErrUnexpectedEOF
}

// upload sends all but the end. What Envoy breaks off is over.
func (f *flood) upload(address, head string, body []byte) net.Conn {
	c, err := net.DialTimeout("tcp4", address, 5*time.Second)
	if err != nil {
		return nil
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, head); err == nil {
		_, err = c.Write(body)
		if err == nil {
			return c
		}
	}
	_ = c.Close()
	return nil
}

// over reports whether all uploads have been sent or broken off.
func (f *flood) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// end closes all connections.
func (f *flood) end() {
	select {
	case <-f.stop:
	default:
		close(f.stop)
	}
	f.all.Wait()
}
