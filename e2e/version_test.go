package e2e

import (
	"net/http"
	"regexp"
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
