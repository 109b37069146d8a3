package scorers_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestLongSessionTokens: a token that is longer than any should be means nothing, and costs no memory.
func TestLongSessionTokens(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "session-affinity-scorer"}]}`, plantest.Neutral)
	longest := strings.Repeat("n", 1024/4*3) // 1,024 bytes in base64
	tests := []struct {
		name, endpoint string
		want           float64
	}{
		{"longest", longest, 1}, {"longer", longest + "n", 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := plantest.Cycle(plantest.Pool(scoring.Endpoint{Name: tc.endpoint}), 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{
				"x-session-token": base64.StdEncoding.EncodeToString([]byte(tc.endpoint))})
			if got := plantest.Decide(plan, c).Scores["session-affinity-scorer"][tc.endpoint]; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if n := testing.AllocsPerRun(20, func() { _, _ = plan.Decide(c) }); n != 0 {
				t.Errorf("got %v allocations, want none", n)
			}
		})
	}
}

// TestSessionsInBodies: whichever key of a body is accepted as a session's name, it is read; what holds a prompt or a
// setting is refused.
func TestSessionsInBodies(t *testing.T) {
	const refused = " holds a prompt or a setting and names no session; name another key, such as prompt_cache_key, " +
		"conversation, user or metadata.user_id"
	const noKey = " is neither a key nor two with a dot between them, of 1 to 32 bytes each"
	tests := []struct{ name, key, body, mistake string }{
		{name: "a further key", key: "prompt_cache_key", body: `"prompt_cache_key":"abc"`},
		{name: "an object's id", key: "conversation", body: `"conversation":{"id":"abc"}`},
		{name: "a key of an object", key: "metadata.user_id", body: `"metadata":{"user_id":"abc"}`},
		{name: "the user", key: "user", body: `"user":"abc"`},
		{name: "the salt", key: "cache_salt", body: `"cache_salt":"abc"`},
		{name: "the answer before", key: "previous_response_id", body: `"previous_response_id":"abc"`},
		{name: "the model", key: "model", body: `"model":"abc"`},
		{name: "a prompt", key: "instructions", mistake: `"instructions"` + refused},
		{name: "a setting", key: "stream", mistake: `"stream"` + refused},
		{name: "a key of a setting", key: "stream_options.include_usage",
			mistake: `"stream_options.include_usage"` + refused},
		{name: "a key of a string", key: "user.id", mistake: `"user.id"` + refused},
		{name: "the longest key", key: strings.Repeat("k", 32), body: `"` + strings.Repeat("k", 32) + `":"abc"`},
		{name: "a key that is too long", key: strings.Repeat("k", 33), mistake: `"` + strings.Repeat("k", 33) + `"` + noKey},
		{name: "no key before a dot", key: ".id", mistake: `".id"` + noKey},
		{name: "three keys", key: "a.b.c", mistake: `"a.b.c"` + noKey},
		{name: "no key behind a dot", key: "metadata.", mistake: `"metadata."` + noKey},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			config := `{"plugins": [{"type": "session-affinity-scorer", "parameters": {"strategy": "consistent_hash",
				"sessionIdConfig": {"sources": [{"body": "` + tc.key + `"}]}}}]}`
			if tc.mistake != "" {
				plantest.CheckTold(t, config, "plugins[0](session-affinity-scorer).parameters.sessionIdConfig."+
					"sources[0].body: "+tc.mistake, "")
				return
			}
			plan := plantest.Plan(t, config, plantest.Neutral)
			c := plantest.Cycle(plantest.Pool(make([]scoring.Endpoint, 2)...), 1)
			c.Request.Headers = make([]string, len(plan.RequestHeaders()))
			var scan openai.Request
			scan.Want(plan.BodyKeys())
			body := []byte(`{"model":"m","input":"x",` + tc.body + `}`)
			if failure := c.Request.Read(&scan, openai.APIResponses, body); failure != nil {
				t.Fatal(failure.Message)
			}
			if got := plantest.Decide(plan, c).Scores["session-affinity-scorer"]; got["a"]+got["b"] != 1 {
				t.Errorf("%s: scores %v, want 1 for one endpoint", body, got)
			}
		})
	}
}

// TestKeysOfSessionsInBodies: eight keys of bodies can be read, whichever plug-ins read them, and one that several read
// is one.
func TestKeysOfSessionsInBodies(t *testing.T) {
	sources := func(from, to byte) string {
		list := ""
		for c := from; c <= to; c++ {
			list += `, {"body": "` + string(c) + `"}`
		}
		return `"parameters": {"strategy": "consistent_hash", "sessionIdConfig": {"sources": [` + list[2:] + `]}}}`
	}
	for _, tc := range []struct {
		name, scorer, filter, mistake string
	}{
		{"eight at each of two", sources('a', 'h'), sources('a', 'h'), ""},
		{"eight together", sources('a', 'e'), sources('d', 'h'), ""},
		{"nine together", sources('a', 'e'), sources('e', 'i'), "plugins[1](session-affinity-filter).parameters." +
			`sessionIdConfig.sources[4].body: "i" is one key of bodies too many; 8 can be read`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := `{"plugins": [{"type": "session-affinity-scorer", ` + tc.scorer +
				`, {"type": "session-affinity-filter", ` + tc.filter + `]}`
			plantest.CheckTold(t, config, tc.mistake, "")
			if tc.mistake != "" {
				return
			}
			keys := plantest.Plan(t, config, plantest.Neutral).BodyKeys()
			if got := strings.Join(keys, ""); got != "abcdefgh" {
				t.Errorf("bodies are read for %q, want abcdefgh", got)
			}
		})
	}
}

// TestSessionsWithoutBodies: a request whose body is not read has no session in it.
func TestSessionsWithoutBodies(t *testing.T) {
	for _, key := range []string{"user", "cache_salt", "previous_response_id", "model", "prompt_cache_key"} {
		plan := plantest.Plan(t, `{"plugins": [{"type": "session-affinity-scorer", "parameters": {"strategy":
			"consistent_hash", "sessionIdConfig": {"sources": [{"body": "`+key+`"}]}}}]}`, plantest.Neutral)
		c := plantest.Cycle(plantest.Pool(make([]scoring.Endpoint, 2)...), 1)
		c.Request.Headers, c.Request.Body = make([]string, len(plan.RequestHeaders())), nil
		if got := plantest.Decide(plan, c).Scores["session-affinity-scorer"]; got["a"] != 0 || got["b"] != 0 {
			t.Errorf("%s: scores %v, want 0 for both", key, got)
		}
	}
}

// TestSessionParametersOfOtherStrategies: the operator is told of what the strategy does not go by.
func TestSessionParametersOfOtherStrategies(t *testing.T) {
	const encoded, session = `"encodedEndpointHeaderConfig": {"header": "y"}`, `"sessionIdConfig": {"evictionTtlSeconds": 9}`
	const noEffect = " has no effect with strategy: "
	tests := []struct{ strategy, parameters, warnings string }{
		{"encoded_endpoint_header", encoded, ""},
		{"encoded_endpoint_header", session, "sessionIdConfig" + noEffect},
		{"session_id", encoded, "encodedEndpointHeaderConfig" + noEffect},
		{"session_id", `"headerName": "y"`, "headerName" + noEffect},
		{"session_id", session, ""},
		{"consistent_hash", encoded, "encodedEndpointHeaderConfig" + noEffect},
		{"consistent_hash", session, "sessionIdConfig.evictionTtlSeconds" + noEffect},
	}
	for _, tc := range tests {
		t.Run(tc.strategy+" "+tc.parameters, func(t *testing.T) {
			warnings := tc.warnings
			if warnings != "" {
				warnings = "session-affinity-scorer: " + warnings + tc.strategy
			}
			plantest.CheckTold(t, `{"plugins": [{"type": "session-affinity-scorer", "parameters": {"strategy": "`+
				tc.strategy+`", `+tc.parameters+`}}]}`, "", warnings)
		})
	}
}
