package salts_test

import (
	"maps"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

const secret = "a secret of some length"

// document is one with a tenant-cache-salt of such parameters.
func document(parameters string) string {
	return `{"plugins": [{"type": "queue-scorer"}, {"type": "tenant-cache-salt", "parameters": {` + parameters + `}}]}`
}

const byTeam = `"tenantHeader": "X-Team", "secret": "` + secret + `"`

// TestTenantCacheSalt: the salts that Python's hashlib and base64 make of the same.
func TestTenantCacheSalt(t *testing.T) {
	plans := map[string]*scoring.Plan{
		"secret": plantest.Plan(t, document(byTeam), plantest.Neutral),
		"secretEnv": plantest.PlanIn(t, document(`"tenantHeader": "x-team", "secretEnv": "SALTS"`),
			map[string]string{"SALTS": secret + "\n"}),
	}
	tests := []struct{ name, tenant, own, want string }{
		{"a tenant", "team-a", "", "Sp6KG8ob0yye-v0ybFrYuw"},
		{"another", "team-b", "", "nmObk4EpTWDcRGgCyA8OjA"},
		{"none", "", "", "XQLVEzyvHk-ASCt0PcS3LQ"},
		{"with a salt of its own", "team-a", `"mine"`, "FbdlhK18nxQ4_ntvez7E6Q"},
		{"with salts of its own", "team-a", `["x"]`, "oKlWQpqaIqbuyIsVUuvQSw"},
		{"with none that is said", "team-a", `null`, "Sp6KG8ob0yye-v0ybFrYuw"},
	}
	for by, plan := range plans {
		for _, tc := range tests {
			t.Run(by+": "+tc.name, func(t *testing.T) {
				body := `{"model":"m","prompt":"x"`
				if tc.own != "" {
					body += `,"cache_salt": ` + tc.own
				}
				c := salted(t, plan, tc.tenant, body+"}")
				if got := c.Request.Body.CacheSalt; got != tc.want {
					t.Errorf("got %q, want %q", got, tc.want)
				}
			})
		}
	}
}

// salted is a cycle with a completion of a tenant that has its salt.
func salted(t testing.TB, plan *scoring.Plan, tenant, body string) *scoring.Cycle {
	t.Helper()
	c := plantest.Cycle(plantest.Pool(plantest.Sampled(scoring.Metrics{})), 1)
	c.Request.Headers = plantest.Headers(plan, map[string]string{"x-team": tenant})
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, []byte(body)); failure != nil {
		t.Fatalf("%s: %v", body, failure)
	}
	plan.Salt(c)
	return c
}

// TestSaltsAreNoSessions: a session that is named by the client's cache_salt stays that, and without one there is none.
func TestSaltsAreNoSessions(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "session-affinity-scorer", "parameters": {"strategy": "consistent_hash",
		"sessionIdConfig": {"sources": [{"body": "cache_salt"}]}}}, {"type": "tenant-cache-salt", "parameters": {`+
		byTeam+`}}]}`, plantest.Neutral)
	scores := func(tenant, body string) map[string]float64 {
		c := salted(t, plan, tenant, body)
		c.Pool = plantest.Pool(make([]scoring.Endpoint, 8)...)
		return plantest.Decide(plan, c).Scores["session-affinity-scorer"]
	}
	sum := func(scores map[string]float64) (sum float64) {
		for _, score := range scores {
			sum += score
		}
		return sum
	}
	if got := scores("team-a", `{"model":"m","prompt":"x"}`); sum(got) != 0 {
		t.Errorf("without a session: scores %v, want 0 for all", got)
	}
	const mine = `{"model":"m","prompt":"x","cache_salt":"mine"}`
	if a, b := scores("team-a", mine), scores("team-b", mine); sum(a) != 1 || !maps.Equal(a, b) {
		t.Errorf("a session: scores %v and %v, want 1 for one endpoint, whoever asks", a, b)
	}
}

// TestSaltsAllocateNothing: once its places are large enough, a salt leaves no garbage.
func TestSaltsAllocateNothing(t *testing.T) {
	plan := plantest.Plan(t, document(byTeam), plantest.Neutral)
	c := salted(t, plan, "team-a", `{"model":"m","prompt":"x","cache_salt":"mine"}`)
	if n := testing.AllocsPerRun(100, func() { plan.Salt(c) }); n > 0 {
		t.Errorf("%v allocations for a salt, want none", n)
	}
}

// TestPlansWithoutSalts leave a request's salt as it is.
func TestPlansWithoutSalts(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "queue-scorer"}]}`, plantest.Neutral)
	c := salted(t, plan, "team-a", `{"model":"m","prompt":"x","cache_salt":"mine"}`)
	if got := c.Request.Body.CacheSalt; plan.Salts() || plan.LacksSecret() != "" || got != "mine" {
		t.Errorf("salts %v, lacks %q, got %q; want the client's", plan.Salts(), plan.LacksSecret(), got)
	}
}

// TestLacksSecret: what is missing is known, and is no mistake yet, as only the filter has the module's environment.
func TestLacksSecret(t *testing.T) {
	plan := plantest.Plan(t, document(`"tenantHeader": "x-team", "secretEnv": "SALTS"`), plantest.Neutral)
	if got := plan.LacksSecret(); got != "SALTS" {
		t.Errorf("got %q, want SALTS", got)
	}
}

func TestTold(t *testing.T) {
	const at = "plugins[1](tenant-cache-salt).parameters."
	tests := []struct{ name, config, mistakes, warnings string }{
		{"right", document(byTeam), "", ""},
		{"two", `{"plugins": [{"type": "queue-scorer"}, {"type": "tenant-cache-salt", "parameters": {` + byTeam + `}},
			{"type": "tenant-cache-salt", "name": "second", "parameters": {` + byTeam + `}}]}`, "",
			"second: is off, as another tenant-cache-salt is declared before it"},
		{"no header", document(`"secret": "` + secret + `"`),
			at + "tenantHeader: is missing; name the header that says who asks", ""},
		{"no secret", document(`"tenantHeader": "x-team"`), at + "secret: is missing; it needs at least 16 " +
			"characters; or name a variable that holds it by secretEnv", ""},
		{"a short secret", document(`"tenantHeader": "x-team", "secret": "123456789012345"`),
			at + "secret: has 15 characters; it needs at least 16", ""},
		{"a secret that is no text", document(`"tenantHeader": "x-team", "secret": 1234567890123456`),
			at + "secret: the value is not a string; in quotes it is one", ""},
		{"both", document(byTeam + `, "secretEnv": "SALTS"`),
			at + `secretEnv: "SALTS" stands beside secret; it is one or the other`, ""},
		{"no variable", document(`"tenantHeader": "x-team", "secretEnv": "A=B"`),
			at + `secretEnv: "A=B" is no name of an environment variable`, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { plantest.CheckTold(t, tc.config, tc.mistakes, tc.warnings) })
	}
	if got, want := plantest.MistakesIn(document(`"tenantHeader": "x-team", "secretEnv": "SALTS"`),
		map[string]string{"SALTS": "short"}),
		at+"secretEnv: the secret in SALTS has 5 characters; it needs at least 16"; got != want {
		t.Errorf("a short secret in the environment:\n got %s\nwant %s", got, want)
	}
}
