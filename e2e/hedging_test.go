package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestHedging: where Envoy asks another server when the first one takes long, that is the next one in rank, and who
// begins to answer first is heard; also where Envoy shall ask none twice.
func TestHedging(t *testing.T) {
	const patience, another = "hedge_policy: {hedge_on_per_try_timeout: true}\n                  ", `
                    per_try_timeout: 0.5s
                    retry_host_predicate:
                    - name: previous
                      typed_config:
                        "@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate
                    host_selection_retry_max_attempts: 3`
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hangs, err := harness.NewScripted()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(hangs.Close)
			var left atomic.Int64
			hangs.Script(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // before, the server does not see that it is given up
				<-r.Context().Done()
				left.Add(1)
			})
			s := loadShipped(t, name)
			s.text = strings.ReplaceAll(s.text, port(s.dead), port(hangs.Address))
			s.text = strings.Replace(s.text, "retry_policy:\n", patience+"retry_policy:"+another+"\n", 1)
			s.start(t)
			s.publish(t, []harness.Endpoint{
				{Name: "hangs", Address: hangs.Address},
				{Name: "sim-0", Address: s.servers[0].Address, Waiting: 20},
				{Name: "sim-1", Address: s.servers[1].Address, Waiting: 40},
			})
			for i := range 2 {
				wantServer(t, harness.Send(t, harness.Client(t, i == 1), s.chat(t)), "sim-0")
			}
			harness.WaitFor(t, 20*time.Second, "the first server to be given up", func() (bool, string) {
				return left.Load() == 2, fmt.Sprint(left.Load())
			})
		})
	}
}
