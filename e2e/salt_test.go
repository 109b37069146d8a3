package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

const saltSecret = "a secret of some length"

// salted is a plug-in that keeps teams apart in the servers' caches, and knows the secret by one of two keys.
func salted(key, value string) map[string]any { return saltedBy("x-team", key, value) }

// saltedBy is salted by another header that names the team.
func saltedBy(header, key, value string) map[string]any {
	plugin := alone("queue-scorer")
	plugin["config"] = map[string]any{"plugins": []map[string]any{{"type": "queue-scorer"},
		{"type": "tenant-cache-salt", "parameters": map[string]any{"tenantHeader": header, key: value}}}}
	return plugin
}

// The salts of two teams, and of one that has a salt of its own.
const (
	saltA     = "Sp6KG8ob0yye-v0ybFrYuw"
	saltB     = "nmObk4EpTWDcRGgCyA8OjA"
	saltAMine = "FbdlhK18nxQ4_ntvez7E6Q"
)

// TestSaltedBodies: what arrives has its team's salt, in whatever passage, and nothing else in it is changed but the
// model where that is rewritten.
func TestSaltedBodies(t *testing.T) {
	bodies := []struct{ name, body, want string }{
		{"without a salt", `{"model":"sim-model","max_tokens":2,"messages":[{"role":"user","content":"TEXT"}]}`,
			`{"cache_salt":"SALT","model":"sim-model","max_tokens":2,"messages":[{"role":"user","content":"TEXT"}]}`},
		{"spaces", " {\n \"model\": \"sim-model\", \"max_tokens\": 2, \"messages\":[{\"role\":\"user\"," +
			"\"content\":\"TEXT\"}] }\n", " {\"cache_salt\":\"SALT\",\n \"model\": \"sim-model\", \"max_tokens\": 2, " +
			"\"messages\":[{\"role\":\"user\",\"content\":\"TEXT\"}] }\n"},
		{"with a salt of its own", `{"model":"sim-model","cache\u005fsalt":"mine","max_tokens":2,"messages":[{"role":"user",
			"content":"TEXT"}]}`, `{"model":"sim-model","cache\u005fsalt":"SALT","max_tokens":2,"messages":[{"role":"user",
			"content":"TEXT"}]}`},
		{"with a salt of its own behind it", `{"model":"longer","messages":[{"role":"user","content":"TEXT"}],
			"max_tokens":2,"cache_salt":"mine"}`, `{"model":"` + longModel + `","messages":[{"role":"user",` +
			`"content":"TEXT"}],
			"max_tokens":2,"cache_salt":"SALT"}`},
	}
	salts := map[string]map[bool]string{"team-a": {false: saltA, true: saltAMine}, "team-b": {false: saltB}}
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		f.publishRewrites(t)
		for _, passage := range passages {
			client := harness.Client(t, passage.http2)
			for _, tc := range bodies {
				own := strings.Contains(tc.body, "mine")
				for team, of := range salts {
					salt, known := of[own]
					if !known {
						continue
					}
					for _, size := range []int{10, 300_000} {
						text := strings.Repeat("all work ", size/9+1)
						body := strings.Replace(tc.body, "TEXT", text, 1)
						want := strings.Replace(tc.want, "TEXT", text, 1)
						what := fmt.Sprintf("%s, %s, %s, %d bytes", passage.name, tc.name, team, len(body))
						f.wantArrival(t, what, passage, f.carryTo(t, "salted", team, client, passage, body),
							strings.Replace(want, "SALT", salt, 1))
					}
				}
			}
		}
	})
}

// TestTeamsShareNoCache: of a prompt that one team has sent, the server finds nothing for another, whatever salt that
// one asks with; without the plug-in it finds nearly all.
func TestTeamsShareNoCache(t *testing.T) {
	const secretEnv = "PINTLE_CACHE_SALT"
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			server, err := harness.NewServer(
				sim.Config{Name: "sim-0", Models: models, OutputTokens: 2, Blocks: 1 << 12})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			plugin, environment := salted("secretEnv", secretEnv), map[string]string{secretEnv: saltSecret}
			envoy, err := harness.Start(cell, []string{server.Address},
				&harness.Listener{Name: "salted", Plugin: plugin, Environment: environment},
				&harness.Listener{Name: "hosts", Plugin: saltedBy("Host", "secretEnv", secretEnv),
					Environment: environment},
				&harness.Listener{Name: "requests", Plugin: alone("queue-scorer"), Environment: environment},
				&harness.Listener{Name: "ingest", Plugin: plugin, Environment: environment, Ingest: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(envoy.Stop)
			envoy.LogOnFailure(t)
			envoy.Publish(t, harness.Endpoint{Name: server.Name, Address: server.Address})
			cached := func(listener, team, more string) int {
				t.Helper()
				body := fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"messages":[{"role":"user","content":%q}]%s}`,
					strings.Repeat("what one team alone may know, ", 40), more)
				request := harness.Request(t, http.MethodPost, envoy.URL(listener, chatPath), body, false)
				if team != "" {
					request.Header.Set("X-Team", team)
					request.Host = team + ".example"
				}
				return cachedTokens(t, harness.Send(t, harness.Client(t, false), request).Body)
			}
			cached("salted", "team-a", "")
			cached("requests", "", "")
			for _, tc := range []struct {
				name, listener, team, more string
				found                      bool
			}{
				{"the same team", "salted", "team-a", "", true},
				{"another team", "salted", "team-b", "", false},
				{"a third, with the first one's salt", "salted", "team-c", `,"cache_salt":"` + saltA + `"`, false},
				{"no team", "salted", "", "", false},
				{"the same team, with a salt of its own", "salted", "team-a", `,"cache_salt":"mine"`, false},
				{"and once more", "salted", "team-a", `,"cache_salt":"mine"`, true},
				{"anybody without the plug-in", "requests", "team-b", "", true},
				{"a team by its host", "hosts", "team-a", "", false},
				{"the same host", "hosts", "team-a", "", true},
				{"another host", "hosts", "team-b", "", false},
			} {
				if got := cached(tc.listener, tc.team, tc.more); (got > 0) != tc.found {
					t.Errorf("%s: %d tokens found cached, want some: %v", tc.name, got, tc.found)
				}
			}
		})
	}
}

// cachedTokens is how many tokens of a prompt an answer says were cached.
func cachedTokens(t testing.TB, answer string) int {
	t.Helper()
	var said struct {
		Usage *struct {
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &said); err != nil || said.Usage == nil {
		t.Fatalf("an answer without its usage: %s", answer)
	}
	return said.Usage.Details.Cached
}
