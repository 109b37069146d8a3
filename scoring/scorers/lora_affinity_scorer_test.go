package scorers_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestLoRAAffinity: the score of a server by what it reports, for a request for the adapter m; x and y are others.
func TestLoRAAffinity(t *testing.T) {
	const x, m, y = 0, 1, 2
	list := func(adapters ...uint16) []uint16 { return adapters }
	for _, tc := range []struct {
		name             string
		running, waiting []uint16
		most             int
		heimdall, llmd   float64
	}{
		{"it runs", list(x, m), nil, 3, 1, 1},
		{"it runs where there is no room", list(x, m), list(y), 2, 1, 1},
		{"it runs, and the room is not known", list(m), nil, 0, 1, 1},
		{"room for one more", list(x), nil, 2, 0.8, 0.8},
		{"room for one more, and it waits", list(x), list(m), 3, 0.8, 0.8},
		{"nothing runs", nil, nil, 1, 0.8, 0.8},
		{"it waits where there is no room", list(x), list(m), 2, 0.6, 0.6},
		{"it waits, and the room is not known", nil, list(m), 0, 0.6, 0.6},
		{"no room", list(x, y), nil, 2, 0, 0},
		{"no room for what waits", list(x), list(y), 2, 0, 0},
		{"nothing was ever reported", nil, nil, 0, 0.8, 0},
		{"the room is not known", list(x), nil, 0, 0.5, 0},
	} {
		for dialect, want := range map[string]float64{
			"inference.networking.x-k8s.io/v1alpha1": tc.heimdall, "llm-d.ai/v1": tc.llmd} {
			t.Run(tc.name+" in "+dialect, func(t *testing.T) {
				plan := plantest.Plan(t, `{"apiVersion": "`+dialect+`", "plugins": [{"type": "lora-affinity-scorer"}]}`,
					plantest.Neutral)
				metrics := scoring.Metrics{RunningLoRA: tc.running, WaitingLoRA: tc.waiting, MaxLoRA: tc.most}
				pool := plantest.Pool(plantest.Sampled(metrics), plantest.Aged(time.Hour, metrics))
				pool.Adapters = []string{"x", "m", "y"}
				c := plantest.Cycle(pool, 1)
				c.Request.Model = "m"
				got := plantest.Decide(plan, c).Scores["lora-affinity-scorer"]
				if got["a"] != want || got["b"] != 0.5 {
					t.Errorf("scores %v, want %v and 0.5 without fresh metrics", got, want)
				}
			})
		}
	}
}

// TestLoRAAffinityOfAnotherModel: a model that is no server's adapter runs and waits nowhere.
func TestLoRAAffinityOfAnotherModel(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "lora-affinity-scorer"}]}`, plantest.Neutral)
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{RunningLoRA: []uint16{0}, MaxLoRA: 1}),
		plantest.Sampled(scoring.Metrics{RunningLoRA: []uint16{0}, MaxLoRA: 2}))
	pool.Adapters = []string{"x"}
	c := plantest.Cycle(pool, 1)
	c.Request.Model = "m"
	got := plantest.Decide(plan, c).Scores["lora-affinity-scorer"]
	if got["a"] != 0 || got["b"] != 0.8 {
		t.Errorf("scores %v, want 0 without room and 0.8 with room", got)
	}
}
