package precise

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
)

// TestWhatBecomesOfPrompts: each prompt that is handed over counts as what came of it. That its tokens cannot be had is
// another thing than that nothing sure can be said.
func TestWhatBecomesOfPrompts(t *testing.T) {
	broken := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	refuses := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }
	for _, tc := range []struct {
		name, body string
		engine     http.HandlerFunc
		want       string
	}{
		{"tokens", `{"model":"m","prompt":"a"}`, tenTokens, "learnt"},
		{"several prompts", `{"model":"m","prompt":["a","b"]}`, tenTokens, "none"},
		{"a prompt that is refused", `{"model":"m","prompt":"a"}`, refuses, "none"},
		{"a server that fails", `{"model":"m","prompt":"a"}`, broken, "failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := inBackground(newService(t, tc.engine), config.Ingest{Name: "an Envoy"})
			ctx, end := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				b.Learn(ctx)
				close(ended)
			}()
			p := fourBlocks()
			p.Body = []byte(tc.body)
			b.Take(p.AppendTo(nil))
			harness.WaitFor(t, limit, "the prompt to count as "+tc.want, func() (bool, string) {
				got := map[string]float64{}
				for _, result := range []string{"learnt", "none", "failed", "busy", "unreadable"} {
					var m dto.Metric
					_ = b.prompts.WithLabelValues(result).Write(&m)
					got[result] = m.Counter.GetValue()
				}
				return got[tc.want] == 1, fmt.Sprint(got)
			})
			end()
			wait(t, "the end", ended)
		})
	}
}
