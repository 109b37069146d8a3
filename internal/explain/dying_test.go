package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// TestDyingServers: whatever a configuration goes by, of a hundred requests of one session with one prompt few are lost
// once the server dies that had them, or the one that computed the prompt for it.
func TestDyingServers(t *testing.T) {
	const (
		dies     = 20 // requests before it
		requests = 100
		most     = 7 // six failures, and one that its earlier answers raise doubt of
	)
	played := 0
	for _, c := range goldenCases(t) {
		for _, roles := range [][]string{{"decode", "prefill", "encode"}, {"both"}, {""}} {
			for _, victim := range []string{"primary", "prefill"} {
				p := newPlay(t, c, roles)
				if p == nil {
					continue
				}
				for range dies {
					p.ask(t)
				}
				if p.refused > 0 {
					continue // nobody serves such a pool by this configuration
				}
				if p.dead = p.primary; victim == "prefill" {
					p.dead = p.prefill
				}
				if p.dead == nil {
					continue
				}
				for range requests {
					p.ask(t)
				}
				if played++; p.lost+p.refused > most {
					t.Errorf("%s, servers of %q, %s dies: %d requests were lost and %d refused, want %d at most",
						c.Name, roles, victim, p.lost, p.refused, most)
				}
			}
		}
	}
	if played < 300 {
		t.Errorf("%d servers died, want 300 at least", played)
	}
}

// play is a gateway before servers of which one dies.
type play struct {
	plan           *scoring.Plan
	cycle          *scoring.Cycle
	now            int64
	lease          uint32
	primary        *scoring.Endpoint // of the last request
	prefill        *scoring.Endpoint
	dead           *scoring.Endpoint
	lost, refused  int
	event, outcome journal.Event
}

// newPlay has nine servers with roles in turn, nil where a configuration is wrong or lets servers fail.
func newPlay(t *testing.T, c goldenCase, roles []string) *play {
	t.Helper()
	config, err := c.configuration()
	if err != nil || !config.Plan.StateOptions().Failures {
		return nil
	}
	pool := &scoring.Pool{Endpoints: make([]scoring.Endpoint, 9), State: state.New(config.Plan.StateOptions())}
	for i := range pool.Endpoints {
		e := &pool.Endpoints[i]
		e.Index, e.Name, e.Address = i, string(rune('a'+i)), fmt.Sprintf("10.0.0.%d:8000", i+1)
		e.Metrics.SampledAt = goldenNow
		if role := roles[i%len(roles)]; role != "" {
			e.Labels = []scoring.Label{{Key: "llm-d.ai/role", Value: role}, {Key: "mif.moreh.io/role", Value: role}}
		}
	}
	pool.Enter()
	p := &play{plan: config.Plan, cycle: scoring.NewCycle(goldenSeed), now: goldenNow}
	p.cycle.Pool = pool
	return p
}

// ask sends the next request. One that a dead server has a part in fails, as it does behind llm-d's routing sidecar.
func (p *play) ask(t *testing.T) {
	t.Helper()
	c, pool := p.cycle, p.cycle.Pool
	p.now += int64(20 * time.Millisecond) // so that failures hardly fade
	p.lease++
	pool.State.Expire(p.now)
	for i := range pool.Endpoints {
		pool.Endpoints[i].Metrics.SampledAt = p.now
	}
	c.Request = scoring.Request{Now: p.now}
	for range p.plan.RequestHeaders() {
		c.Request.Headers = append(c.Request.Headers, "")
	}
	if i := slices.Index(p.plan.RequestHeaders(), "x-session-id"); i >= 0 {
		c.Request.Headers[i] = "ann"
	}
	body := `{"model": "m", "messages": [{"role": "user", "content": "` + strings.Repeat("hello world ", 300) + `"}]}`
	if failure := c.Request.Read(new(openai.Request), openai.APIChat, []byte(body)); failure != nil {
		t.Fatal(failure.Message)
	}
	picked, failure := p.plan.Decide(c)
	if failure != nil {
		p.refused++
		return
	}
	p.plan.Record(c, &p.event)
	client := uint64(p.lease%7 + 1)
	p.event.Time, p.event.Instance, p.event.Lease, p.event.Client = p.now, 1, p.lease, client
	pool.State.Apply(&p.event)
	p.primary, p.prefill = picked[0], c.Prefill()
	p.outcome = journal.Event{Kind: journal.Completion, Time: p.now, Instance: 1, Lease: p.lease, Client: client,
		Primary: p.event.Primary, Model: p.event.Model, Status: 200, Ended: journal.EndedWhole, TTFTMicros: 1000,
		DurationMicros: 2000}
	if p.dead != nil && (p.primary == p.dead || p.prefill == p.dead) {
		p.outcome.Status = 502
		p.lost++
	}
	pool.State.Apply(&p.outcome)
}
