package e2e

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// judge decides natively, by nothing but a configuration, a pool and the events that it is told.
type judge struct {
	config *pluginconfig.Config
	pool   scoring.Pool
	cycle  *scoring.Cycle
	scan   openai.Request
	now    int64
}

func newJudge(t *testing.T, configuration string) *judge {
	t.Helper()
	config, err := pluginconfig.Parse([]byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{config: config, cycle: scoring.NewCycle(1)}
	j.pool.State = state.New(config.Plan.StateOptions())
	j.cycle.Pool = &j.pool
	return j
}

// see is what a snapshot tells, sampled at a time.
func (j *judge) see(endpoints []harness.Endpoint, at time.Time) {
	j.pool.Endpoints = nil
	for i, e := range endpoints {
		to := scoring.Endpoint{Index: i, Name: e.Name, Address: e.Address, Engine: "vllm"}
		for key, value := range e.Labels {
			to.Labels = append(to.Labels, scoring.Label{Key: key, Value: value})
		}
		to.Metrics = scoring.Metrics{WaitingRequests: int(e.Waiting), KVCacheUsage: e.KV, SampledAt: at.UnixNano()}
		j.pool.Endpoints = append(j.pool.Endpoints, to)
	}
	j.pool.Enter()
	j.config.Plan.Prepare(&j.pool)
}

// hear is what the journal tells.
func (j *judge) hear(e *journal.Event) {
	j.at(e.Time)
	j.pool.State.Apply(e)
}

// at sets the clock, which never goes back.
func (j *judge) at(now int64) {
	j.now = max(j.now, now)
	j.pool.State.Expire(j.now)
}

// decide decides a completion and leaves no trace.
func (j *judge) decide(t *testing.T, header http.Header, body string, now int64) *verdict {
	t.Helper()
	j.at(now)
	r := &j.cycle.Request
	*r = scoring.Request{Now: now}
	for _, name := range j.config.Plan.RequestHeaders() {
		r.Headers = append(r.Headers, header.Get(name))
	}
	j.scan.Want(j.config.BodyKeys)
	if failure := r.Read(&j.scan, openai.APICompletions, []byte(body)); failure != nil {
		t.Fatalf("%s: %v", body, failure)
	}
	x := &explain.Explanation{Profiles: map[string]*explain.Profile{}}
	j.cycle.Tracer = x
	endpoints, failure := j.config.Plan.Decide(j.cycle)
	if failure != nil {
		t.Fatalf("%.200s: %v", body, failure)
	}
	v := &verdict{steps: map[string]float64{}, chosen: endpoints[0].Name}
	for name, p := range x.Profiles {
		v.profile(name, p)
	}
	return v
}

// verdict is how a decision came about.
type verdict struct {
	// steps are scores by profile, endpoint and scorer, and minus one for what a filter left out.
	steps  map[string]float64
	chosen string
	// chance is set where another endpoint is as good.
	chance bool
}

func (v *verdict) profile(name string, p *explain.Profile) {
	for scorer, scores := range p.Scores {
		for endpoint, score := range scores {
			v.steps[fmt.Sprint(name, " ", endpoint, " ", scorer)] = score
		}
	}
	for endpoint, filter := range p.FilteredOut {
		v.steps[fmt.Sprint(name, " ", endpoint, " ", filter)] = -1
	}
	totals := slices.Sorted(maps.Values(p.Totals))
	for i := 1; i < len(totals); i++ {
		v.chance = v.chance || totals[i]-totals[i-1] < 1e-9
	}
}

// verdictOf is that of an answer.
func verdictOf(t *testing.T, a harness.Answer) *verdict {
	t.Helper()
	e := explained(t, a)
	v := &verdict{steps: map[string]float64{}, chosen: e.Picked[0]}
	for _, step := range append(e.Scores, e.FilteredOut...) {
		score := -1.0
		if len(step) == 4 {
			score, _ = step[3].(float64)
		}
		v.steps[fmt.Sprint(step[0], " ", step[1], " ", step[2])] = score
	}
	return v
}

// digits are those to which answers tell scores.
const digits = 1e-3

// differs names the steps of two verdicts that are not the same, within a part of a score.
func (v *verdict) differs(want *verdict, within float64) string {
	var all []string
	for step := range maps.All(want.steps) {
		if _, ok := v.steps[step]; !ok {
			all = append(all, fmt.Sprintf("%s: got nothing, want %.4g", step, want.steps[step]))
		}
	}
	for step, got := range v.steps {
		if score, ok := want.steps[step]; !ok || math.Abs(got-score) > within*math.Abs(score) {
			all = append(all, fmt.Sprintf("%s: got %.4g, want %.4g (known %v)", step, got, score, ok))
		}
	}
	if v.chosen != want.chosen && !want.chance {
		all = append(all, fmt.Sprintf("got %s chosen, want %s", v.chosen, want.chosen))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// tape reads the journal of an Envoy.
type tape struct {
	envoy    *harness.Envoy
	client   *http.Client
	follower journal.Follower
}

// read calls each with the events that are new.
func (p *tape) read(t *testing.T, each func(e *journal.Event)) {
	t.Helper()
	for more := true; more; {
		at := p.follower.At()
		request := harness.Request(t, http.MethodGet, p.envoy.URL("ingest", "/pintle/v1/journal")+
			fmt.Sprintf("?at=%d.%d.%d.%d", at.Epoch, at.Page, at.Seq, at.Offset), "", false)
		request.Header.Set("Authorization", bearer)
		got := harness.Send(t, p.client, request)
		a, ok := journal.ParseAnswer([]byte(got.Body))
		if !ok {
			t.Fatalf("the journal: %d %q", got.Status, got.Body)
		}
		p.follower.Read(&a, func(e *journal.Event, _ journal.Position) { each(e) })
		more = a.More && p.follower.At() != at
	}
}
