package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 3 0 -1 4194560 10 11 12 13 250 50 0 0 20 0 8 0 100"
	for _, test := range []struct {
		name, stat string
		want       time.Duration
		ok         bool
	}{
		{"plain", "77 (envoy)" + rest, 3 * time.Second, true},
		{"name with a parenthesis and spaces", "77 (a) b (c)" + rest, 3 * time.Second, true},
		{"cut", "77 (envoy) S 1 2", 0, false},
		{"no number", strings.Replace("77 (envoy)"+rest, "250", "x", 1), 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseStat([]byte(test.stat))
			if got != test.want || (err == nil) != test.ok {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestGroupUsage(t *testing.T) {
	const stat = "7 (a) (b) S 1 42 42 0 -1 0 0 0 0 0 100 20 3 2 20 0 1 0 99 1000 5 0"
	group, cpu, resident, err := parseMember([]byte(stat))
	if err != nil || group != 42 || cpu != 1250*time.Millisecond || resident != 5*int64(os.Getpagesize()) {
		t.Errorf("got %d, %v, %d, %v", group, cpu, resident, err)
	}
	if _, _, _, err = parseMember([]byte("7 (a) S 1 42")); err == nil {
		t.Error("a line that is cut off is read")
	}
	if _, resident, err = groupUsage(syscall.Getpgrp()); err != nil || resident == 0 {
		t.Errorf("of this process: got %d bytes, %v", resident, err)
	}
	if _, _, err = groupUsage(1 << 30); err == nil {
		t.Error("a group without processes has a usage")
	}
}

func TestParseStatus(t *testing.T) {
	for _, test := range []struct {
		name, status string
		want         int64
		ok           bool
	}{
		{"number", "Name:\tpintle\nVmHWM:\t 900 kB\nVmRSS:\t    36 kB\nThreads:\t3\n", 36 << 10, true},
		{"none", "Name:\tpintle\nThreads:\t3\n", 0, false},
		{"another unit", "Name:\tpintle\nVmRSS:\t36 MB\n", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := parseStatus([]byte(test.status)); got != test.want || (err == nil) != test.ok {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestCheckPorts(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for _, test := range []struct {
		name string
		need Need
		want string
	}{
		{"taken", Need{Port: port, Variable: "PORT_X"}, "is in use; choose another one with PORT_X=PORT"},
		{"taken further on", Need{Port: port - 1, Variable: "PORT_X", Count: 2}, "is in use"},
		{"zero", Need{Variable: "PORT_X"}, "PORT_X=0"},
		{"too many", Need{Port: 65535, Variable: "PORT_X", Count: 2}, "ports 65535 to 65536 are needed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := CheckPorts(test.need); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ...%s...", err, test.want)
			}
		})
	}
	first, err := FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckPorts(Need{Port: first, Variable: "PORT_X", Count: 3}); err != nil {
		t.Errorf("ports that are free: got %v", err)
	}
}

// TestCheckedPortsAreKept: ports that were asked for are no ports that may be had, though nobody listens there yet.
func TestCheckedPortsAreKept(t *testing.T) {
	first, err := FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	given.Lock()
	clear(given.ports)
	given.Unlock()
	err = CheckPorts(Need{Port: first, Variable: "PORT_X", Count: 2}, Need{Port: first + 2, Variable: "PORT_Y"})
	if err != nil {
		t.Fatal(err)
	}
	given.Lock()
	defer given.Unlock()
	for port := first; port < first+3; port++ {
		if allFree(port, 1) {
			t.Errorf("port %d of %d to %d may be given to somebody else", port, first, first+2)
		}
	}
}

// TestTooManyPorts: there is an error where there are not so many at all.
func TestTooManyPorts(t *testing.T) {
	for _, n := range []int{lastPort - firstPort, lastPort - firstPort + 1} {
		want := fmt.Sprintf("no %d free ports in a row between 11000 and 32000", n)
		if _, err := FreePorts(n); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestFreePorts: who asks at the same time gets other ports, though nobody listens on any of them yet.
func TestFreePorts(t *testing.T) {
	const callers, calls, n = 4, 100, 5
	given.Lock()
	clear(given.ports) // else it is cleared on the way in a process that has asked for many
	given.Unlock()
	var mu sync.Mutex
	var asking sync.WaitGroup
	seen := map[int]bool{}
	for range callers {
		asking.Go(func() {
			for range calls {
				first, err := FreePorts(n)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for port := first; port < first+n; port++ {
					if seen[port] {
						t.Errorf("port %d was given to two", port)
					}
					seen[port] = true
				}
				mu.Unlock()
			}
		})
	}
	asking.Wait()
}

func TestSidecarFile(t *testing.T) {
	c := Sidecar{IngestPorts: []int{1, 2}, Token: "t", AdminPort: 3, Endpoints: Endpoints("s", 7, 2), Unfollowed: true,
		Replicated: "127.0.0.1:9", PrefixPort: 5}
	text, err := c.file()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Envoy     struct{ Ingest []string }
		Discovery struct{ Static []Endpoint }
		Follow    struct{ Enabled bool }
		Replicate struct{ Redis string }
		Prefix    struct{ Address string }
		Responses any
	}
	got.Follow.Enabled = true
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Envoy.Ingest) != 2 || got.Envoy.Ingest[1] != "http://127.0.0.1:2/pintle/v1/snapshot" {
		t.Errorf("ingest: got %q", got.Envoy.Ingest)
	}
	if len(got.Discovery.Static) != 2 || got.Discovery.Static[1] != (Endpoint{"s-1", "127.0.0.1:8"}) {
		t.Errorf("endpoints: got %q", got.Discovery.Static)
	}
	if got.Follow.Enabled || got.Replicate.Redis != "redis://127.0.0.1:9" || got.Prefix.Address != "127.0.0.1:5" ||
		got.Responses != nil {
		t.Errorf("got %+v, want nothing followed, the stream, the prefixes and no conversations", got)
	}
}

// newTestStack is a stack that needs nothing built.
func newTestStack(t *testing.T) *Stack {
	s := &Stack{Root: t.TempDir(), Dir: filepath.Join(t.TempDir(), "files")}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestCloseEndsProcesses(t *testing.T) {
	s := newTestStack(t)
	p, err := s.Start("sleeper", "/bin/sleep", "600")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Errorf("while it runs: got %v", err)
	}
	if _, err := p.CPU(); err != nil {
		t.Errorf("CPU: %v", err)
	}
	s.Close()
	if !p.Ended() {
		t.Error("the process outlives its stack")
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("the stack's folder: got %v, want it gone", err)
	}
}

func TestFailureShowsLog(t *testing.T) {
	s := newTestStack(t)
	p, err := s.Start("loser", "/bin/sh", "-c", "seq 1 40; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	err = p.waitUntil(t.Context(), func() bool { return false })
	if err == nil || !strings.Contains(err.Error(), "loser ended at its start (exit status 3)") ||
		!strings.HasSuffix(err.Error(), "| 40") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(err.Error(), "| 28\n") || !strings.Contains(err.Error(), "| 29\n") {
		t.Errorf("got %v, want the last 12 lines", err)
	}
	p.Stop()
	if err := s.Check(); err == nil {
		t.Error("a process that has ended goes unnoticed, as it was told to end behind that")
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	s := newTestStack(t)
	p, err := s.Start("sleeper", "/bin/sleep", "600")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.waitUntil(ctx, func() bool { return false }); err != context.Canceled {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
