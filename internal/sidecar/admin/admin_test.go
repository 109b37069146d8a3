package admin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestEndpointTellsTheServer: what is known of the server's process and batch is told, what is not known is left out.
func TestEndpointTellsTheServer(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		name   string
		sample engine.Sample
		want   string
	}{
		{"both", engine.Sample{MaxRunning: 64, ProcessStart: 1_700_000_000_250},
			`"maxRunning":64,"processStart":"2023-11-14T22:13:20.25Z"`},
		{"neither", engine.Sample{}, ""},
		{"some process", engine.Sample{ProcessStart: snapshot.SomeStart}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			view := pool.View{Sample: test.sample, Sampled: now}
			text, err := json.Marshal(describe(&snapshot.Endpoint{Name: "a"}, view, now))
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(text), `"numGpuBlocks":0,`)
			got, _, _ := strings.Cut(rest, `"age"`)
			if got = strings.TrimSuffix(got, ","); got != test.want {
				t.Errorf("got %s, want %s, in %s", got, test.want, text)
			}
		})
	}
}
