package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot"
)

// salting is a tenant-cache-salt.
const salting = `{"type":"tenant-cache-salt","parameters":{"tenantHeader":"x-team","secret":"a secret of some length"}}`

// The salts that it gives, see its own test.
const (
	saltA     = "Sp6KG8ob0yye-v0ybFrYuw"
	saltB     = "nmObk4EpTWDcRGgCyA8OjA"
	saltNone  = "XQLVEzyvHk-ASCt0PcS3LQ"
	saltAMine = "FbdlhK18nxQ4_ntvez7E6Q"
)

// TestSalts: each request leaves with its tenant's salt, however it came and whatever else is written into it.
func TestSalts(t *testing.T) {
	tests := []struct{ name, path, team, body, want string }{
		{"a tenant", "/v1/completions", "team-a", `{"model":"m","prompt":"x"}`,
			`{"cache_salt":"` + saltA + `","model":"m","prompt":"x"}`},
		{"another", "/v1/completions", "team-b", `{"model":"m","prompt":"x"}`,
			`{"cache_salt":"` + saltB + `","model":"m","prompt":"x"}`},
		{"none", "/v1/completions", "", `{"model":"m","prompt":"x"}`,
			`{"cache_salt":"` + saltNone + `","model":"m","prompt":"x"}`},
		{"with a salt of its own", "/v1/completions", "team-a", `{"model":"m","prompt":"x", "cache_salt" :"mine" }`,
			`{"model":"m","prompt":"x", "cache_salt" :"` + saltAMine + `" }`},
		{"another's salt", "/v1/completions", "team-b", `{"cache_salt":"` + saltA + `","model":"m","prompt":"x"}`,
			`{"cache_salt":"ll_frrsjmEt_E5MbXUjeaQ","model":"m","prompt":"x"}`},
		{"with a model that is rewritten", "/v1/completions", "team-a", `{"model":"alias","prompt":"x"}`,
			`{"cache_salt":"` + saltA + `","model":"real","prompt":"x"}`},
		{"both changed in place", "/v1/completions", "team-a", `{"model":"alias","cache_salt":"mine","prompt":"x"}`,
			`{"model":"real","cache_salt":"` + saltAMine + `","prompt":"x"}`},
		{"a chat", "/v1/chat/completions", "team-a", `{"model":"m","messages":[]}`,
			`{"cache_salt":"` + saltA + `","model":"m","messages":[]}`},
		{"no model", "/generate", "team-a", `{}`, `{"cache_salt":"` + saltA + `"}`},
		{"an API whose prompts are not read", "/v1/audio/speech", "team-a", `{"input":"x","model":"m"}`,
			`{"cache_salt":"` + saltA + `","input":"x","model":"m"}`},
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(`{"plugins":[{"type":"queue-scorer"},`+salting+`]}`, ""))
		p := newPool(1, 0)
		p.Rewrites = []snapshot.Rewrite{{Models: []string{"alias"},
			Targets: []snapshot.RewriteTarget{{Model: "real", Weight: 1}}}}
		g.publish(p)
		for _, tc := range tests {
			for _, frame := range []int{1 << 20, 7} {
				t.Run(fmt.Sprintf("%s, frames of %d", tc.name, frame), func(t *testing.T) {
					headers := wazerohost.Headers{{":path", tc.path}, {"content-length", fmt.Sprint(len(tc.body))}}
					if tc.team != "" {
						headers = append(headers, [2]string{"x-team", tc.team})
					}
					s := g.workers[0].requests.Request(headers, false)
					sendFrames(s, []byte(tc.body), frame)
					g.wantRanked(s, address(1))
					if got := string(s.UpstreamBody()); got != tc.want || !json.Valid([]byte(got)) {
						t.Errorf("body upstream:\n got %s\nwant %s", got, tc.want)
					}
					if got := s.UpstreamHeaders().Get("content-length"); got != fmt.Sprint(len(tc.want)) {
						t.Errorf("content-length: got %q, want %d", got, len(tc.want))
					}
				})
			}
		}
	})
}

// TestSaltsKeepPromptsApart: where a tenant's prompt is cached, another tenant's equal one is not thought to be.
func TestSaltsKeepPromptsApart(t *testing.T) {
	const config = `{"plugins":[{"type":"prefix-cache-scorer","parameters":{"autoTune":false}},{"type":"queue-scorer"},` +
		salting + `]}`
	body := fmt.Sprintf(`{"model":"m","prompt":%q}`, strings.Repeat("a prompt of some length, ", 40))
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(config, ""))
		g.publish(newPool(1, 0))
		send := func(team string, want int) {
			t.Helper()
			s := g.workers[0].requests.Request(
				wazerohost.Headers{{":path", "/v1/completions"}, {"x-team", team}}, false)
			s.Body([]byte(body), true)
			g.wantRanked(s, address(want))
			s.SetServer(address(want))
			s.Respond(nil, true)
		}
		send("team-a", 1)
		g.publish(newPool(0, 1)) // the other one has the shorter queue now
		send("team-a", 1)
		send("team-b", 0)
		send("team-b", 0)
	})
}

// TestSaltedQuestions: the sidecar is asked for a prompt as the servers get it, at once and in the background.
func TestSaltedQuestions(t *testing.T) {
	salted := strings.Replace(precise, `{"type":"queue-scorer"}`, salting+`,{"type":"queue-scorer"}`, 1)
	text := strings.Repeat("a question of some length, ", 10)
	eachMode(t, func(t *testing.T, m mode) {
		send := func(g *gateway) {
			s := g.workers[0].requests.Request(
				wazerohost.Headers{{":path", "/v1/chat/completions"}, {"x-team", "team-a"}}, false)
			s.Body([]byte(`{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`), true)
		}
		want := `{"cache_salt":"` + saltA + `","model":"m","messages":[{"role":"user","content":"` + text + `"}]}`

		g := newPreciseGateway(t, m, salted)
		send(g)
		calls := g.workers[0].Calls()
		if len(calls) != 1 || string(calls[0].Body) != want {
			t.Fatalf("asked %d times, last:\n got %s\nwant %s", len(calls), calls[len(calls)-1].Body, want)
		}
		calls[0].Respond(wazerohost.Headers{{":status", "200"}}, matches(0), nil)

		g = newPreciseGateway(t, m, strings.Replace(salted, `"speculativeIndexing":true`, `"mode":"background"`, 1))
		send(g)
		g.workers[0].Tick()
		calls = g.workers[0].Calls()
		var p scoring.PrecisePrompt
		if len(calls) != 1 {
			t.Fatalf("handed over %d times, want once", len(calls))
		}
		if _, ok := p.Read(calls[0].Body); !ok || string(p.Body) != want {
			t.Errorf("handed over:\n got %s\nwant %s", p.Body, want)
		}
	})
}

// TestSaltsByHost: a tenant may be told by the host that is asked, which Envoy has under a name of HTTP/2.
func TestSaltsByHost(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(
		`{"plugins":[{"type":"queue-scorer"},`+strings.Replace(salting, "x-team", "Host", 1)+`]}`, ""))
	g.publish(newPool(0))
	for _, tc := range []struct{ host, want string }{{"team-a", saltA}, {"team-b", saltB}} {
		s := g.workers[0].askBody(`{"model":"m","prompt":"x"}`, [2]string{":authority", tc.host})
		if got, want := string(s.UpstreamBody()), `{"cache_salt":"`+tc.want+`","model":"m","prompt":"x"}`; got != want {
			t.Errorf("body for %s:\n got %s\nwant %s", tc.host, got, want)
		}
	}
}

// TestSaltsNeedTheirSecret: without the variable that holds it nothing starts.
func TestSaltsNeedTheirSecret(t *testing.T) {
	document := strings.Replace(`{"plugins":[{"type":"queue-scorer"},`+salting+`]}`, `"secret":"a secret of some length"`,
		`"secretEnv":"SALTS"`, 1)
	m := modes[0]
	for _, tc := range []struct {
		name        string
		environment map[string]string
		mistake     string
	}{
		{"there", map[string]string{"SALTS": "a secret of some length"}, ""},
		{"not there", nil, "config: secretEnv: the module's environment has no SALTS"},
		{"short", map[string]string{"SALTS": "short"}, "the secret in SALTS has 5 characters"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := m.options(wazerohost.NewClock(startTime))
			o.Env = tc.environment
			w, err := newHost(t, o).Worker()
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Start(wazerohost.PluginConfig{Configuration: m.configuration(document, ""),
				Listener: requestListener})
			if (err == nil) != (tc.mistake == "") || err != nil && !strings.Contains(err.Error(), tc.mistake) {
				t.Errorf("start: got %v, want %q", err, tc.mistake)
			}
		})
	}
}
