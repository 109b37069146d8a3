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

// The flood of TestHeldUploads, and the heap that Envoy may take: less than half of what is uploaded.
const (
	uploads     = 2000
	uploadBytes = 1 << 20
	floodHeap   = 800 << 20
)

// TestHeldUploads: 2,000 clients upload a megabyte each and never finish. Envoy turns requests away before memory ends, takes snapshots all the
// while, and is as before when they have gone.
func TestHeldUploads(t *testing.T) {
	s := loadShipped(t, "envoy.yaml")
	s.text = strings.Replace(s.text, "max_heap_size_bytes: 1610612736", fmt.Sprint("max_heap_size_bytes: ", floodHeap), 1)
	envoy := s.start(t)
	s.publish(t, []harness.Endpoint{{Name: "sim-0", Address: s.servers[0].Address}})
	client := harness.Client(t, false)
	wantServer(t, harness.Send(t, client, s.chat(t)), "sim-0")

	flood := startFlood(t, s.requests)
	harness.WaitFor(t, time.Minute, "all uploads to be sent or refused", func() (bool, string) {
		time.Sleep(100 * time.Millisecond)
		return flood.over(), ""
	})
	stats := envoy.Stats(t, "overload")
	t.Logf("pressure %d %%, %d requests turned away", stats[pressure], stats["http.requests.downstream_rq_overload_close"])
	if stats[pressure] < 95 {
		t.Errorf("pressure: got %d %%, so that the flood was none", stats[pressure])
	}
	got := harness.Send(t, client, s.chat(t))
	if got.Server() != "sim-0" && got.Status != http.StatusServiceUnavailable {
		t.Errorf("beside the flood: got %d %s, want an answer of the server, or 503", got.Status, got.Body)
	}
	// Snapshots come through all the while.
	s.publish(t, []harness.Endpoint{{Name: "sim-0", Address: s.servers[0].Address}})
	flood.end()
	harness.WaitFor(t, 30*time.Second, "the heap to come back", func() (bool, string) {
		time.Sleep(100 * time.Millisecond)
		left := envoy.Stats(t, "overload")[pressure]
		return left < 50, fmt.Sprintf("%d %%", left)
	})
	for range 10 {
		wantServer(t, s.knock(t), "sim-0")
	}
}

// pressure is Envoy's statistic of how much of the heap that it may take is in use.
const pressure = "overload.envoy.resource_monitors.fixed_heap.pressure"

// knock sends a request on a connection of its own.
func (s *shipped) knock(t *testing.T) harness.Answer {
	t.Helper()
	return harness.Send(t, harness.Client(t, false), s.chat(t))
}

// flood is clients that hold uploads back.
type flood struct {
	stop    chan struct{}
	sending sync.WaitGroup
	all     sync.WaitGroup
	done    chan struct{}
}

func startFlood(t *testing.T, address string) *flood {
	t.Helper()
	f := &flood{stop: make(chan struct{}), done: make(chan struct{})}
	body := []byte(longChat(uploadBytes))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nhost: e2e\r\ncontent-length: %d\r\n\r\n", chatPath, len(body))
	throttle := make(chan struct{}, 50)
	for range uploads {
		f.sending.Add(1)
		f.all.Add(1)
		go func() {
			defer f.all.Done()
			throttle <- struct{}{}
			c := f.upload(address, head, body[:len(body)-1])
			<-throttle
			f.sending.Done()
			if c != nil {
				<-f.stop
				_ = c.Close()
			}
		}()
	}
	go func() { f.sending.Wait(); close(f.done) }()
	t.Cleanup(f.end)
	return f
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
