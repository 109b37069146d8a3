package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// rewritten are routes that send servers another path than the client's, and the one of docs/configuration.md by which
// Pintle sees that other path.
const rewritten = `              routes:
              - match: {prefix: /llm/}
                route: {cluster: model-servers, prefix_rewrite: /}
              - match: {path_separated_prefix: /team}
                route: {cluster: model-servers, regex_rewrite: {pattern: {regex: "^/team/?"}, substitution: /}}
              - match: {path: /ask}
                route: {cluster: model-servers}
                typed_per_filter_config:
                  envoy.filters.http.lua:
                    "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.LuaPerRoute
                    source_code:
                      inline_string: |
                        function envoy_on_request(handle)
                          handle:headers():replace(":path", "/v1/chat/completions")
                        end
`

// TestRewrittenPaths: where routes rewrite paths, what the path ends with decides, and what manages servers is refused.
func TestRewrittenPaths(t *testing.T) {
	t.Parallel()
	server, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Script(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Sim-Server", "scripted")
		_, _ = fmt.Fprint(w, r.URL.Path)
	})
	s := loadShipped(t, "envoy.yaml")
	s.text = strings.NewReplacer("              routes:\n", rewritten,
		"          http_filters:\n          - &pintle\n",
		"          http_filters:\n"+filter("lua", "lua.v3.Lua")+
			"          - &pintle\n").Replace(s.text)
	s.start(t)
	s.publish(t, []harness.Endpoint{{Name: "scripted", Address: server.Address}})
	tests := []struct {
		path, body string
		status     int
		// want is the path that the server sees, or why there is none.
		want string
	}{
		{"/llm" + chatPath, chatBody, http.StatusOK, chatPath},
		{"/llm" + chatPath, "{", http.StatusBadRequest, "invalid_body"},
		{"/team" + chatPath, "{", http.StatusBadRequest, "invalid_body"},
		{"/team" + chatPath, chatBody, http.StatusOK, chatPath},
		{"/ask", chatBody, http.StatusOK, chatPath},
		{"/ask", "{", http.StatusBadRequest, "invalid_body"},
		{"/llm/sleep", "", http.StatusForbidden, "management_path"},
		{"/team/sleep", "", http.StatusForbidden, "management_path"},
		{"/team//sleep", "", http.StatusForbidden, "management_path"},
		{"/teamsleep", "", http.StatusOK, "/teamsleep"},
	}
	for _, tc := range tests {
		got := harness.Send(t, harness.Client(t, false),
			harness.Request(t, http.MethodPost, "http://"+s.requests+tc.path, tc.body, false))
		told := got.Body
		if got.Server() == "" {
			told = got.Header.Get("X-Pintle-Reason")
		}
		if got.Status != tc.status || told != tc.want {
			t.Errorf("%s %s: got %d %s, want %d %s", tc.path, tc.body, got.Status, told, tc.status, tc.want)
		}
	}
}
