// Package plantest helps to test plug-ins: it compiles a configuration, makes pools and records what a decision does.
package plantest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/registry"
)

// Now is the time of every request, in nanoseconds since 1970.
const Now = int64(1_700_000_000_000_000_000)

// Neutral is the staleness that the tests go by unless they are about another.
var Neutral = scoring.Staleness{After: 2 * time.Second, Policy: scoring.StaleNeutral}

// Plan compiles an EndpointPickerConfig in JSON with the registered plug-ins and those given.
func Plan(t testing.TB, config string, stale scoring.Staleness, more ...scoring.Registration) *scoring.Plan {
	t.Helper()
	return planBy(t, config, scoring.Settings{Stale: stale}, more...)
}

func planBy(t testing.TB, config string, settings scoring.Settings, more ...scoring.Registration) *scoring.Plan {
	t.Helper()
	root, document := strictjson.Parse([]byte(config), "configuration")
	plan := scoring.Compile(root, append(more, registry.Plugins...), settings)
	if err := document.Err(); err != nil {
		t.Fatalf("the configuration is wrong:\n%v", err)
	}
	return plan
}

// Mistakes compiles as Plan does and returns what is wrong, one line for each mistake.
func Mistakes(config string, more ...scoring.Registration) string {
	root, document := strictjson.Parse([]byte(config), "configuration")
	scoring.Compile(root, append(more, registry.Plugins...), scoring.Settings{Stale: Neutral})
	if err := document.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// CheckTold compares what the operator is told of a configuration: its mistakes or, where there shall be none, its
// warnings, a line each.
func CheckTold(t testing.TB, config, mistakes, warnings string) {
	t.Helper()
	if got := Mistakes(config); got != mistakes {
		t.Fatalf("mistakes:\n%s\nwant:\n%s", got, mistakes)
	}
	if mistakes != "" {
		return
	}
	if got := strings.Join(Plan(t, config, Neutral).Warnings(), "\n"); got != warnings {
		t.Errorf("warnings:\n%s\nwant:\n%s", got, warnings)
	}
}

// MistakesIn is Mistakes in an environment.
func MistakesIn(config string, environment map[string]string) string {
	_, err := compileIn(config, environment)
	if err != nil {
		return err.Error()
	}
	return ""
}

// PlanIn is Plan in an environment.
func PlanIn(t testing.TB, config string, environment map[string]string) *scoring.Plan {
	t.Helper()
	plan, err := compileIn(config, environment)
	if err != nil {
		t.Fatalf("the configuration is wrong:\n%v", err)
	}
	return plan
}

func compileIn(config string, environment map[string]string) (*scoring.Plan, error) {
	root, document := strictjson.Parse([]byte(config), "configuration")
	plan := scoring.Compile(root, registry.Plugins,
		scoring.Settings{Stale: Neutral, Environment: func(name string) (string, bool) {
			value, ok := environment[name]
			return value, ok
		}})
	return plan, document.Err()
}

// Pool makes a pool of the endpoints. It numbers them, and names those without a name a, b, c, ... or e26, e27, ...
func Pool(endpoints ...scoring.Endpoint) *scoring.Pool {
	for i := range endpoints {
		e := &endpoints[i]
		e.Index = i
		if e.Name == "" && i < 26 {
			e.Name = string(rune('a' + i))
		} else if e.Name == "" {
			e.Name = "e" + strconv.Itoa(i)
		}
		e.Address = "10.0.0.1:" + strconv.Itoa(1000+i)
	}
	pool := &scoring.Pool{Endpoints: endpoints}
	pool.Enter()
	return pool
}

// Sampled is an endpoint with fresh metrics.
func Sampled(m scoring.Metrics) scoring.Endpoint {
	m.SampledAt = Now
	return scoring.Endpoint{Metrics: m}
}

// Aged is an endpoint whose metrics are age old.
func Aged(age time.Duration, m scoring.Metrics) scoring.Endpoint {
	m.SampledAt = Now - int64(age)
	return scoring.Endpoint{Metrics: m}
}

// Labelled is an endpoint with labels, given as key and value in turn.
func Labelled(pairs ...string) scoring.Endpoint {
	e := scoring.Endpoint{}
	for i := 0; i+1 < len(pairs); i += 2 {
		e.Labels = append(e.Labels, scoring.Label{Key: pairs[i], Value: pairs[i+1]})
	}
	return e
}

// Cycle makes a workplace for a request to the pool.
func Cycle(pool *scoring.Pool, seed uint64) *scoring.Cycle {
	c := scoring.NewCycle(seed)
	c.Pool = pool
	c.Request.Now = Now
	return c
}

// Trace is what a decision by a plan with one profile did.
type Trace struct {
	// Removed names the filter that removed an endpoint.
	Removed map[string]string
	// Scores are by scorer and endpoint.
	Scores map[string]map[string]float64
	Totals map[string]float64
	Picks  []string
	// Candidates are the endpoints that were given a total, in order.
	Candidates []string
	// Selection is how a virtual model's place was filled, nil for other models.
	Selection *scoring.Selection
	// Mixture is how several profiles decided together, nil when one did.
	Mixture *scoring.Mixture
	Failure *scoring.Failure
}

// Headers are the values of the headers that the plan reads, for a request with these; empty for the others.
func Headers(plan *scoring.Plan, given map[string]string) (values []string) {
	for _, name := range plan.RequestHeaders() {
		values = append(values, given[name])
	}
	return values
}

// Decide decides one request and records how.
func Decide(plan *scoring.Plan, c *scoring.Cycle) *Trace {
	trace := &Trace{Removed: map[string]string{}, Scores: map[string]map[string]float64{}, Totals: map[string]float64{}}
	c.Tracer = trace
	_, trace.Failure = plan.Decide(c)
	c.Tracer = nil
	return trace
}

// Score returns the scores that a configuration with the one scorer gives the endpoints, in their order.
func Score(t testing.TB, scorer string, stale scoring.Staleness, endpoints ...scoring.Endpoint) []float64 {
	t.Helper()
	plan := Plan(t, `{"plugins": [{"type": "`+scorer+`"}]}`, stale)
	trace := Decide(plan, Cycle(Pool(endpoints...), 1))
	var scores []float64
	for _, name := range trace.Candidates {
		scores = append(scores, trace.Scores[scorer][name])
	}
	return scores
}

// Keep returns the names of the endpoints that a configuration with the one filter keeps. plugin is its entry in the
// plugins list.
func Keep(t testing.TB, plugin string, endpoints ...scoring.Endpoint) []string {
	t.Helper()
	plan := Plan(t, `{"plugins": [`+plugin+`]}`, Neutral)
	return Decide(plan, Cycle(Pool(endpoints...), 1)).Candidates
}

// FilteredOut implements scoring.Tracer.
func (x *Trace) FilteredOut(_ string, e *scoring.Endpoint, filter string) { x.Removed[e.Name] = filter }

// Scored implements scoring.Tracer.
func (x *Trace) Scored(_, scorer string, candidates []*scoring.Endpoint, scores []float64) {
	if x.Scores[scorer] == nil {
		x.Scores[scorer] = map[string]float64{}
	}
	for i, e := range candidates {
		x.Scores[scorer][e.Name] = scores[i]
	}
}

// Total implements scoring.Tracer.
func (x *Trace) Total(_ string, candidates []*scoring.Endpoint, totals []float64) {
	for i, e := range candidates {
		x.Totals[e.Name] = totals[i]
		x.Candidates = append(x.Candidates, e.Name)
	}
}

// Mixed implements scoring.Tracer.
func (x *Trace) Mixed(m *scoring.Mixture) { x.Mixture = m }

// Picked implements scoring.Tracer.
func (x *Trace) Picked(_ string, e *scoring.Endpoint) { x.Picks = append(x.Picks, e.Name) }

// ModelSelected implements scoring.Tracer.
func (x *Trace) ModelSelected(s *scoring.Selection) { x.Selection = s }
