package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// The flood of TestHeldUploads, and what each of the two workers holds by default.
const (
	uploads     = 2000
	uploadBytes = 1 << 20
	heldBytes   = 128 << 20
)

// TestHeldUploads: 2,000 clients upload a megabyte each and never finish. Others are served all the while, on connections of their own or
// not, and what Envoy takes stays bounded; the heap comes back.
func TestHeldUploads(t *testing.T) {
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		t.Run(name, func(t *testing.T) { testHeldUploads(t, name) })
	}
}

func testHeldUploads(t *testing.T, name string) {
	s := loadShipped(t, name)
	envoy := s.start(t)
	endpoint := harness.Endpoint{Name: "sim-0", Address: s.servers[0].Address}
	s.publish(t, []harness.Endpoint{endpoint})
	client := harness.Client(t, false)
	s.warm(t, client)
	before := memoryOf(t, envoy)

	flood := startFlood(t, s.requests)
	most, asked := before, 0
	for ended := time.Now().Add(time.Minute); time.Now().Before(ended) && !flood.over(); time.Sleep(20 * time.Millisecond) {
		wantServer(t, harness.Send(t, client, s.chat(t)), "sim-0")
		wantServer(t, s.knock(t), "sim-0")
		// Snapshots come through, too.
		s.publish(t, []harness.Endpoint{endpoint})
		most = most.max(memoryOf(t, envoy))
		asked += 2
	}
	if !flood.over() {
		t.Fatal("the uploads are neither sent nor refused after a minute")
	}
	for range 50 {
		wantServer(t, s.knock(t), "sim-0")
	}
	most = most.max(memoryOf(t, envoy))
	refused := envoy.Stats(t, "held_too_much")["wasmcustom.pintle.requests.held_too_much"]
	if refused < uploads/2 {
		t.Errorf("refused: got %d of %d uploads, so that the flood was none", refused, uploads)
	}
	// A connection itself takes some 60 KB.
	if limit := before.heap + 2*heldBytes*3/2 + uploads*60<<10; most.heap > limit {
		t.Errorf("heap: got %d MB in the flood, %d MB before it, want at most %d MB", most.heap>>20, before.heap>>20, limit>>20)
	}
	flood.end()
	var after memory
	harness.WaitFor(t, time.Minute, "the heap to come back", func() (bool, string) {
		time.Sleep(100 * time.Millisecond)
		after = memoryOf(t, envoy)
		return after.heap <= before.heap*13/10, fmt.Sprint(after, " of ", before)
	})
	// Pages that are free go back to the system late, or stay for the next burst: they are as many as were ever needed.
	if limit := before.resident + 2*heldBytes*2 + uploads*60<<10; after.resident > limit {
		t.Errorf("resident: got %v after the flood, %v before it, want at most %d MB", after, before, limit>>20)
	}
	t.Logf("before %v, most %v, after %v; %d of %d uploads refused; %d requests of others served", before, most, after, refused, uploads, asked+50)
	wantServer(t, s.knock(t), "sim-0")
}

// warm sends what others send, and long bodies.
func (s *shipped) warm(t *testing.T, client *http.Client) {
	t.Helper()
	for i := range 40 {
		wantServer(t, harness.Send(t, client, s.chat(t)), "sim-0")
		if i%4 == 0 {
			long := harness.Request(t, http.MethodPost, "http://"+s.requests+chatPath, longChat(uploadBytes), false)
			harness.Send(t, client, long)
		}
	}
}

// memory is what Envoy takes: of its heap, and of the machine.
type memory struct{ heap, resident int64 }

func (m memory) String() string {
	return fmt.Sprintf("heap %d MB, resident %d MB", m.heap>>20, m.resident>>20)
}

func (m memory) max(n memory) memory { return memory{max(m.heap, n.heap), max(m.resident, n.resident)} }

func memoryOf(t *testing.T, envoy *harness.Envoy) memory {
	t.Helper()
	text, err := envoy.Admin("/memory")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Allocated int64 `json:"allocated,string"`
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("memory: %v in %s", err, text)
	}
	resident, err := envoy.Memory()
	if err != nil {
		t.Fatal(err)
	}
	return memory{m.Allocated, resident}
}

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

// TestHeldTooMuch: however bodies are held, an upload that stands still gives way to one that comes, is told so, and is not read on.
func TestHeldTooMuch(t *testing.T) {
	const half = 600_000 // of what a worker may hold, and more; both are less than a quarter above it
	inCells(t, func(t *testing.T, f *fixture) {
		plugin := map[string]any{"held": map[string]any{"maxBytes": 1 << 20}}
		envoy, err := harness.StartWith(harness.Options{Workers: 1}, f.Cell, []string{f.servers[0].Address},
			&harness.Listener{Name: "requests", Plugin: plugin}, &harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(envoy.Stop)
		envoy.LogOnFailure(t)
		envoy.Publish(t, harness.Endpoint{Name: "sim-0", Address: f.servers[0].Address})
		whole := post(chatPath, longChat(half))
		still := harness.Dial(t, envoy.Address("requests"))
		still.Say(t, whole[:len(whole)-1])
		time.Sleep(300 * time.Millisecond)
		quick := harness.Dial(t, envoy.Address("requests"))
		quick.Say(t, whole[:len(whole)-1])
		got := still.Hear(t, http.MethodPost)
		wantError(t, got, http.StatusServiceUnavailable, "held_too_much")
		if after := got.Header.Get("retry-after"); after != "1" {
			t.Errorf("retry-after: got %q, want 1", after)
		}
		quick.Say(t, whole[len(whole)-1:])
		wantServer(t, quick.Hear(t, http.MethodPost), "sim-0")
		if n, err := io.Copy(io.Discard, still); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the refusal: got %d bytes and %v, want the connection's end", n, err)
		}
	})
}
