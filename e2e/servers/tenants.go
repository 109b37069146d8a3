package servers

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/internal/harness"
)

// Salting is a plug-in that keeps tenants apart by the header x-team.
func Salting() map[string]any {
	return map[string]any{"type": "tenant-cache-salt",
		"parameters": map[string]any{"tenantHeader": "x-team", "secret": "a secret of some length"}}
}

// Way is one to ask for a token: the body without its model, with PROMPT where the prompt stands as JSON, and where
// the answer says how many of the prompt's tokens were cached. Shared tells that the engine heeds no salt there.
type Way struct {
	Path, Body, Cached string
	Shared             bool
}

// TenantsApart checks by a gateway with Salting, whose address base is as a URL, in front of one engine, that what one
// tenant's prompt leaves in its cache is not found by another's equal one.
func TenantsApart(t *testing.T, base, model string, ways []Way) {
	t.Helper()
	for _, way := range ways {
		t.Run(way.Path, func(t *testing.T) {
			prompt := strconv.Quote(Words("asked at "+way.Path, 120))
			body := fmt.Sprintf(`{"model":%q,%s}`, model, strings.Replace(way.Body, "PROMPT", prompt, 1))
			for i, tc := range []struct {
				team  string
				found bool
			}{{"a", false}, {"a", true}, {"b", way.Shared}, {"b", true}, {"", way.Shared}} {
				request := harness.Request(t, http.MethodPost, base+way.Path, body, false)
				if tc.team != "" {
					request.Header.Set("X-Team", tc.team)
				}
				got := harness.Send(t, harness.Client(t, false), request)
				cached := gjson.Get(got.Body, way.Cached)
				if got.Status != http.StatusOK || tc.found && !cached.Exists() {
					t.Fatalf("request %d of team %q: got %d %s, want cached tokens at %s", i, tc.team, got.Status,
						got.Body, way.Cached)
				}
				if (cached.Int() > 0) != tc.found {
					t.Errorf("request %d of team %q: %d tokens were cached, want some: %v", i, tc.team, cached.Int(),
						tc.found)
				}
			}
		})
	}
}
