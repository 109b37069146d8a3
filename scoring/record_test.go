package scoring_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestRecordStages: a decision's event names the endpoint of each stage, and that of one without a prefill stage none.
func TestRecordStages(t *testing.T) {
	const config = `{"plugins": [{"type": "disagg-headers-handler"}, {"type": "always-disagg-pd-decider"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
		{"type": "decode-filter"}, {"type": "prefill-filter"}], "schedulingProfiles": [
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`
	const role = "mif.moreh.io/role"
	decode, prefill := plantest.Labelled(role, "decode"), plantest.Labelled(role, "prefill")
	plan := plantest.Plan(t, config, scoring.Staleness{})
	for _, test := range []struct {
		name   string
		pool   []scoring.Endpoint
		stages []string // decode and prefill
	}{
		{"both", []scoring.Endpoint{decode, prefill}, []string{"a", "b"}},
		{"decode alone", []scoring.Endpoint{decode}, []string{"a", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			event := record(t, plan, plantest.Pool(test.pool...), openai.APICompletions, `{"model":"m","prompt":"hi"}`)
			want := []uint64{journal.EndpointID(test.stages[0]), 0}
			if test.stages[1] != "" {
				want[1] = journal.EndpointID(test.stages[1])
			}
			if got := []uint64{event.Primary, event.Prefill}; !slices.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
}

// TestRecordEncode: a decision's event names every endpoint of the encode stage, also one that runs another stage, too.
func TestRecordEncode(t *testing.T) {
	const config = `{"plugins": [{"type": "disagg-headers-handler"}, {"type": "always-disagg-pd-decider"},
		{"type": "always-disagg-multimodal-decider"}, {"type": "disagg-profile-handler", "parameters": {"deciders":
		{"prefill": "always-disagg-pd-decider", "encode": "always-disagg-multimodal-decider"}}},
		{"type": "by-label", "name": "d", "parameters": {"label": "decodes", "validValues": ["yes"]}},
		{"type": "by-label", "name": "p", "parameters": {"label": "prefills", "validValues": ["yes"]}},
		{"type": "by-label", "name": "e", "parameters": {"label": "encodes", "validValues": ["yes"]}},
		{"type": "round-robin", "parameters": {"maxNumOfEndpoints": 2}}], "schedulingProfiles": [
		{"name": "decode", "plugins": [{"pluginRef": "d"}]}, {"name": "prefill", "plugins": [{"pluginRef": "p"}]},
		{"name": "encode", "plugins": [{"pluginRef": "e"}]}]}`
	plan := plantest.Plan(t, config, scoring.Staleness{})
	for _, test := range []struct {
		name   string
		roles  []string // of a, b and c
		encode []string
	}{
		{"apart", []string{"decodes", "prefills", "encodes"}, []string{"c"}},
		{"with prefill", []string{"decodes", "prefills encodes", "encodes"}, []string{"b", "c"}},
		{"where prefill is alone", []string{"decodes", "prefills encodes", ""}, []string{"b"}},
		{"with decode", []string{"decodes encodes", "prefills", "encodes"}, []string{"a", "c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var endpoints []scoring.Endpoint
			for _, roles := range test.roles {
				var labels []string
				for _, role := range strings.Fields(roles) {
					labels = append(labels, role, "yes")
				}
				endpoints = append(endpoints, plantest.Labelled(labels...))
			}
			event := record(t, plan, plantest.Pool(endpoints...), openai.APIChat, `{"model":"m","messages":[{"role":"user",
				"content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]}`)
			var want []uint64
			for _, name := range test.encode {
				want = append(want, journal.EndpointID(name))
			}
			if !slices.Equal(event.Encode, want) {
				t.Errorf("encode stages at %x, want %x", event.Encode, want)
			}
		})
	}
}

// TestRecordEncodeWithoutPrefill: where no stage is prefill's, the profile that comes first is none either.
func TestRecordEncodeWithoutPrefill(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "disagg-headers-handler"}, {"type": "always-disagg-multimodal-decider"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"encode": "always-disagg-multimodal-decider"}}},
		{"type": "by-label", "name": "d", "parameters": {"label": "decodes", "validValues": ["yes"]}},
		{"type": "by-label", "name": "e", "parameters": {"label": "encodes", "validValues": ["yes"]}}],
		"schedulingProfiles": [{"name": "encode", "plugins": [{"pluginRef": "e"}]},
		{"name": "decode", "plugins": [{"pluginRef": "d"}]}]}`, scoring.Staleness{})
	pool := plantest.Pool(plantest.Labelled("decodes", "yes"), plantest.Labelled("encodes", "yes"))
	event := record(t, plan, pool, openai.APIChat, `{"model":"m","messages":[{"role":"user",
		"content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]}`)
	if want := []uint64{journal.EndpointID("b")}; event.Primary != journal.EndpointID("a") || event.Prefill != 0 ||
		!slices.Equal(event.Encode, want) {
		t.Errorf("decode at %x, prefill at %x, encode at %x; want %x, none and %x", event.Primary, event.Prefill,
			event.Encode, journal.EndpointID("a"), want)
	}
}

// TestRecordShadow: of a shadow's chains the event holds the blocks that it does not have yet, as far as there is room.
func TestRecordShadow(t *testing.T) {
	plan := func(blockTokens, most string) *scoring.Plan {
		return plantest.Plan(t, `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {"autoTune": false,
			"blockSizeTokens": `+blockTokens+`, "maxPrefixBlocksToMatch": `+most+`}}]}`, plantest.Neutral)
	}
	acts := plan("16", "100")
	tests := []struct {
		name   string
		shadow *scoring.Plan
		full   bool // of the plan that acts
		want   int  // blocks of the shadow's chain in the event
	}{
		{"as many blocks", plan("16", "100"), false, 0},
		{"fewer", plan("16", "99"), false, 0},
		{"more", plan("16", "101"), false, 101},
		{"other blocks", plan("32", "10"), false, 10},
		{"other blocks, and little room", plan("32", "200"), true, 4},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			event := journal.Event{}
			for _, p := range []*scoring.Plan{acts, tc.shadow} {
				pool := plantest.Pool(scoring.Endpoint{})
				pool.State = state.New(p.StateOptions())
				pool.Enter()
				c := plantest.Cycle(pool, 1)
				body := []byte(`{"model": "m", "prompt": "` + strings.Repeat("word", 16*400) + `"}`)
				if failure := c.Request.Read(&openai.Request{}, openai.APICompletions, body); failure != nil {
					t.Fatal(failure)
				}
				if _, failure := p.Decide(c); failure != nil {
					t.Fatal(failure)
				}
				if p != acts {
					p.RecordShadow(c, &event)
					continue
				}
				p.Record(c, &event)
				if n := len(event.Chains); n != 1 || len(event.Chains[0].Blocks) != 100 {
					t.Fatalf("the plan that acts has %d chains, want one of 100 blocks", n)
				}
				if tc.full {
					event.Chains[0].Blocks = make([]uint64, journal.MaxBlocks-4)
				}
			}
			if len(event.Shadow) != 1 || len(event.Shadow[0].Blocks) != tc.want {
				t.Errorf("got %d chains, %d blocks; want 1 and %d", len(event.Shadow), len(event.Shadow[0].Blocks),
					tc.want)
			}
		})
	}
}

// record decides a request to a pool and returns the event of that.
func record(t *testing.T, plan *scoring.Plan, pool *scoring.Pool, api openai.API, body string) *journal.Event {
	t.Helper()
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	if failure := c.Request.Read(&openai.Request{}, api, []byte(body)); failure != nil {
		t.Fatal(failure)
	}
	if _, failure := plan.Decide(c); failure != nil {
		t.Fatal(failure)
	}
	event := &journal.Event{}
	plan.Record(c, event)
	return event
}
