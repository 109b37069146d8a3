package e2e

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// The flood of TestHeldUploads, and the memory that Envoy has to bear it: less than half of what is uploaded.
const (
	uploads     = 2000
	uploadBytes = 1 << 20
	floodHeap   = 800 << 20
	// floodSlack is what the process needs beside its heap.
	floodSlack = 200 << 20
)

// TestHeldUploads: 2,000 clients upload a megabyte each and never finish. Others are served all the while, and the memory comes back.
func TestHeldUploads(t *testing.T) {
	s := loadShipped(t, "envoy.yaml")
	s.text = strings.Replace(s.text, "max_heap_size_bytes: 1610612736", fmt.Sprint("max_heap_size_bytes: ", floodHeap), 1)
	envoy := s.start(t)
	s.publish(t, []harness.Endpoint{{Name: "sim-0", Address: s.servers[0].Address}})
	client := harness.Client(t, false)
	wantServer(t, harness.Send(t, client, s.chat(t)), "sim-0")
	before := envoy.ResidentBytes()

	flood := startFlood(t, s.requests)
	served, peak := 0, int64(0)
	for began := time.Now(); !flood.over() || time.Since(began) < 3*time.Second; served++ {
		if got := harness.Send(t, client, s.chat(t)); got.Server() != "sim-0" {
			t.Fatalf("request %d beside the flood: got %d %s, want it served", served, got.Status, got.Body)
		}
		peak = max(peak, envoy.ResidentBytes())
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("%d requests served beside %d uploads of %d MB; Envoy took from %d to %d MB", served, uploads, uploadBytes>>20, before>>20, peak>>20)
	if peak > floodHeap+floodSlack {
		t.Errorf("Envoy took %d MB, want at most %d", peak>>20, (floodHeap+floodSlack)>>20)
	}
	if peak < before+floodHeap/4 {
		t.Errorf("Envoy took %d MB, so that the flood was none", peak>>20)
	}
	flood.end()
	after := int64(0)
	harness.WaitFor(t, 30*time.Second, "the memory to come back", func() (bool, string) {
		after = envoy.ResidentBytes()
		return after < before+(peak-before)/4, fmt.Sprintf("%d MB of %d", after>>20, peak>>20)
	})
	t.Logf("%d MB were left after it", after>>20)
	for range 10 {
		wantServer(t, harness.Send(t, client, s.chat(t)), "sim-0")
	}
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
