package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

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

// TestHeldUploads: 2,000 uploads of a megabyte each never come to their end, on as many connections or as streams of
// few. Others are served all the while, on connections of their own or not, and what Envoy takes stays bounded; all of
// it comes back.
func TestHeldUploads(t *testing.T) {
	harness.Long(t)
	for _, test := range []struct {
		name, file string
		flood      func(*testing.T, string) *flood
	}{
		{"connections", "envoy.yaml", floodConnections},
		{"streams", "envoy.override-host.yaml", floodStreams},
	} {
		t.Run(test.name, func(t *testing.T) { testHeldUploads(t, test.file, test.flood) })
	}
}

func testHeldUploads(t *testing.T, file string, start func(*testing.T, string) *flood) {
	s := loadShipped(t, file)
	envoy := s.start(t)
	endpoint := harness.Endpoint{Name: "sim-0", Address: s.servers[0].Address}
	s.publish(t, []harness.Endpoint{endpoint})
	client := harness.Client(t, false)
	s.warm(t, client)
	before := memoryOf(t, envoy)

	flood := start(t, s.requests)
	most, asked := before, 0
	for ended := time.Now().Add(time.Minute); time.Now().Before(ended) &&
		!flood.over(); time.Sleep(20 * time.Millisecond) {
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
		t.Errorf("heap: got %d MB in the flood, %d MB before it, want at most %d MB", most.heap>>20, before.heap>>20,
			limit>>20)
	}
	flood.end()
	var after memory
	harness.WaitFor(t, time.Minute, "the memory to come back", func() (bool, string) {
		wantServer(t, harness.Send(t, client, s.chat(t)), "sim-0")
		time.Sleep(100 * time.Millisecond)
		after = memoryOf(t, envoy)
		return after.heap <= before.heap*13/10 && after.resident <= before.resident*13/10,
			fmt.Sprint(after, " of ", before)
	})
	t.Logf("before %v, most %v, after %v; %d of %d uploads refused; %d requests of others served", before, most, after,
		refused, uploads, asked+50)
	wantServer(t, s.knock(t), "sim-0")
}

// warm sends what others send, prompts of 60,000 tokens among it, some at a time, until Envoy's allocator has what it
// keeps for that.
func (s *shipped) warm(t *testing.T, client *http.Client) {
	t.Helper()
	const atOnce, each, long = 24, 8, 240_000
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			client := harness.Client(t, false)
			for range each {
				request := harness.Request(t, http.MethodPost, "http://"+s.requests+chatPath, longChat(long), false)
				if response, err := client.Do(request); err == nil {
					_ = response.Body.Close()
				}
			}
		})
	}
	all.Wait()
	for range 40 {
		wantServer(t, harness.Send(t, client, s.chat(t)), "sim-0")
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

// TestHeldTooMuch: however bodies are held, an upload that stands still gives way to one that comes, is told so, and is
// not read on.
func TestHeldTooMuch(t *testing.T) {
	const half = 600_000 // of what a worker may hold, and more; both are less than a quarter above it
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		plugin := map[string]any{"held": map[string]any{"maxBytes": 1 << 20}}
		envoy := startEnvoy(t, harness.Options{Workers: 1}, f.Cell, []string{f.servers[0].Address}, plugin)
		envoy.Publish(t, harness.Endpoint{Name: "sim-0", Address: f.servers[0].Address})
		whole := post(chatPath, longChat(half))
		still := harness.Dial(t, envoy.Address("requests"))
		still.Say(t, whole[:len(whole)-1])
		harness.WaitFor(t, 20*time.Second, "Envoy to have read the upload", func() (bool, string) {
			const name = "http.requests.downstream_cx_rx_bytes_total"
			n := envoy.Stats(t, name)[name]
			return n >= half, fmt.Sprint(n, " bytes")
		})
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
