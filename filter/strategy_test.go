package main_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// byStrategy has a strategy for the queue and one that counts requests in flight, and one for users.
const byStrategy = `{"plugins":[{"type":"routing-strategy-handler"},{"type":"queue-scorer"},{"type":"least-request"},{"type":"vtc-basic"}],
	"schedulingProfiles":[{"name":"queue","plugins":[{"pluginRef":"queue-scorer"}]},{"name":"least-request","plugins":[{"pluginRef":"least-request"}]},
	{"name":"vtc-basic","plugins":[{"pluginRef":"vtc-basic"}]}]}`

func TestStrategyOfRequest(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGatewayIn(t, m, 2, m.configuration(byStrategy, ""),
			map[string]string{"PATH": "/bin", "ROUTING_ALGORITHM": "least-request"})
		g.publish(newPool(0, 9))
		strategy := func(name string) [2]string { return [2]string{"routing-strategy", name} }
		// It stays in flight, so that the other endpoint is the least busy one for both workers.
		g.wantRanked(g.workers[0].ask(strategy("queue")), address(0))
		for _, w := range g.workers {
			for _, ask := range []func() *wazerohost.Stream{
				func() *wazerohost.Stream { return w.ask() },
				func() *wazerohost.Stream { return w.ask(strategy("least-request")) },
				func() *wazerohost.Stream { return w.ask(strategy("least-request:3,vtc-basic:1,queue:0")) },
			} {
				s := ask()
				g.wantRanked(s, address(1))
				s.Finish()
			}
			for name, reason := range map[string]string{"fastest": "unknown_strategy", "queue:x": "invalid_strategy"} {
				e := wantError(t, w.ask(strategy(name)), 400, reason)
				if e.Error.Type != "invalid_request_error" {
					t.Errorf("%s: got type %s, want invalid_request_error", name, e.Error.Type)
				}
			}
		}
	})
}

// TestMixIsExplained: x-pintle-explain gives the totals that decided.
func TestMixIsExplained(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byStrategy, `"debug":true,`))
		g.publish(newPool(4, 0, 1))
		s := g.workers[0].ask([2]string{"routing-strategy", "queue:3,least-request:1"})
		s.Respond(nil, true)
		want := [][]any{{"default/vllm-0", 0.25}, {"default/vllm-1", 1.0}, {"default/vllm-2", 0.8125}}
		if e := explained(t, s); !reflect.DeepEqual(e.Mix, want) {
			t.Errorf("explained %+v, want the mix %v", e, want)
		}
		s = g.workers[0].ask([2]string{"routing-strategy", "queue"})
		s.Respond(nil, true)
		if e := explained(t, s); e.Mix != nil {
			t.Errorf("explained %+v, want no mix", e)
		}
	})
}

// TestLongMixesAreCut: the header lists no more totals than it may, and counts those that it leaves out.
func TestLongMixesAreCut(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byStrategy, `"debug":true,`))
	g.publish(newPool(make([]uint32, 30)...))
	s := g.workers[0].ask([2]string{"routing-strategy", "queue:3,least-request:1"})
	s.Respond(nil, true)
	if e := explained(t, s); len(e.Scores) != 60 || len(e.Mix) != 4 || e.Omitted != 26 {
		t.Errorf("two scorers of 30 endpoints: got %d scores, a mix of %d and %d omitted, want 60, 4 and 26",
			len(e.Scores), len(e.Mix), e.Omitted)
	}
}

// serve answers a request with what it used.
func serve(s *wazerohost.Stream, input, output int) {
	s.Respond(wazerohost.Headers{{"content-type", "application/json"}}, false)
	s.RespondBody(fmt.Appendf(nil, `{"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, input, output), true)
}

// What a user took counts for all workers.
func TestUsersAreKeptApart(t *testing.T) {
	const config = `{"plugins":[{"type":"vtc-basic"}]}`
	long := `{"model":"m","prompt":"` + strings.Repeat("long ", 4000) + `"}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(config, ""))
		g.publish(newPool(0, 0, 0))
		user := func(name string) [2]string { return [2]string{"user", name} }
		serve(g.workers[0].ask(user("light")), 5, 5)
		serve(g.workers[0].askBody(long, user("heavy")), 4000, 5000)
		for _, w := range g.workers {
			for range 3 {
				heavy, light := w.askBody(long, user("heavy")), w.ask(user("light"))
				g.wantRanked(heavy, address(2))
				g.wantRanked(light, address(0))
				heavy.Finish()
				light.Finish()
				named := w.askBody(strings.Replace(long, "{", `{"user":"heavy",`, 1))
				g.wantRanked(named, address(2))
				named.Finish()
			}
		}
	})
}

// What a server reports takes the place of the estimate: a short prompt with a very long answer makes its user the
// heavy one.
func TestReportedTokensReplaceTheEstimate(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(`{"plugins":[{"type":"vtc-basic"}]}`, ""))
		g.publish(newPool(0, 0, 0))
		user := func(name string) [2]string { return [2]string{"user", name} }
		serve(g.workers[0].askBody(`{"model":"m","prompt":"`+strings.Repeat("long ", 1000)+`"}`, user("prompts")), 1000,
			10)
		serve(g.workers[0].ask(user("answers")), 5, 100_000)
		// Users whom nobody serves are as far off as they may, and move nobody.
		for i := range 20 {
			g.workers[0].askBody(`{"model":"m","prompt":"`+strings.Repeat("long ", 50_000)+`"}`,
				user("invented"+strconv.Itoa(i))).Abort()
		}
		for _, w := range g.workers {
			for name, want := range map[string]int{"answers": 2, "prompts": 0} {
				s := w.ask(user(name))
				g.wantRanked(s, address(want))
				s.Finish()
			}
		}
	})
}

func TestEnvironmentThatCannotBeRead(t *testing.T) {
	m := modes[0]
	clock := wazerohost.NewClock(startTime)
	o := m.options(clock)
	o.Env = map[string]string{"AIBRIX_ROUTER_VTC_BASIC_MAX_POD_LOAD": "lots"}
	w, err := newHost(t, o).Worker()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Start(wazerohost.PluginConfig{
		Configuration: m.configuration(`{"plugins":[{"type":"vtc-basic"}]}`, "")}); err == nil {
		t.Error("the plug-in starts, want it to refuse AIBRIX_ROUTER_VTC_BASIC_MAX_POD_LOAD")
	}
}
