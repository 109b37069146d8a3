package producers_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/affinity"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestSessionSources: which session the headers of a request name, by each plug-in that tells sessions.
func TestSessionSources(t *testing.T) {
	const agent, session = "agent-identity", "session-id-producer"
	const claude, envoy = "x-claude-code-session-id", "x-session-affinity"
	const header, cookie = `{"headerName": "X-Chat"}`, `{"cookieName": "chat"}`
	type headers = map[string]string
	for _, tc := range []struct {
		name, kind, parameters string
		headers                headers
		want                   string
	}{
		{"none", agent, `{}`, nil, ""},
		{"Claude Code's", agent, `{}`, headers{claude: "a", envoy: "b", "session-id": "c", "session_id": "d"}, "a"},
		{"session affinity", agent, `{}`, headers{envoy: "b", "session-id": "c", "session_id": "d"}, "b"},
		{"with a hyphen", agent, `{}`, headers{"session-id": "c", "session_id": "d"}, "c"},
		{"with an underscore", agent, `{}`, headers{"session_id": "d"}, "d"},
		{"blanks are none", agent, `{}`, headers{claude: "  ", envoy: " b "}, "b"},
		{"another one first", agent, `{"additionalSessionHeaders": ["X-Mine", "x-more"]}`,
			headers{claude: "a", "x-more": "f", "x-mine": "e"}, "e"},
		{"the next one of others", agent, `{"additionalSessionHeaders": ["x-mine", "x-more"]}`,
			headers{claude: "a", "x-more": "f"}, "f"},
		{"none of the others", agent, `{"additionalSessionHeaders": ["x-mine"]}`, headers{claude: "a"}, "a"},

		{"no header", session, header, nil, ""},
		{"a header", session, header, headers{"x-chat": " a=b; c "}, "a=b; c"},
		{"no cookie", session, cookie, nil, ""},
		{"a cookie", session, cookie, headers{"cookie": "chat=a"}, "a"},
		{"the first of its name", session, cookie, headers{"cookie": "chat=a; chat=b"}, "a"},
		{"among others", session, cookie, headers{"cookie": "x=1;chatter=2;  chat= a=b ;y=3"}, "a=b"},
		{"another one", session, cookie, headers{"cookie": "chatter=2; x; =chat"}, ""},
		{"the last one", session, cookie, headers{"cookie": "x=1;;chat=z"}, "z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var source affinity.Source
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "`+tc.kind+`",
				"parameters": `+tc.parameters+`}, {"type": "reader"}]}`, plantest.Neutral,
				scoring.Registration{Type: "reader", New: func(b *scoring.Builder) scoring.Plugin {
					source = b.Plugin(tc.kind).(affinity.Source)
					return struct{}{}
				}})
			c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
			c.Request.Headers = plantest.Headers(plan, tc.headers)
			if got := source.Session(c); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			attribute := map[string]string{agent: agent, session: "SessionID"}[tc.kind]
			if got := source.Attribute(); got != attribute {
				t.Errorf("the attribute is %q, want %q", got, attribute)
			}
		})
	}
}

// TestSessionIDMistakes: a session is named by a header or a cookie.
func TestSessionIDMistakes(t *testing.T) {
	const at = "plugins[0](session-id-producer).parameters."
	for _, tc := range []struct{ name, parameters, want string }{
		{"a header", `"headerName": "x-a"`, ""},
		{"a cookie", `"cookieName": "a"`, ""},
		{"neither", ``, at + "headerName: is missing; give headerName or cookieName"},
		{"both", `"headerName": "x-a", "cookieName": "a"`,
			at + "cookieName: stands beside headerName; the session is named by one or the other"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := plantest.Mistakes(`{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "session-id-producer",
				"parameters": {` + tc.parameters + `}}]}`); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
