package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestListsOfModelsExpire: servers keep their lists of models when snapshots have none for them, and only for so long.
func TestListsOfModelsExpire(t *testing.T) {
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			e := newTimed(t, cell, map[string]any{"config": json.RawMessage(discovery)})
			e.endpoints[0].Models, e.endpoints[1].Models = []string{"m-a"}, []string{"m-b"}
			e.endpoints[0].Waiting = 100
			send := func(model string) harness.Answer { return askFor(t, e.Envoy, model) }
			kept := func(when string) {
				for model, server := range map[string]string{"m-a": "a", "m-b": "b"} {
					if got := send(model); got.Status != http.StatusOK || got.Server() != server {
						t.Errorf("%s: %s: got %d from %q, want %s", when, model, got.Status, got.Server(), server)
					}
				}
				if got := send("m-c"); got.Status != http.StatusNotFound {
					t.Errorf("%s: a model that nobody has: got %d, want 404", when, got.Status)
				}
			}
			e.pass(t, 0)
			kept("as listed")
			e.endpoints[0].Models, e.endpoints[1].Models = nil, nil
			e.pass(t, 0)
			kept("no longer listed")
			e.pass(t, 20*time.Second)
			kept("for 20 s")
			e.pass(t, 11*time.Second)
			for _, model := range []string{"m-a", "m-c"} {
				harness.WaitFor(t, 20*time.Second, model+" to be served by b, which is idle", func() (bool, string) {
					got := send(model)
					return got.Server() == "b", fmt.Sprint(got.Status, " ", got.Server())
				})
			}
		})
	}
}
