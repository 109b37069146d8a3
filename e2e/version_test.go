package e2e

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestModuleVersion: which module runs is in Envoy's log when its plug-ins start, also when they refuse their
// configuration, and in the log of the sidecar that feeds it. Clients are not told.
func TestModuleVersion(t *testing.T) {
	t.Parallel()
	plugin := alone("queue-scorer")
	l := newLab(t, harness.Options{Dynamic: true}, recoveryCells[0], plugin)
	sidecar := harness.StartSidecar(t, l.URL("ingest", harness.IngestPath), l.servers...)
	said := func(log func() string, pattern string) {
		t.Helper()
		line := regexp.MustCompile(pattern)
		harness.WaitFor(t, 20*time.Second, "a line with "+pattern,
			func() (bool, string) { return line.MatchString(log()), log() })
	}
	said(l.Log, `info.*pintle: version v\d\S*, dialect `)
	said(sidecar.Log, `msg="push accepted" .*filter=v\d`)
	answer := harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, l.URL("requests", chatPath), chatBody, false))
	if answer.Header.Get("x-pintle-version") != "" {
		t.Errorf("an answer to a client: got %v, want no version in it", answer.Header)
	}
	plugin["stale"] = map[string]any{"after": "soon"}
	l.Reconfigure(t, nil, l.listeners...)
	said(l.Log, `error.*pintle: version v\d\S* refuses its configuration`)
}

// TestOlderEnvoy: an Envoy before 1.37 cannot be told the address of a request that has waited, where that is filter
// state. The plug-in says so when it starts there, and nowhere else.
func TestOlderEnvoy(t *testing.T) {
	t.Parallel()
	for _, cell := range harness.Cells() {
		l := newLab(t, harness.Options{}, cell, alone("queue-scorer"))
		harness.WaitFor(t, 20*time.Second, "a plug-in that starts",
			func() (bool, string) { return strings.Contains(l.Log(), "pintle: version"), l.Log() })
		info, err := l.Admin("/server_info")
		if err != nil {
			t.Fatal(err)
		}
		version := regexp.MustCompile(`/1\.(\d+)\.\d+`).FindStringSubmatch(info)
		if version == nil {
			t.Fatalf("/server_info: got %s, want a version 1.x", info)
		}
		minor, _ := strconv.Atoi(version[1])
		want := minor < 37 && cell.Hold == "buffer" && cell.Destination == "original-dst"
		if got := strings.Contains(l.Log(), "older than 1.37"); got != want {
			t.Errorf("%v in Envoy 1.%d: warned %v, want %v:\n%s", cell, minor, got, want, l.Log())
		}
	}
}
