package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/replay"
)

// startRecorder has the command record into a file.
func startRecorder(t *testing.T, envoy *harness.Envoy, file string) *harness.Child {
	t.Helper()
	binary, err := harness.Built("pintle")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "sidecar.yaml")
	text := fmt.Sprintf("envoy: {ingest: \"http://%s/pintle/v1/snapshot\", token: %q}\ndiscovery:\n  static:\n"+
		"  - {name: unused, address: \"127.0.0.1:1\"}\n", envoy.Address("ingest"), harness.Token)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := harness.StartChild("record", t.TempDir(), binary, nil, "record", "-c", config, "-o", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("last lines of pintle record:\n%s", p.Log())
		}
	})
	return p
}

// recorded is how many requests a recording has, however they ended. It is 0 while there is no file.
func recorded(file string) (all int, trace *replay.Trace) {
	f, err := os.Open(file)
	if err != nil {
		return 0, nil
	}
	defer f.Close()
	if trace, err = replay.Read(f); err != nil {
		return 0, nil // its first bytes are not there yet
	}
	return inTrace(trace), trace
}

// inTrace is how many requests a trace has without those that are left out of a ledger.
func inTrace(trace *replay.Trace) (all int) {
	all = len(trace.Requests) + trace.Unended - trace.Failed[probed]
	for _, n := range trace.Failed {
		all += n
	}
	return all
}

// killedRecorder is a recorder that is killed while requests come, once it has written some. The channel is closed
// then.
func killedRecorder(t *testing.T, envoy *harness.Envoy, file string) (killed chan struct{}) {
	t.Helper()
	p := startRecorder(t, envoy, file)
	killed = make(chan struct{})
	go func() {
		defer close(killed)
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if n, _ := recorded(file); n >= 50 {
				break
			}
		}
		p.Kill()
	}()
	return killed
}

// wantReplayed: the file of the recorder that was killed can be read and replayed; one that is started in its place
// keeps it, and has all requests that the journal still has.
func wantReplayed(t *testing.T, envoy *harness.Envoy, file string, requests int) {
	t.Helper()
	n, trace := recorded(file)
	if n < 50 || n > requests || len(trace.Requests) == 0 {
		t.Fatalf("the killed recorder's file has %d of %d requests", n, requests)
	}
	binary, err := harness.Built("pintle")
	if err != nil {
		t.Fatal(err)
	}
	text, err := harness.Output(nil, "", binary, "replay", "-o", "json", "-c",
		filepath.Join(harness.Root(), "internal/shipped/config.yaml"), file)
	var got struct {
		Reports []struct {
			Name     string
			Requests int
		}
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &got)
	}
	if err != nil || len(got.Reports) != 2 || got.Reports[1].Requests != len(trace.Requests) {
		t.Fatalf("replayed: %v, %+v, want %d requests beside what was recorded", err, got.Reports, len(trace.Requests))
	}
	second := startRecorder(t, envoy, file)
	harness.WaitFor(t, 20*time.Second, "the second recorder to have all", func() (bool, string) {
		n, _ := recorded(file)
		return n == requests, fmt.Sprint(n)
	})
	second.Stop()
	if second.ExitCode() != 0 || !strings.Contains(second.Log(), " 0 missed") {
		t.Errorf("exit code %d: %s", second.ExitCode(), second.Log())
	}
	if kept, _ := recorded(file + ".1"); kept != n {
		t.Errorf("%d requests are kept of the killed recorder's, want %d", kept, n)
	}
}
