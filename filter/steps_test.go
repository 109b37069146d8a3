package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
)

// written are an event's steps, with names in the place of hashes. It implements journal.StepsReader.
type written struct {
	names map[uint64]string
	lines []string
}

// steps are an event's, empty for none.
func (f *follower) steps(e *journal.Event) string {
	w := &written{names: map[uint64]string{endpointID(0): "vllm-0", endpointID(1): "vllm-1"}}
	for _, names := range f.names() {
		for _, name := range strings.Fields(names) {
			w.names[journal.HashName(name)] = name
		}
	}
	journal.ReadSteps(e.Steps, w)
	return strings.Join(w.lines, ", ")
}

func (w *written) add(format string, of ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, of...))
}

// Profile implements journal.StepsReader.
func (w *written) Profile(hash uint64) { w.add("profile %s", w.names[hash]) }

// Removed implements journal.StepsReader.
func (w *written) Removed(plugin, endpoint uint64) {
	w.add("%s removes %s", w.names[plugin], w.names[endpoint])
}

// Scored implements journal.StepsReader.
func (w *written) Scored(plugin, endpoint uint64, score float64) {
	w.add("%s %s %g", w.names[plugin], w.names[endpoint], score)
}

// Total implements journal.StepsReader.
func (w *written) Total(endpoint uint64, total float64) {
	w.add("%s %g in all", w.names[endpoint], total)
}

// Picked implements journal.StepsReader.
func (w *written) Picked(endpoint uint64) { w.add("picks %s", w.names[endpoint]) }

// filtering removes servers of another role, and filteringSteps are those of a decision between two of which the
// second one is left.
const (
	filtering = `{"plugins":[{"type":"by-label","parameters":{"label":"role","validValues":["decode"]}},` +
		`{"type":"queue-scorer"},{"type":"max-score-picker"}],"schedulingProfiles":[{"name":"default","plugins":[` +
		`{"pluginRef":"by-label"},{"pluginRef":"queue-scorer","weight":2},{"pluginRef":"max-score-picker"}]}]}`
	filteringSteps = "profile default, by-label removes vllm-0, queue-scorer vllm-1 1, vllm-1 2 in all, picks vllm-1"
)

// TestSteps: of the sample, of refusals and of failures followers are told how they were decided, of others not; while
// nobody wants any steps, of none.
func TestSteps(t *testing.T) {
	m := modes[0]
	for _, tc := range []struct {
		name   string
		sample int
		// decision is what decisions bring, failed what the end of one that failed does.
		decision, failed, refused string
	}{
		{name: "all", sample: 1_000_000, decision: filteringSteps,
			refused: "profile default, by-label removes vllm-0"},
		{name: "next to none", sample: 1, failed: filteringSteps, refused: "profile default, by-label removes vllm-0"},
		{name: "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newGateway(t, m, 1, m.configuration(filtering, ""))
			f := &follower{gateway: g, sample: tc.sample}
			f.events()
			g.workers[0].Tick()
			g.publish(newPool(0, 3).label(1, "role", "decode"))
			answer := func(status string) (decision, completion journal.Event) {
				s := g.workers[0].askBody(`{"model":"m1","prompt":"secret","user":"mallory"}`)
				s.SetServer(address(1))
				s.Respond(wazerohost.Headers{{":status", status}}, true)
				s.Finish()
				all := slices.DeleteFunc(f.events(), func(e journal.Event) bool { return e.Kind == journal.Began })
				if len(all) != 2 {
					t.Fatalf("got %+v, want a decision and its end", all)
				}
				return all[0], all[1]
			}
			want := func(what string, e *journal.Event, want string) {
				t.Helper()
				if got := f.steps(e); got != want {
					t.Errorf("%s: got %q, want %q", what, got, want)
				}
			}
			decision, completion := answer("200")
			want("a decision", &decision, tc.decision)
			want("its end", &completion, "")
			decision, completion = answer("500")
			want("a decision that fails", &decision, tc.decision)
			want("its end", &completion, tc.failed)
			g.publish(newPool(0))
			g.workers[0].ask().Finish()
			if all := f.events(); len(all) != 1 || all[0].Kind != journal.Refused {
				t.Errorf("got %+v, want a refusal", all)
			} else {
				want("a refusal", &all[0], tc.refused)
			}
			if names := fmt.Sprint(f.names()); strings.Contains(names, "secret") || strings.Contains(names, "mallory") {
				t.Errorf("the request's own words are told: %s", names)
			}
		})
	}
}

// selecting has the virtual model auto.
const selecting = `{"plugins":[{"type":"queue-scorer"},{"type":"multi-factor-selector","parameters":{"decisions":[` +
	`{"name":"auto","modelRefs":[{"model":"m"}]}]}}]}`

// TestFollowedDecisionsAreExplained: x-pintle-explain says the same whether or not followers want the steps, and they
// are told what the strategies of a mix come to.
func TestFollowedDecisionsAreExplained(t *testing.T) {
	for _, tc := range []struct{ name, document, explained, steps string }{
		{"a mix", byStrategy, `"mix":[`, "profile queue, vllm-0 0.25 in all, vllm-1 1 in all, picks vllm-1"},
		{"a filter", filtering, `"by-label"`, filteringSteps},
		{"a virtual model", selecting, `"selection":["auto","m",`, "picks vllm-1"},
	} {
		m := modes[0]
		g := newGateway(t, m, 1, m.configuration(tc.document, `"debug":true,"load":{"correction":false},`))
		g.publish(newPool(4, 0).label(1, "role", "decode"))
		ask := func() string {
			s := g.workers[0].askBody(`{"model":"auto","prompt":"hello"}`,
				[2]string{"routing-strategy", "queue:3,least-request:1"})
			s.Respond(nil, true)
			s.Finish()
			return s.ResponseHeaders().Get("x-pintle-explain")
		}
		before := ask()
		f := &follower{gateway: g, sample: 1_000_000}
		f.events()
		g.workers[0].Tick()
		if after := ask(); after != before || !strings.Contains(before, tc.explained) {
			t.Errorf("%s, followed: got %s, want %s with %s", tc.name, after, before, tc.explained)
		}
		if got := f.events(); len(got) == 0 || !strings.Contains(f.steps(&got[0]), tc.steps) {
			t.Errorf("%s: got %q of %+v, want steps with %q", tc.name, f.steps(&got[0]), got, tc.steps)
		}
	}
}

// TestExplainedWhenNobodyWantsSteps: x-pintle-explain is of its own decision also where followers have given up steps.
func TestExplainedWhenNobodyWantsSteps(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, `"debug":true,`))
	g.publish(newPool(0, 3))
	for _, tc := range []struct{ name, query, best string }{
		{"steps of all", "?sample=1000000", serverName(0)}, {"of none", "?sample=0", serverName(1)},
	} {
		g.workers[0].follow("/pintle/v1/journal" + tc.query)
		g.workers[0].Tick()
		s := g.workers[0].ask()
		s.Respond(nil, true)
		s.Finish()
		if got := fmt.Sprint(explained(t, s).Scores); !strings.Contains(got, tc.best+" queue-scorer 1]") {
			t.Errorf("%s: got the scores %s, want 1 for %s", tc.name, got, tc.best)
		}
		g.publish(newPool(3, 0))
	}
}

// TestSamplesAreKept: how many steps are wanted stays as it was said last, also for who does not say it.
func TestSamplesAreKept(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	g.publish(newPool(0))
	for _, tc := range []struct {
		query string
		told  bool
	}{{"", false}, {"?sample=1000000", true}, {"", true}, {"?keep=0.0.0.0", true}, {"?sample=0", false}, {"", false}} {
		g.workers[0].follow("/pintle/v1/journal" + tc.query)
		g.workers[0].Tick()
		g.workers[0].ask().Finish()
		all := g.events(journal.Decision)
		if got := len(all) > 0 && len(all[len(all)-1].Steps) > 0; got != tc.told {
			t.Errorf("after %q: steps are told: %v, want %v", tc.query, got, tc.told)
		}
	}
}

// TestStepsOfFailures: followers are told how requests were decided that fail in any way, and not of those that do not.
func TestStepsOfFailures(t *testing.T) {
	begin := func(s *wazerohost.Stream) {
		s.SetServer(address(1))
		s.Respond(nil, false)
		s.RespondBody([]byte("data: {}\n\n"), false)
	}
	end := func(s *wazerohost.Stream, details string) {
		s.SetProperty("response.code_details", []byte(details))
		s.Abort()
	}
	local := func(s *wazerohost.Stream, status, details string) {
		s.SetProperty("response.code_details", []byte(details))
		s.Respond(wazerohost.Headers{{":status", status}}, true)
	}
	for _, tc := range []struct {
		name string
		play func(s *wazerohost.Stream)
		told bool
	}{
		{"not found", func(s *wazerohost.Stream) {
			s.SetServer(address(1))
			s.Respond(wazerohost.Headers{{":status", "404"}}, true)
		}, false},
		{"a server's error", func(s *wazerohost.Stream) {
			s.SetServer(address(1))
			s.Respond(wazerohost.Headers{{":status", "500"}}, true)
		}, true},
		{"the client leaves", func(s *wazerohost.Stream) { begin(s); end(s, "downstream_remote_disconnect") }, false},
		{"an answer that breaks off", func(s *wazerohost.Stream) {
			begin(s)
			end(s, "upstream_reset_after_response_started{connection_termination}")
		}, true},
		{"an answer that takes too long", func(s *wazerohost.Stream) { begin(s); end(s, "response_timeout") }, true},
		{"no connection, as another status", func(s *wazerohost.Stream) {
			local(s, "429", "upstream_reset_before_response_started{connection_failure}")
		}, true},
		{"another filter's answer", func(s *wazerohost.Stream) { local(s, "403", "ext_authz_denied") }, false},
	} {
		f := followed(t, filtering)
		f.publish(newPool(0, 3).label(1, "role", "decode"))
		f.sample = 1 // next to none
		f.events()
		f.workers[0].Tick()
		s := f.workers[0].ask()
		tc.play(s)
		s.Finish()
		want := ""
		if tc.told {
			want = filteringSteps
		}
		all := f.events()
		if last := all[len(all)-1]; last.Kind != journal.Completion || f.steps(&last) != want {
			t.Errorf("%s: got %+v with the steps %q, want an end with %q", tc.name, last, f.steps(&last), want)
		}
	}
}
