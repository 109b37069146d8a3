package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

const signingKey = "what signs the tests' tokens, and nothing else"

// authenticated has Envoy's jwt_authn in front of Pintle at a listener make the claim team the header x-team.
func authenticated(listener string) func(config string) string {
	filter := `          - name: envoy.filters.http.jwt_authn
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication
              providers:
                tests:
                  local_jwks: {inline_string: '{"keys":[{"kty":"oct","alg":"HS256","k":"` + encoded(signingKey) + `"}]}'}
                  claim_to_headers: [{header_name: x-team, claim_name: team}]
              rules: [{match: {prefix: /}, requires: {provider_name: tests}}]
`
	return func(config string) string {
		before, after, _ := strings.Cut(config, "  - name: "+listener+"\n")
		after = strings.Replace(after, "          - name: pintle\n", filter+"          - name: pintle\n", 1)
		return before + "  - name: " + listener + "\n" + after
	}
}

func encoded(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// tokenOf is a team's JSON Web Token.
func tokenOf(team string) string {
	signed := encoded(`{"alg":"HS256","typ":"JWT"}`) + "." + encoded(`{"team":"`+team+`"}`)
	mac := hmac.New(sha256.New, []byte(signingKey))
	mac.Write([]byte(signed))
	return signed + "." + encoded(string(mac.Sum(nil)))
}

// tellsTenantsApart: a conversation is known to the team alone whose token began it, whatever header a client sends.
func (c *conversations) tellsTenantsApart(t *testing.T) {
	t.Helper()
	ask := func(team, claimed, method, path, body string) harness.Answer {
		r := harness.Request(t, method, c.URL("teams", path), body, false)
		r.Header.Set("Authorization", "Bearer "+tokenOf(team))
		if claimed != "" {
			r.Header.Set("X-Team", claimed)
		}
		return harness.Send(t, harness.Client(t, false), r)
	}
	const path = "/v1/responses"
	began := ask("red", "", http.MethodPost, path, `{"model":"m","input":"a"}`)
	var response struct{ ID string }
	if err := json.Unmarshal([]byte(began.Body), &response); err != nil || began.Status != http.StatusOK {
		t.Fatalf("a first turn: got %d %s, want 200", began.Status, began.Body)
	}
	harness.WaitFor(t, 20*time.Second, "the turn to be stored", func() (bool, string) {
		got := ask("red", "", http.MethodGet, path+"/"+response.ID, "")
		return got.Status == http.StatusOK, fmt.Sprint(got.Status, got.Body)
	})
	next := `{"model":"m","input":"b","previous_response_id":"` + response.ID + `"}`
	for _, test := range []struct {
		team, claimed string
		status        int
	}{{"red", "", 200}, {"red", "blue", 200}, {"blue", "", 404}, {"blue", "red", 404}} {
		get := ask(test.team, test.claimed, http.MethodGet, path+"/"+response.ID, "")
		turn := ask(test.team, test.claimed, http.MethodPost, path, next)
		if get.Status != test.status || turn.Status != test.status {
			t.Errorf("%s that calls itself %q: got %d and %d, want %d", test.team, test.claimed, get.Status,
				turn.Status, test.status)
		}
	}
}
