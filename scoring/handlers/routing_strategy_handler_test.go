package handlers_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// asListed scores endpoint i with the i-th of the parameter's tenths.
type asListed []float64

func (l asListed) Score(_ *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	for i, e := range candidates {
		scores[i] = l[e.Index]
	}
}

func newAsListed(b *scoring.Builder) scoring.Plugin {
	var list asListed
	var tenths []string
	b.Strings("tenths", &tenths)
	for _, t := range tenths {
		list = append(list, float64(t[0]-'0')/10)
	}
	return list
}

// recorder picks the first of the best and remembers the totals by the endpoints' indexes.
type recorder struct{ totals map[int]float64 }

func (r *recorder) Pick(_ *scoring.Cycle, ranked []scoring.Ranked) int {
	clear(r.totals)
	best := 0
	for i := range ranked {
		r.totals[ranked[i].Endpoint.Index] = ranked[i].Total
		if ranked[i].Total > ranked[best].Total {
			best = i
		}
	}
	ranked[0], ranked[best] = ranked[best], ranked[0]
	return 1
}

func (r *recorder) Most() int { return 1 }

const strategies = `{"plugins": [{"type": "routing-strategy-handler", "parameters": {}},
	{"type": "as-listed", "name": "rising", "parameters": {"tenths": ["1", "2", "3"]}},
	{"type": "as-listed", "name": "falling", "parameters": {"tenths": ["3", "2", "1"]}},
	{"type": "as-listed", "name": "high", "parameters": {"tenths": ["8", "4", "0"]}},
	{"type": "as-listed", "name": "flat", "parameters": {"tenths": ["5", "5", "5"]}},
	{"type": "recorder"}, {"type": "random-picker"},
	{"type": "by-label", "parameters": {"label": "zone", "validValues": ["1"]}}],
	"schedulingProfiles": [
	{"name": "most", "plugins": [{"pluginRef": "rising"}, {"pluginRef": "recorder"}]},
	{"name": "least", "plugins": [{"pluginRef": "falling"}, {"pluginRef": "recorder"}]},
	{"name": "top", "plugins": [{"pluginRef": "high"}, {"pluginRef": "recorder"}]},
	{"name": "equal", "plugins": [{"pluginRef": "flat"}, {"pluginRef": "recorder"}]},
	{"name": "zoned", "plugins": [{"pluginRef": "by-label"}, {"pluginRef": "falling"}, {"pluginRef": "recorder"}]},
	{"name": "random", "plugins": [{"pluginRef": "random-picker"}]}]}`

func strategyPlan(t testing.TB) (*scoring.Plan, *recorder) {
	seen := &recorder{map[int]float64{}}
	return plantest.Plan(t, strategies, plantest.Neutral,
		scoring.Registration{Type: "as-listed", New: newAsListed},
		scoring.Registration{Type: "recorder", New: func(*scoring.Builder) scoring.Plugin { return seen }}), seen
}

// ask decides one request for a strategy among three endpoints, of which the second one is in zone 1.
func ask(plan *scoring.Plan, strategy string) (*scoring.Cycle, []*scoring.Endpoint, *scoring.Failure) {
	c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}, plantest.Labelled("zone", "1"), scoring.Endpoint{}), 1)
	c.Request.Headers = make([]string, len(plan.RequestHeaders()))
	c.Request.Headers[slices.Index(plan.RequestHeaders(), "routing-strategy")] = strategy
	picked, failure := plan.Decide(c)
	return c, picked, failure
}

// Where AIBrix's own tests mix strategies, the totals are those that these want.
func TestRoutingStrategyHandler(t *testing.T) {
	tests := []struct {
		name, strategy, pick, primary string
		totals                        map[int]float64
	}{
		{"default is the first profile", "", "c", "most", map[int]float64{0: 0.1, 1: 0.2, 2: 0.3}},
		{"named", "least", "a", "least", map[int]float64{0: 0.3, 1: 0.2, 2: 0.1}},
		{"named with a weight", "least:7", "a", "least", map[int]float64{0: 0.3, 1: 0.2, 2: 0.1}},
		{"others have weight 0", "most:0,least,top:0", "a", "least", map[int]float64{0: 0.3, 1: 0.2, 2: 0.1}},
		{"an unknown one has weight 0", "prefix-cache-preble:0,least", "a", "least",
			map[int]float64{0: 0.3, 1: 0.2, 2: 0.1}},
		{"the same one twice", "least,least:3", "a", "least", map[int]float64{0: 0.3, 1: 0.2, 2: 0.1}},
		{"weights", "top:2,most:8", "c", "top", map[int]float64{0: 0.2, 1: 0.5, 2: 0.8}},
		{"more of one", "most:1,least:3", "a", "most", map[int]float64{0: 0.75, 1: 0.5, 2: 0.25}},
		{"digits", "most:10,least:90", "a", "most", map[int]float64{0: 0.9, 1: 0.5, 2: 0.1}},
		{"spaces", " most : 1 , least : 3 ", "a", "most", map[int]float64{0: 0.75, 1: 0.5, 2: 0.25}},
		{"a strategy named twice", "most,least:1,least:2", "a", "most", map[int]float64{0: 0.75, 1: 0.5, 2: 0.25}},
		{"equal totals count as the best", "equal,least", "a", "equal", map[int]float64{0: 1, 1: 0.75, 2: 0.5}},
		{"filters of all", "most,zoned", "b", "most", map[int]float64{1: 1}},
		{
			"a sum of weights beyond the largest", "most:1000000,most:1000000,least:1000000", "a", "most",
			map[int]float64{0: 0.5, 1: 0.5, 2: 0.5},
		},
		{"largest weights", "most:1000000,least:1000000", "a", "most", map[int]float64{0: 0.5, 1: 0.5, 2: 0.5}},
	}
	plan, seen := strategyPlan(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, picked, failure := ask(plan, tt.strategy)
			if failure != nil {
				t.Fatalf("refused: %v", failure)
			}
			if picked[0].Name != tt.pick {
				t.Errorf("picked %s, want %s", picked[0].Name, tt.pick)
			}
			if got := plan.ProfileName(plan.Primary(c)); got != tt.primary {
				t.Errorf("primary profile %s, want %s", got, tt.primary)
			}
			for i, want := range tt.totals {
				if got := seen.totals[i]; !(math.Abs(got-want) <= 1e-9) || len(seen.totals) != len(tt.totals) {
					t.Fatalf("totals %v, want %v", seen.totals, tt.totals)
				}
			}
		})
	}
}

func TestRoutingStrategyHandlerRefuses(t *testing.T) {
	const known = "; known are most, least, top, equal, zoned, random"
	long := strings.Repeat("faster", 10)
	tests := []struct{ name, strategy, reason, message string }{
		{"unknown", "fastest", "unknown_strategy", `no routing strategy is named "fastest"` + known},
		{"unknown in a mix", "most:1,fastest:2", "unknown_strategy", `no routing strategy is named "fastest"` + known},
		{"as long as is repeated", long, "unknown_strategy", `no routing strategy is named "` + long + `"` + known},
		{"longer", long + "x", "unknown_strategy", `no routing strategy is named "` + long + `..."` + known},
		{"longer, of letters of several bytes", strings.Repeat("é", 31), "unknown_strategy",
			`no routing strategy is named "` + strings.Repeat("é", 30) + `..."` + known},
		{"longer, in the midst of a letter", "x" + strings.Repeat("é", 30), "unknown_strategy",
			`no routing strategy is named "x` + strings.Repeat("é", 29) + `..."` + known},
		{"case", "Most", "unknown_strategy", `no routing strategy is named "Most"` + known},
		{"empty item", "most,,least", "unknown_strategy", `no routing strategy is named ""` + known},
		{"trailing comma", "most,", "unknown_strategy", `no routing strategy is named ""` + known},
		{"only a weight", ":2", "unknown_strategy", `no routing strategy is named ""` + known},
		{"fraction", "most:1.5,least", "invalid_strategy",
			`the weight in "most:1.5" is not a whole number from 0 to 1000000`},
		{"negative", "most:-1,least", "invalid_strategy",
			`the weight in "most:-1" is not a whole number from 0 to 1000000`},
		{"sign", "most:+1,least", "invalid_strategy",
			`the weight in "most:+1" is not a whole number from 0 to 1000000`},
		{"too large", "most:1000001,least", "invalid_strategy",
			`the weight in "most:1000001" is not a whole number from 0 to 1000000`},
		{"far too large", "most:99999999999999999999", "invalid_strategy",
			`the weight in "most:99999999999999999999" is not a whole number from 0 to 1000000`},
		{"no weight", "most:,least", "invalid_strategy",
			`the weight in "most:" is not a whole number from 0 to 1000000`},
		{"two weights", "most:1:2", "invalid_strategy",
			`the weight in "most:1:2" is not a whole number from 0 to 1000000`},
		{"all 0", "most:0,least:0", "invalid_strategy", "every routing strategy has weight 0"},
		{"all 0, one of them unknown", "most:0,fastest:0", "invalid_strategy",
			"every routing strategy has weight 0"},
		{"weight 0 of nobody", "most,:0", "unknown_strategy", `no routing strategy is named ""` + known},
		{"without scores", "most,random", "invalid_strategy",
			`"random" does not score endpoints and cannot be mixed with other strategies`},
	}
	plan, _ := strategyPlan(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, failure := ask(plan, tt.strategy)
			if failure == nil {
				t.Fatal("served, want a refusal")
			}
			if failure.Status != 400 || failure.Reason != tt.reason || failure.Message != tt.message {
				t.Errorf("refused with %d %s: %s\nwant 400 %s: %s", failure.Status, failure.Reason, failure.Message,
					tt.reason, tt.message)
			}
		})
	}
	// A refusal leaves nothing behind.
	if _, picked, failure := ask(plan, "least"); failure != nil || picked[0].Name != "a" {
		t.Errorf("after refusals: picked %v, failure %v", picked, failure)
	}
}

// TestUnjudgedMix: an endpoint must pass the filters of all strategies also where chance picks.
func TestUnjudgedMix(t *testing.T) {
	plan, _ := strategyPlan(t)
	for _, tt := range []struct {
		strategy string
		labels   []string // of the endpoint that may pass
		want     string   // whoever gets a request of many, by name
	}{
		{"most,least", []string{"zone", "1"}, "a b c"},
		{"most,zoned", []string{"zone", "1"}, "b"},
		{"zoned,most", []string{"zone", "1"}, "b"},
		{"most,zoned", []string{"zone", "2"}, ""},
	} {
		c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}, plantest.Labelled(tt.labels...), scoring.Endpoint{}), 1)
		c.Request.Headers = plantest.Headers(plan, map[string]string{"routing-strategy": tt.strategy})
		c.Request.Unjudged = true
		var got []string
		for range 100 {
			picked, failure := plan.Decide(c)
			switch {
			case failure != nil && failure != scoring.FilteredOut:
				t.Fatalf("%s: refused: %v", tt.strategy, failure.Message)
			case failure == nil && !slices.Contains(got, picked[0].Name):
				got = append(got, picked[0].Name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: requests went to %q, want %q", tt.strategy, got, tt.want)
		}
	}
}

// TestNamesOfOneProfile: names of one profile are no mix, whatever it has, and count together in one.
func TestNamesOfOneProfile(t *testing.T) {
	counted := 0
	plan := plantest.Plan(t, `{"plugins": [
		{"type": "routing-strategy-handler", "parameters": {"strategies": {"any": "random", "some": "random",
			"most": "most", "least": "least", "fewest": "least"}}},
		{"type": "as-listed", "name": "rising", "parameters": {"tenths": ["1", "2", "3"]}},
		{"type": "as-listed", "name": "falling", "parameters": {"tenths": ["3", "2", "1"]}},
		{"type": "counted"}, {"type": "random-picker"}, {"type": "max-score-picker"}],
		"schedulingProfiles": [
		{"name": "random", "plugins": [{"pluginRef": "random-picker"}]},
		{"name": "most", "plugins": [{"pluginRef": "rising"}, {"pluginRef": "max-score-picker"}]},
		{"name": "least", "plugins": [{"pluginRef": "counted"}, {"pluginRef": "falling"},
			{"pluginRef": "max-score-picker"}]}]}`, plantest.Neutral,
		scoring.Registration{Type: "as-listed", New: newAsListed},
		scoring.Registration{Type: "counted", New: func(*scoring.Builder) scoring.Plugin { return counter{&counted} }})
	for _, tt := range []struct {
		strategy, pick string
		mixes          bool
		looks          int // of the profile least, at three endpoints
	}{
		{"any,some", "", false, 0},
		{"some:2,any:3", "", false, 0},
		{"least,fewest", "a", false, 3},
		{"most:3,least,fewest", "c", true, 3},
		{"most:3,fewest:2,least:2", "a", true, 3},
		{"most:3,fewest:4", "a", true, 3}, // the profile's first name has no weight
	} {
		counted = 0
		c, picked, failure := ask(plan, tt.strategy)
		if failure != nil {
			t.Errorf("%s: refused: %v", tt.strategy, failure.Message)
			continue
		}
		if tt.pick != "" && picked[0].Name != tt.pick || c.Mixes() != tt.mixes || counted != tt.looks {
			t.Errorf("%s: picked %s, mixes %v, %d looks; want %s, %v, %d", tt.strategy, picked[0].Name, c.Mixes(),
				counted, tt.pick, tt.mixes, tt.looks)
		}
	}
}

// counter is a filter that counts what it looks at, and keeps all.
type counter struct{ looks *int }

func (f counter) Keep(*scoring.Cycle, *scoring.Endpoint) bool {
	*f.looks++
	return true
}

// Without a header and a default the first profile serves, wherever it stands among the strategies.
func TestRoutingStrategyHandlerWithoutDefault(t *testing.T) {
	for listed, want := range map[string]string{
		`{"falling": "least", "rising": "most"}`: "rising",
		`{"falling": "least"}`:                   "",
	} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "routing-strategy-handler",
			"parameters": {"strategies": `+listed+`}}, {"type": "least-request"}],
			"schedulingProfiles": [{"name": "most", "plugins": [{"pluginRef": "least-request"}]},
			{"name": "least", "plugins": [{"pluginRef": "least-request"}]}]}`, plantest.Neutral)
		for _, named := range []string{"falling", ""} {
			wantProfile, wantStrategy := "least", "falling"
			if named == "" {
				wantProfile, wantStrategy = "most", want
			}
			c, _, failure := ask(plan, named)
			if failure != nil {
				t.Fatalf("%s: %q is refused: %v", listed, named, failure)
			}
			if got := plan.ProfileName(plan.Primary(c)); got != wantProfile || c.Strategy() != wantStrategy {
				t.Errorf("%s: %q is served by profile %s as %q, want %s as %q", listed, named, got, c.Strategy(),
					wantProfile, wantStrategy)
			}
		}
	}
}

func TestRoutingStrategyHandlerParameters(t *testing.T) {
	config := func(parameters string) string {
		return `{"plugins": [{"type": "routing-strategy-handler", "parameters": ` + parameters +
			`}, {"type": "random-picker"}, {"type": "least-request"}],
			"schedulingProfiles": [{"name": "a", "plugins": [{"pluginRef": "least-request"}]},
			{"name": "b", "plugins": [{"pluginRef": "least-request"}]},
			{"name": "chance", "plugins": [{"pluginRef": "random-picker"}]}]}`
	}
	const unmixed = `"chance" does not score endpoints and cannot be mixed with other strategies`
	tests := []struct {
		name, parameters, want string
		environment            map[string]string
	}{
		{name: "all", parameters: `{"header": "X-Strategy", "default": "y", "strategies": {"x": "a", "y": "b"}}`},
		{name: "default mixes", parameters: `{"default": "a:2,b:1"}`},
		{name: "default scores nothing", parameters: `{"default": "chance"}`},
		{name: "default mixes what scores nothing, with weight 0", parameters: `{"default": "a,chance:0,b"}`},
		{
			name: "default mixes what scores nothing", parameters: `{"default": "a,chance"}`,
			want: `plugins[0](routing-strategy-handler).parameters.default: ` + unmixed,
		},
		{
			name: "the environment mixes what scores nothing", parameters: `{}`,
			environment: map[string]string{"ROUTING_ALGORITHM": "chance:1,a:3"},
			want: `plugins[0](routing-strategy-handler).parameters: the environment variable ROUTING_ALGORITHM is ` +
				`"chance:1,a:3": ` + unmixed,
		},
		{
			name: "unknown default", parameters: `{"default": "c"}`,
			want: `plugins[0](routing-strategy-handler).parameters.default: no routing strategy is named "c"; known are a, b, chance`,
		},
		{
			name: "default is not listed", parameters: `{"default": "a", "strategies": {"x": "a"}}`,
			want: `plugins[0](routing-strategy-handler).parameters.default: no routing strategy is named "a"; known are x`,
		},
		{
			name: "unknown profile", parameters: `{"strategies": {"x": "c"}}`,
			want: `plugins[0](routing-strategy-handler).parameters.strategies.x: no scheduling profile is named "c"; the profiles are a, b, chance`,
		},
		{
			name: "name with a comma", parameters: `{"strategies": {"x,y": "a"}}`,
			want: `plugins[0](routing-strategy-handler).parameters.strategies: "x,y" cannot be named in a header; leave out colons, commas and spaces`,
		},
		{
			name: "no header", parameters: `{"header": ""}`,
			want: "plugins[0](routing-strategy-handler).parameters.header: is empty; name the request header that " +
				"names the strategy",
		},
		{name: "environment", parameters: `{}`,
			environment: map[string]string{"ROUTING_ALGORITHM": "b", "AIBRIX_ROUTING_ALGORITHM": "a:1,b:1"}},
		{
			name: "the one that AIBrix reads comes first", parameters: `{}`,
			environment: map[string]string{"ROUTING_ALGORITHM": "c", "AIBRIX_ROUTING_ALGORITHM": "a"},
			want:        `plugins[0](routing-strategy-handler).parameters: the environment variable ROUTING_ALGORITHM is "c": no routing strategy is named "c"; known are a, b, chance`,
		},
		{
			name: "the other one does not count then", parameters: `{}`,
			environment: map[string]string{"ROUTING_ALGORITHM": "a", "AIBRIX_ROUTING_ALGORITHM": "c"},
		},
		{
			name: "unknown in the environment", parameters: `{}`,
			environment: map[string]string{"AIBRIX_ROUTING_ALGORITHM": "prefix-aware"},
			want:        `plugins[0](routing-strategy-handler).parameters: the environment variable AIBRIX_ROUTING_ALGORITHM is "prefix-aware": no routing strategy is named "prefix-aware"; known are a, b, chance`,
		},
		{name: "parameter beats the environment", parameters: `{"default": "a"}`,
			environment: map[string]string{"ROUTING_ALGORITHM": "c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := plantest.MistakesIn(config(tt.parameters), tt.environment); got != tt.want {
				t.Errorf("mistakes:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

// TestProfilesThatNoHeaderNames: a profile whose name is a mix, or a part of one, in a header needs a strategy's name.
// Requests without a header, which the first profile serves, would be refused for that mix.
func TestProfilesThatNoHeaderNames(t *testing.T) {
	for _, tt := range []struct {
		name, profile, strategies string
		wrong                     bool
	}{
		{"plain", "llama", "", false},
		{"with a space within", "a b", "", false},
		{"with a colon", "llama:8", "", true},
		{"with a comma", "a,b", "", true},
		{"with a space before", " a", "", true},
		{"with a colon, under another name", "llama:8", `"strategies": {"llama": "llama:8"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := `{"plugins": [{"type": "routing-strategy-handler", "parameters": {` + tt.strategies +
				`}}, {"type": "least-request"}], "schedulingProfiles": [{"name": "` + tt.profile +
				`", "plugins": [{"pluginRef": "least-request"}]}, {"name": "other", "plugins": [{"pluginRef": "least-request"}]}]}`
			want := ""
			if tt.wrong {
				want = `plugins[0](routing-strategy-handler).parameters.strategies: is missing; map a name without colons ` +
					`and commas to the profile "` + tt.profile + `", which cannot be named in a header`
			}
			if got := plantest.Mistakes(config); got != want {
				t.Fatalf("mistakes:\n%s\nwant:\n%s", got, want)
			}
			if tt.wrong {
				return
			}
			plan := plantest.Plan(t, config, plantest.Neutral)
			c, _, failure := ask(plan, "")
			if failure != nil || plan.ProfileName(plan.Primary(c)) != tt.profile {
				t.Errorf("without a header: %v, profile %q; want %q", failure, plan.ProfileName(plan.Primary(c)),
					tt.profile)
			}
		})
	}
}

// Whatever the header says, the request is served by a profile that it names, or refused with 400.
func FuzzRoutingStrategy(f *testing.F) {
	for _, seed := range []string{"", "most", "most:2,least:1", "most:0", " top ,equal: 3", "random,most", "most:1:2",
		",", "::", "most:+1", "zoned,\x00"} {
		f.Add(seed)
	}
	plan, seen := strategyPlan(f)
	f.Fuzz(func(t *testing.T, strategy string) {
		clear(seen.totals)
		c, picked, failure := ask(plan, strategy)
		if failure != nil {
			if failure.Status != 400 || failure.Reason != "unknown_strategy" && failure.Reason != "invalid_strategy" {
				t.Errorf("%q: refused with %+v", strategy, failure)
			}
			return
		}
		if primary := plan.ProfileName(plan.Primary(c)); len(picked) != 1 || !strings.Contains(strategy, primary) &&
			strategy != "" {
			t.Errorf("%q: served by profile %s, picked %v", strategy, primary, picked)
		}
		for i, total := range seen.totals {
			if !(total >= 0 && total <= 1) {
				t.Errorf("%q: total of endpoint %d is %v", strategy, i, total)
			}
		}
	})
}
