package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/openai"
)

// ttftCeiling is how long the first byte of an answer may take before the virtual model "paced" avoids the model.
const ttftCeiling = time.Second

// virtualModels is a configuration with virtual models over m-v1, which is the better one, and m-v2.
func virtualModels() map[string]any {
	refs := []map[string]any{
		{"model": "m-v1", "quality_score": 0.9}, {"model": "m-v2", "quality_score": 0.6},
		{"model": "nowhere", "quality_score": 1},
	}
	decision := func(name string, policy map[string]any, refs ...map[string]any) map[string]any {
		policy["weights"] = map[string]any{"quality": 1, "latency": 0, "cost": 0, "load": 0}
		return map[string]any{
			"name": name, "modelRefs": refs,
			"algorithm": map[string]any{"type": "multi_factor", "multi_factor": policy},
		}
	}
	ceiling := func() map[string]any {
		return map[string]any{"slo": map[string]any{"max_ttft_ms": ttftCeiling.Milliseconds()},
			"latency_percentile": 100, "latency_window": "2s"}
	}
	decisions := []map[string]any{
		decision("auto", map[string]any{}, refs...),
		decision("odd-auto", map[string]any{}, map[string]any{"model": oddModel}),
		decision("paced", ceiling(), refs...), decision("nothing", map[string]any{}, refs[2]),
	}
	plugins := []map[string]any{
		{"type": "multi-factor-selector", "parameters": map[string]any{"decisions": decisions}},
		{"type": "queue-scorer"},
	}
	return map[string]any{
		"config": map[string]any{"plugins": plugins}, "debug": true, "stale": map[string]any{"after": "1h"},
		"load": map[string]any{"correction": false},
	}
}

// publishModels has sim-0 and sim-2 serve m-v1, sim-1 m-v2 and sim-3 an odd one. sim-2 has a longer queue than sim-0,
// and all have a longer one than sim-3.
func (f *fixture) publishModels(t testing.TB) {
	t.Helper()
	endpoints := f.pool("sim-3")
	endpoints[2].Waiting = 20
	for i, model := range []string{"m-v1", "m-v2", "m-v1", oddModel} {
		endpoints[i].Models = []string{model}
	}
	f.Publish(t, endpoints...)
}

// TestVirtualModel: a virtual model is replaced in the body by the one that is chosen, nothing else changes, and the
// request reaches a server of that model.
func TestVirtualModel(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.publishModels(t)
		tests := []struct{ virtual, model, server string }{
			{`"auto"`, "m-v1", "sim-0"}, {`"\u0061uto"`, "m-v1", "sim-0"}, {`"odd-auto"`, oddModel, "sim-3"},
			{`"m-v1"`, "m-v1", "sim-0"},
		}
		for _, tc := range tests {
			for i, shape := range shapes {
				text := strings.Replace(shape.body, "TEXT", strings.Repeat("all work ", 1+i*4000), 1)
				body := strings.Replace(text, "MODEL", tc.virtual, 1)
				want := strings.Replace(text, "MODEL", string(openai.AppendQuoted(nil, tc.model)), 1)
				got, r := f.sendTo(t, "virtual", chatPath, body, i%2 == 1)
				what := fmt.Sprintf("%s, %s", tc.virtual, shape.name)
				if got.Server() != tc.server || modelOf(t, got.Body) != tc.model {
					t.Errorf("%s: answer of %s for %s, want %s for %s", what, got.Server(), modelOf(t, got.Body),
						tc.server, tc.model)
				}
				f.wantArrival(t, what, passage{http2: i%2 == 1}, r, want)
			}
		}
	})
}

// TestSelectionIsExplained: with debug the answer says how the model was chosen, and a refusal says why none was.
func TestSelectionIsExplained(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.publishModels(t)
		got, _ := f.sendTo(t, "virtual", chatPath, strings.Replace(chatBody, "sim-model", "auto", 1), false)
		var explanation struct{ Selection []any }
		if err := json.Unmarshal([]byte(got.Header.Get("X-Pintle-Explain")), &explanation); err != nil {
			t.Fatalf("x-pintle-explain is %q: %v", got.Header.Get("X-Pintle-Explain"), err)
		}
		want := []any{"auto", "m-v1", "score",
			[]any{[]any{"m-v1", 1.0}, []any{"m-v2", 0.0}, []any{"nowhere", "not served"}}}
		if !reflect.DeepEqual(explanation.Selection, want) {
			t.Errorf("selection is %v, want %v", explanation.Selection, want)
		}
		for _, http2 := range []bool{false, true} {
			body := strings.Replace(chatBody, "sim-model", "nothing", 1)
			request := harness.Request(t, http.MethodPost, f.URL("virtual", chatPath), body, false)
			wantError(t, harness.Send(t, harness.Client(t, http2), request), http.StatusServiceUnavailable, "no_model")
		}
	})
}

// TestCeilingMovesTraffic: when the better model's servers become slower than the ceiling, requests for the virtual
// model go to the other one, and back when the slow answers are forgotten.
func TestCeilingMovesTraffic(t *testing.T) {
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		f.publishModels(t)
		wantModel := func(when, model, server string) {
			t.Helper()
			harness.WaitFor(t, 30*time.Second, when, func() (bool, string) {
				got, _ := f.sendTo(t, "virtual", chatPath, strings.Replace(chatBody, "sim-model", "paced", 1), false)
				return modelOf(t, got.Body) == model && got.Server() == server, got.Body
			})
		}
		wantModel("the better model at rest", "m-v1", "sim-0")
		f.slow(t, "sim-0", ttftCeiling+500*time.Millisecond)
		wantModel("the other model while the better one is slow", "m-v2", "sim-1")
		f.slow(t, "sim-0", 0)
		wantModel("the better model when it is fast again", "m-v1", "sim-0")
	})
}

// slow has a server delay its answers, until the test ends; 0 ends it.
func (f *fixture) slow(t testing.TB, name string, delay time.Duration) {
	t.Helper()
	set := func(mode string) {
		for _, s := range f.servers {
			if s.Name != name {
				continue
			}
			body := fmt.Sprintf(`{"mode":%q,"delayMillis":%d}`, mode, delay.Milliseconds())
			response, err := http.Post("http://"+s.Address+"/sim/fail", "application/json", strings.NewReader(body))
			if err != nil || response.StatusCode >= 300 {
				t.Errorf("POST /sim/fail %s: %v, %v", body, response, err)
				return
			}
			_ = response.Body.Close()
		}
	}
	if delay == 0 {
		set("none")
		return
	}
	set("slow-headers")
	t.Cleanup(func() { set("none") })
}
