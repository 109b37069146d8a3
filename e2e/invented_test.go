package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	status "github.com/pintle-dev/pintle/internal/sidecar/traffic"
	"github.com/pintle-dev/pintle/journal"
)

// TestInventedModels: names that clients invent take no room in the list of 256 names where the servers list their
// models; where they list none the first ones have it, and what is told of all others is told as other.
func TestInventedModels(t *testing.T) {
	const invented = journal.MaxNames + 44
	for _, test := range []struct {
		name   string
		models []string
		// names are how many models have names, others how many requests were for other ones.
		names, others int
	}{
		{"servers that list their models", []string{"sim-model", "m-v1"}, 2, 0},
		{"servers that take any", nil, journal.MaxNames, invented + 2 - journal.MaxNames},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, harness.Options{Workers: 1}, recoveryCells[0], alone("queue-scorer"))
			l.LogOnFailure(t)
			endpoints := l.endpoints()
			for i := range endpoints {
				endpoints[i].Models = test.models
			}
			l.Publish(t, endpoints...)
			shown := status.New(status.Options{})
			followed(t, l.Envoy, shown)
			var before map[string]float64
			harness.WaitFor(t, 20*time.Second, "the worker to know that it is followed", func() (bool, string) {
				l.ask(t, "sim-model")
				before = requestsByModel(t, shown)
				return before["sim-model"] > 0, fmt.Sprint(before)
			})
			for i := range invented {
				got := l.ask(t, fmt.Sprint("invented-", i))
				if refused := got.Header.Get("X-Pintle-Reason") == "model_not_found"; refused != (test.models != nil) {
					t.Fatalf("an invented model: got %d %v", got.Status, got.Header)
				}
			}
			l.ask(t, "m-v1")
			harness.WaitFor(t, 20*time.Second, "all to be counted", func() (bool, string) {
				got := requestsByModel(t, shown)
				others := got["other"] - before["other"]
				delete(got, "other")
				return len(got) == test.names && others == float64(test.others) &&
						(got["m-v1"] == 1) == (test.models != nil),
					fmt.Sprintf("%d names, %v other ones, %v of m-v1", len(got), others, got["m-v1"])
			})
		})
	}
}

// ask sends a short request for a model.
func (l *lab) ask(t *testing.T, model string) harness.Answer {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"max_tokens":1,"messages":[{"role":"user","content":"hello"}]}`, model)
	return harness.Send(t, http.DefaultClient, harness.Request(t, http.MethodPost, l.URL("requests", chatPath), body,
		false))
}

// requestsByModel are the requests that a sidecar's metrics count.
func requestsByModel(t *testing.T, shown *status.Traffic) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for _, f := range metricsOf(t, shown) {
		if f.GetName() != "pintle_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "model" {
					got[label.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return got
}
