package scorers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestAIBrixPrefixBusy: the first of some endpoints was sent a prompt, and has so many requests, the others none; from
// how many on the prompt goes elsewhere.
func TestAIBrixPrefixBusy(t *testing.T) {
	const balance = `"standardDeviationFactor": 1000`
	for _, tc := range []struct {
		name, parameters    string
		endpoints, requests int
		stays               bool
	}{
		{"at the limit of imbalance", balance, 3, 16, true},
		{"out of balance", balance, 3, 17, false},
		{"at the source's limit of imbalance", balance + `, "semantics": "source"`, 3, 8, true},
		{"out of the source's balance", balance + `, "semantics": "source"`, 3, 9, false},
		{"at another limit", balance + `, "imbalanceAbsCount": 2`, 3, 2, true},
		{"beyond another limit", balance + `, "imbalanceAbsCount": 2`, 3, 3, false},
		{"no imbalance at all", balance + `, "imbalanceAbsCount": 0`, 3, 1, false},
		{"one request of five endpoints", ``, 5, 1, true},
		{"one request of six endpoints", ``, 6, 1, false},
		{"one request of two endpoints by the source", `"semantics": "source"`, 2, 1, true},
		{"one request of three endpoints by the source", `"semantics": "source"`, 3, 1, false},
		{"another factor", `"standardDeviationFactor": 1`, 3, 1, false},
		{"the deviation of a sample", `"standardDeviationFactor": 0.8`, 2, 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "aibrix-prefix-cache", "parameters": {`+tc.parameters+`}}]}`,
				make([]scoring.Endpoint, tc.endpoints)...)
			prompt := strings.Repeat("a", 1024)
			first := r.route("", prompt)
			r.load(first, tc.requests-1)
			if got := r.route("", prompt); (got == first) != tc.stays {
				t.Errorf("goes to %s after %s, want the same one: %v", got, first, tc.stays)
			}
		})
	}
}

// TestAIBrixPrefixBlocks: how many blocks of a prompt are looked at.
func TestAIBrixPrefixBlocks(t *testing.T) {
	for parameters, want := range map[string]int{
		``: 256, `"semantics": "source"`: 1024, `"maxPrefixBlocksToMatch": 10`: 10,
		`"semantics": "source", "maxPrefixBlocksToMatch": 1`: 1, `"maxPrefixBlocksToMatch": 1024`: 1024,
	} {
		r := newRouter(t, `{"plugins": [{"type": "aibrix-prefix-cache", "parameters": {`+parameters+`}}]}`, scoring.Endpoint{})
		r.route("", strings.Repeat("a", 1<<18))
		if got := len(r.event.Chains[0].Blocks); got != want {
			t.Errorf("%s: %d blocks, want %d", parameters, got, want)
		}
	}
}

// TestAIBrixPrefixSeeds: a parameter's seed holds before the environment's, also where it is 0.
func TestAIBrixPrefixSeeds(t *testing.T) {
	for _, tc := range []struct {
		name, parameters, environment string
		want                          uint64
	}{
		{"by default", ``, "", 0},
		{"of the environment", ``, "42", 42},
		{"of the parameter", `"hashSeed": 7`, "42", 7},
		{"of a parameter of 0", `"hashSeed": 0`, "42", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			environment := map[string]string{}
			if tc.environment != "" {
				environment["AIBRIX_PREFIX_CACHE_HASH_SEED"] = tc.environment
			}
			plan := plantest.PlanIn(t, `{"plugins": [{"type": "aibrix-prefix-cache", "parameters": {`+tc.parameters+`}}]}`,
				environment)
			c, event := hello(t, plan, plantest.Pool(scoring.Endpoint{})), journal.Event{}
			ask(t, plan, c, strings.Repeat("a", 128))
			plan.Record(c, &event)
			want := state.Chain{BlockBytes: 128, Leading: true, Seed: tc.want}
			if got := event.Chains[0].ID; got != want.ID() {
				t.Errorf("the chain %x, want %x, that of the seed %d", got, want.ID(), tc.want)
			}
		})
	}
}

// TestAIBrixPrefixTellsWhatIsCached: others learn how much of a prompt is cached, from one block on.
func TestAIBrixPrefixTellsWhatIsCached(t *testing.T) {
	r := newRouter(t, `{"plugins": [{"type": "aibrix-prefix-cache"}]}`, scoring.Endpoint{})
	for i, tc := range []struct {
		bytes int
		want  uint32
	}{{127, 0}, {255, 0}, {128, 32}, {1024, 32}, {1023, 224}} {
		r.route("", strings.Repeat("a", tc.bytes))
		if got := r.event.PredictedTokens; got != tc.want {
			t.Errorf("prompt %d of %d bytes: %d tokens are taken for cached, want %d", i, tc.bytes, got, tc.want)
		}
	}
}

// TestAIBrixPrefixBounds: what is out of bounds is said by its key, and what is just within is taken.
func TestAIBrixPrefixBounds(t *testing.T) {
	const whole, number = "%s is not a whole number from %s to %s", "%s is not a number from %s to %s"
	for _, tc := range []struct{ key, least, less, most, more, mistake string }{
		{"blockSize", "1", "0", "262144", "262145", whole},
		{"blockNumber", "1", "0", "4194304", "4194305", whole},
		{"imbalanceAbsCount", "0", "-1", "2147483647", "2147483648", whole},
		{"standardDeviationFactor", "0", "-0.5", "1000000", "1000001", number},
		{"hashSeed", "0", "-1", "2147483647", "2147483648", whole},
		{"maxPrefixBlocksToMatch", "1", "0", "1024", "1025", whole},
	} {
		t.Run(tc.key, func(t *testing.T) {
			for _, value := range []string{tc.least, tc.most, tc.less, tc.more} {
				want := ""
				if value == tc.less || value == tc.more {
					want = at("aibrix-prefix-cache", tc.key+": "+fmt.Sprintf(tc.mistake, value, tc.least, tc.most))
				}
				plantest.CheckTold(t, `{"plugins": [{"type": "aibrix-prefix-cache", "parameters": {"`+tc.key+`": `+value+
					`}}]}`, want, "")
			}
		})
	}
}

// TestAIBrixEnvironmentBounds: variables have the bounds of their parameters.
func TestAIBrixEnvironmentBounds(t *testing.T) {
	const config = `{"plugins": [{"type": "aibrix-prefix-cache"}, {"type": "vtc-basic"}]}`
	for _, tc := range []struct{ name, least, less, most, more string }{
		{"AIBRIX_PREFIX_CACHE_BLOCK_SIZE", "1", "0", "262144", "262145"},
		{"AIBRIX_PREFIX_CACHE_BLOCK_NUMBER", "1", "0", "4194304", "4194305"},
		{"AIBRIX_PREFIX_CACHE_EVICTION_DURATION_MINS", "1", "0", "153722867", "153722868"},
		{"AIBRIX_PREFIX_CACHE_POD_RUNNING_REQUEST_IMBALANCE_ABS_COUNT", "0", "-1", "2147483647", "2147483648"},
		{"AIBRIX_PREFIX_CACHE_STANDARD_DEVIATION_FACTOR", "0", "-0.5", "1000000", "1000001"},
		{"AIBRIX_ROUTER_VTC_TOKEN_TRACKER_WINDOW_SIZE", "1", "0", "1000000", "1000001"},
		{"AIBRIX_ROUTER_VTC_BASIC_UTILIZATION_WEIGHT", "0", "-0.5", "1000000000000", "1000000000001"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, value := range []string{tc.least, tc.most} {
				if got := plantest.MistakesIn(config, map[string]string{tc.name: value}); got != "" {
					t.Errorf("%s: mistakes %q, want none", value, got)
				}
			}
			for _, value := range []string{tc.less, tc.more} {
				got := plantest.MistakesIn(config, map[string]string{tc.name: value})
				want := fmt.Sprintf("the environment variable %s is %q, not ", tc.name, value)
				if !strings.Contains(got, want) {
					t.Errorf("mistakes %q, want %s...", got, want)
				}
			}
		})
	}
}
