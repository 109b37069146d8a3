package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestDecidersWithoutProfiles: llm-d leaves out each stage that has a decider and no profile, and says so. It says of
// deciders that nothing names that they have no effect.
func TestDecidersWithoutProfiles(t *testing.T) {
	const never = "disagg-profile-handler: %s never runs, because there is no profile %q"
	const prefill, encode = `"prefill": "always-disagg-pd-decider"`, `"encode": "always-disagg-multimodal-decider"`
	for _, tc := range []struct {
		deciders, profiles string
		stages             []string // that never run
		want               string   // those that do
	}{
		{prefill, "d", []string{"prefill"}, "d"},
		{prefill, "dp", nil, "dp"},
		{"", "d", nil, "d"},
		{prefill + ", " + encode, "d", []string{"prefill", "encode"}, "d"},
		{prefill + ", " + encode, "dp", []string{"encode"}, "dp"},
		{prefill + ", " + encode, "de", []string{"prefill"}, "de"},
	} {
		names, profiles := map[rune]string{'d': "decode", 'p': "prefill", 'e': "encode"}, ""
		for _, stage := range tc.profiles {
			profiles += `, {"name": "` + names[stage] + `", "plugins": [{"pluginRef": "` + string(stage) + `"}]}`
		}
		var warnings []string
		for _, stage := range tc.stages {
			warnings = append(warnings, fmt.Sprintf(never, stage, stage))
		}
		for _, decider := range []string{"always-disagg-pd-decider", "always-disagg-multimodal-decider"} {
			if !strings.Contains(tc.deciders, decider) {
				warnings = append(warnings, decider+": "+scoring.NothingRefers)
			}
		}
		config := `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "always-disagg-pd-decider"},
			{"type": "always-disagg-multimodal-decider"},
			{"type": "disagg-profile-handler", "parameters": {"deciders": {` + tc.deciders + `}}}`
		for _, stage := range tc.profiles {
			config += `, {"type": "by-label", "name": "` + string(stage) + `", "parameters": {"label": "role",
				"validValues": ["` + string(stage) + `"]}}`
		}
		config += `], "schedulingProfiles": [` + profiles[2:] + `]}`
		plantest.CheckTold(t, config, "", strings.Join(warnings, "\n"))
		c := plantest.Cycle(plantest.Pool(plantest.Labelled("role", "p"), plantest.Labelled("role", "d"),
			plantest.Labelled("role", "e")), 1)
		if failure := c.Request.Read(new(openai.Request), openai.APIChat, []byte(`{"model":"m","messages":[
			{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]}`)); failure != nil {
			t.Fatal(failure.Message)
		}
		if _, failure := plantest.Plan(t, config, plantest.Neutral).Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		got := ""
		for i, stage := range tc.profiles {
			if c.Result(i).State == scoring.Picked {
				got += string(stage)
			}
		}
		if got != tc.want {
			t.Errorf("deciders %s, profiles %s: stages run at %q, want %q", tc.deciders, tc.profiles, got, tc.want)
		}
	}
}

// TestMultimodalDecider: a request with an image, a video or audio goes through the encode stage, and no other.
func TestMultimodalDecider(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "always-disagg-multimodal-decider"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"encode": "always-disagg-multimodal-decider"}}},
		{"type": "queue-scorer"}], "schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "queue-scorer"}]},
		{"name": "encode", "plugins": [{"pluginRef": "queue-scorer"}]}]}`, plantest.Neutral)
	for part, want := range map[string]bool{
		`{"type": "text", "text": "x"}`:                                                 false,
		`{"type": "image_url", "image_url": {"url": "https://x/y.png"}}`:                true,
		`{"type": "video_url", "video_url": {"url": "https://x/y.mp4"}}`:                true,
		`{"type": "audio_url", "audio_url": {"url": "https://x/y.mp3"}}`:                true,
		`{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}`: true,
	} {
		c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
		body := []byte(`{"model": "m", "messages": [{"role": "user", "content": [` + part + `]}]}`)
		if failure := c.Request.Read(new(openai.Request), openai.APIChat, body); failure != nil {
			t.Fatal(failure.Message)
		}
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		if got := c.Result(1).State == scoring.Picked; got != want {
			t.Errorf("%s: encodes is %v, want %v", part, got, want)
		}
	}
	c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
	if _, failure := plan.Decide(c); failure != nil || c.Result(1).State == scoring.Picked {
		t.Errorf("without a body: got %v, encodes is %v; want no failure, and no encode stage", failure,
			c.Result(1).State == scoring.Picked)
	}
}

// TestFormerDeciders: of the former names of prefill's decider the later one counts where it names any.
func TestFormerDeciders(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		want             bool
	}{
		{"the first", `"deciderPluginName": "always-disagg-pd-decider"`, true},
		{"the later", `"prefillDeciderPluginName": "always-disagg-pd-decider"`, true},
		{"both", `"deciderPluginName": "always-disagg-pd-decider", "prefillDeciderPluginName": "never"`, false},
		{"both, in the other order", `"prefillDeciderPluginName": "never", "deciderPluginName": "always-disagg-pd-decider"`,
			false},
		{"the later one empty", `"deciderPluginName": "always-disagg-pd-decider", "prefillDeciderPluginName": ""`, true},
		{"the first one empty", `"deciderPluginName": "", "prefillDeciderPluginName": "always-disagg-pd-decider"`, true},
		{"both empty", `"deciderPluginName": "", "prefillDeciderPluginName": ""`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "always-disagg-pd-decider"},
				{"name": "never", "type": "prefix-based-pd-decider"}, {"type": "decode-filter"}, {"type": "prefill-filter"},
				{"type": "disagg-profile-handler", "parameters": {`+tc.parameters+`}}], "schedulingProfiles": [
				{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
				{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`, plantest.Neutral)
			const role = "llm-d.ai/role"
			c := staged(t, plan, plantest.Labelled(role, "decode"), plantest.Labelled(role, "prefill"))
			if got := c.Prefill() != nil; got != tc.want {
				t.Errorf("prefill %v, want %v", got, tc.want)
			}
		})
	}
}

// TestPrefixDecider: without anything that says what is cached, as before there is a state, llm-d's decider asks for no
// prefill, and the other one takes nothing for cached. It has the lengths of prompts learnt, to know how long they are.
func TestPrefixDecider(t *testing.T) {
	for _, tc := range []struct {
		name, version, label string
		state                bool
		prefills, lengths    bool
	}{
		{"llm-d's", "llm-d.ai/v1alpha1", "llm-d.ai/role", true, true, false},
		{"llm-d's without a state", "llm-d.ai/v1alpha1", "llm-d.ai/role", false, false, false},
		{"Heimdall's", "inference.networking.x-k8s.io/v1alpha1", "mif.moreh.io/role", true, true, true},
		{"Heimdall's without a state", "inference.networking.x-k8s.io/v1alpha1", "mif.moreh.io/role", false, true,
			true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "`+tc.version+`", "plugins": [{"type": "disagg-headers-handler"},
				{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 2}}, {"type": "decode-filter"},
				{"type": "prefill-filter"}, {"type": "disagg-profile-handler", "parameters": {"deciders":
				{"prefill": "prefix-based-pd-decider"}}}], "schedulingProfiles": [
				{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
				{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`, plantest.Neutral)
			if got := plan.StateOptions().Lengths; got != tc.lengths {
				t.Errorf("lengths of prompts are learnt: %v, want %v", got, tc.lengths)
			}
			pool := plantest.Pool(plantest.Labelled(tc.label, "decode"), plantest.Labelled(tc.label, "prefill"))
			if tc.state {
				pool.State = state.New(plan.StateOptions())
				pool.Enter()
			}
			c := plantest.Cycle(pool, 1)
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions,
				[]byte(`{"model":"m","prompt":"word word"}`)); failure != nil {
				t.Fatal(failure.Message)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			if got := c.Prefill() != nil; got != tc.prefills {
				t.Errorf("prefill %v, want %v", got, tc.prefills)
			}
		})
	}
}

// TestPrefixDeciderByTiers: what lies in a lesser tier of a server is cached, too, whatever it is worth to scorers.
func TestPrefixDeciderByTiers(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
		{"name": "precise", "type": "precise-prefix-cache-producer"},
		{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 32,
		"prefixMatchInfoProducerName": "precise"}}, {"type": "decode-filter"}, {"type": "prefill-filter"},
		{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "prefix-based-pd-decider"}}}],
		"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]}]}`, plantest.Neutral)
	const role = "llm-d.ai/role"
	pool := plantest.Pool(plantest.Labelled(role, "decode"), plantest.Labelled(role, "prefill"))
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions,
		[]byte(`{"model":"m","prompt":"x"}`)); failure != nil {
		t.Fatal(failure.Message)
	}
	for _, tc := range []struct {
		name   string
		blocks int // of 10 with 16 tokens each
		score  float64
		want   bool
	}{
		{"all in the GPU", 10, 10, false},
		{"all in the CPU's memory", 10, 8, false},
		{"nine in the CPU's memory", 9, 7.2, false},
		{"eight in the GPU", 8, 8, true},
		{"eight in the CPU's memory", 8, 6.4, true},
		{"none", 0, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 160, Blocks: 10, BlockTokens: 16}
			if tc.blocks > 0 {
				c.Request.Precise.Holders = []scoring.PreciseHolder{{ID: pool.ID(&pool.Endpoints[0]), Blocks: tc.blocks,
					Tokens: 16 * tc.blocks, Score: tc.score}}
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			if got := c.Prefill() != nil; got != tc.want {
				t.Errorf("prefill %v, want %v", got, tc.want)
			}
			if n := testing.AllocsPerRun(20, func() { _, _ = plan.Decide(c) }); n != 0 {
				t.Errorf("got %v allocations in a decision, want none", n)
			}
		})
	}
}
