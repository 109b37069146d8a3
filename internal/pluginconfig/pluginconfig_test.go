package pluginconfig

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// settings are the parts of a Config that can be compared.
type settings struct {
	Ingest      Ingest
	Hold        Hold
	Destination Destination
	Debug       bool
	Stale       scoring.Staleness
}

func TestParse(t *testing.T) {
	neutral := scoring.Staleness{After: 2 * time.Second, Policy: scoring.StaleNeutral}
	tests := []struct {
		name, text string
		want       settings
	}{
		{"nothing", ``, settings{Stale: neutral}},
		{"white space", " \n\t", settings{Stale: neutral}},
		{"an empty object", `{}`, settings{Stale: neutral}},
		{"bare", `{"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}`,
			settings{Stale: neutral}},
		{"bare, plug-ins only", `{"plugins": [{"type": "queue-scorer"}]}`, settings{Stale: neutral}},
		{"bare, profiles only", `{"schedulingProfiles": [{"name": "p"}]}`, settings{Stale: neutral}},
		{
			"everything",
			`{"config": {"plugins": [{"type": "queue-scorer"}]}, "ingest": {"port": 15099, "token": "pintle-local"}, "hold": "pause",
				"destination": "override-host", "stale": {"after": "500ms", "policy": "exclude"}, "debug": true}`,
			settings{
				Ingest: Ingest{Port: 15099, Token: "pintle-local"}, Hold: HoldPause, Destination: OverrideHost,
				Debug: true,
				Stale: scoring.Staleness{After: 500 * time.Millisecond, Policy: scoring.StaleExclude},
			},
		},
		{
			"the defaults, spelt out",
			`{"config": {}, "hold": "buffer", "destination": "original-dst", "stale": {"after": "2s", "policy": "neutral"},
				"debug": false}`,
			settings{Stale: neutral},
		},
		{
			"a socket", `{"ingest": {"socket": "/run/pintle.sock", "token": "12345678"}}`,
			settings{Ingest: Ingest{Socket: "/run/pintle.sock", Token: "12345678"}, Stale: neutral},
		},
		{
			"a token elsewhere", `{"ingest": {"port": 1, "tokenEnv": "PINTLE_TOKEN"}}`,
			settings{Ingest: Ingest{Port: 1, TokenEnv: "PINTLE_TOKEN"}, Stale: neutral},
		},
		{
			"a token of the first and the last visible character", `{"ingest": {"port": 65535, "token": "!!!!~~~~"}}`,
			settings{Ingest: Ingest{Port: 65535, Token: "!!!!~~~~"}, Stale: neutral},
		},
		{
			"last", `{"stale": {"policy": "last", "after": "1ms"}}`,
			settings{Stale: scoring.Staleness{After: time.Millisecond, Policy: scoring.StaleLast}},
		},
		{"nulls", `{"config": null, "ingest": null, "hold": null, "destination": null, "stale": null, "debug": null}`,
			settings{Stale: neutral}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := (settings{c.Ingest, c.Hold, c.Destination, c.Debug, c.Plan.Staleness()}); got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestParseMistakes(t *testing.T) {
	const token = `"token": "12345678"`
	tests := []struct {
		name, text string
		want       []string
	}{
		{"not JSON", `{`, []string{`configuration: { is not valid JSON; pintle validate says where`}},
		{"not an object", `"queue-scorer"`, []string{`configuration: "queue-scorer" is not an object`}},
		{"unknown key", `{"holds": "pause"}`,
			[]string{
				`configuration: unknown key "holds"; did you mean hold? known are stale, failing, dialect, load, ingest, startup, empty, held, sidecar, hold, destination, debug, subset, management, unreadable, strip, config, shadow`}},
		{"a negative wait for servers", `{"empty": {"wait": "-1s"}}`,
			[]string{`empty.wait: "-1s" is not a duration such as "2m" or "500ms", at least 0s`}},
		{"its own keys among a document's", `{"config": null, "plugins": [{"type": "queue-scorer"}], "dialect": "llm-d"}`,
			[]string{"config: stands beside keys of an EndpointPickerConfig; put these below it",
				"dialect: stands among the keys of an EndpointPickerConfig; put these below config, and this " +
					"beside it"}},
		{"its own keys within config", `{"config": {"ingest": {"port": 1}, "hold": null}}`,
			[]string{"config.ingest: stands within config; put it beside that",
				"config.hold: stands within config; put it beside that"}},
		{"a negative wait", `{"startup": {"wait": "-1s"}}`,
			[]string{`startup.wait: "-1s" is not a duration such as "2m" or "500ms", at least 0s`}},
		{"no cluster", `{"sidecar": {"cluster": ""}}`,
			[]string{"sidecar.cluster: is empty; name Envoy's cluster of the sidecar"}},
		{"too little room", `{"held": {"maxBytes": 4096}}`,
			[]string{`held.maxBytes: 4096 is not a whole number from 1048576 to 1073741824`}},
		{"repeated key", `{"hold": "pause", "hold": "buffer"}`, []string{`hold: is given twice`}},
		{"hold", `{"hold": "wait"}`, []string{`hold: "wait" is not one of buffer, pause`}},
		{"destination", `{"destination": 1}`, []string{`destination: 1 is not one of original-dst, override-host`}},
		{"debug", `{"debug": 1}`, []string{`debug: 1 is not true or false`}},
		{"stale.after", `{"stale": {"after": "2"}}`,
			[]string{`stale.after: "2" is not a duration such as "2m" or "500ms", at least 1ms`}},
		{"failing.policy", `{"failing": {"policy": "never"}}`,
			[]string{`failing.policy: "never" is not one of exclude, ignore`}},
		{"failing.above", `{"failing": {"above": 2}}`, []string{`failing.above: 2 is not a number from 0 to 1`}},
		{"failing.halfLife", `{"failing": {"halfLife": 10}}`,
			[]string{`failing.halfLife: 10 is not a duration such as "2m" or "500ms", at least 1ms`}},
		{"stale.policy", `{"stale": {"policy": "never"}}`,
			[]string{`stale.policy: "never" is not one of neutral, exclude, last, zero`}},
		{"ingest port 0", `{"ingest": {"port": 0, ` + token + `}}`,
			[]string{`ingest.port: 0 is not a whole number from 1 to 65535`}},
		{"ingest without a listener", `{"ingest": {` + token + `}}`,
			[]string{`ingest.port: is missing; give the port or the socket of the ingest listener`}},
		{
			"ingest with two", `{"ingest": {"port": 1, "socket": "/s", ` + token + `}}`,
			[]string{`ingest.socket: "/s" stands beside port; the ingest listener is one or the other`},
		},
		{"no token", `{"ingest": {"port": 1}}`, []string{`ingest.token: is missing; it needs at least 8 characters`}},
		{"mistyped token", `{"ingest": {"port": 1, "token": 12345678}}`,
			[]string{`ingest.token: the value is not a string; in quotes it is one`}},
		{"two tokens", `{"ingest": {"port": 1, "tokenEnv": "T", ` + token + `}}`,
			[]string{`ingest.tokenEnv: "T" stands beside token; the token is one or the other`}},
		{"nameless variable", `{"ingest": {"port": 1, "tokenEnv": ""}}`,
			[]string{`ingest.tokenEnv: "" is no name of an environment variable`}},
		{"impossible variable", `{"ingest": {"port": 1, "tokenEnv": "A=B"}}`,
			[]string{`ingest.tokenEnv: "A=B" is no name of an environment variable`}},
		{"salts that would be passed by", `{"unreadable": "pass", "config": {"plugins": [{"type": "tenant-cache-salt",
			"parameters": {"tenantHeader": "x-team", "secret": "0123456789abcdef"}}]}}`,
			[]string{`unreadable: "pass" lets requests go on without the salts of tenant-cache-salt, as their bodies ` +
				"cannot be changed; refuse is right"}},
		{"empty socket", `{"ingest": {"socket": "", ` + token + `}}`,
			[]string{`ingest.socket: is empty; give the path of the ingest listener's socket`}},
		{"short token", `{"ingest": {"port": 1, "token": "1234567"}}`,
			[]string{`ingest.token: has 7 characters; it needs at least 8`}},
		{"token of two words", `{"ingest": {"port": 1, "token": "1234 5678"}}`,
			[]string{`ingest.token: has a character that the sidecar sends in no header; visible ASCII is right`}},
		{"token beyond ASCII", `{"ingest": {"port": 1, "token": "1234é5678"}}`,
			[]string{`ingest.token: has a character that the sidecar sends in no header; visible ASCII is right`}},
		{"token with the last of ASCII", `{"ingest": {"port": 1, "token": "1234\u007f5678"}}`,
			[]string{`ingest.token: has a character that the sidecar sends in no header; visible ASCII is right`}},
		{"token before space", `{"ingest": {"port": 1, "token": "12345678\n"}}`,
			[]string{`ingest.token: begins or ends with white space, which HTTP would strip`}},
		{"strip", `{"strip": ["X-A", ":path", "Content-Type"]}`,
			[]string{`strip: ":path" is not the name of a header; one such as x-session-id is right`,
				`strip: "content-type" is a header that a request cannot do without`}},
		{"in config", `{"config": {"plugins": [{"type": "random-picker", "parameters": {"n": 1}}]}}`,
			[]string{`config.plugins[0](random-picker).parameters: unknown key "n"; known are maxNumOfEndpoints`}},
		{
			"in config and beside it", `{"config": {"kind": "Pod"}, "debug": "yes"}`,
			[]string{`debug: "yes" is not true or false`, `config.kind: "Pod" is not one of EndpointPickerConfig`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.text))
			var mistakes strictjson.Mistakes
			if !errors.As(err, &mistakes) {
				t.Fatalf("error %v, want mistakes", err)
			}
			if got, want := mistakes.Error(), strings.Join(test.want, "\n"); got != want {
				t.Errorf("mistakes:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestUnknownKeysInGroups: each part of the configuration that is an object refuses what it does not know.
func TestUnknownKeysInGroups(t *testing.T) {
	for _, group := range []string{"stale", "failing", "load", "ingest", "startup", "empty", "held", "sidecar",
		"config"} {
		t.Run(group, func(t *testing.T) {
			_, err := Parse([]byte(`{"` + group + `": {"surely": 1}}`))
			if want := group + `: unknown key "surely"`; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	for name, text := range map[string]string{"nothing": ``, "empty groups": `{"startup": {}, "empty": {}, "held": {}}`} {
		c, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Wait != 3*time.Second || c.EmptyWait != 0 || c.HeldBytes != 134_217_728 {
			t.Errorf("%s: got waits of %v and %v, %d bytes held; want 3s, 0s, 134217728", name, c.Wait, c.EmptyWait,
				c.HeldBytes)
		}
	}
	c, err := Parse([]byte(`{"startup": {"wait": "0s"}, "empty": {"wait": "2m"}, "held": {"maxBytes": 1048576}}`))
	if err != nil || c.Wait != 0 || c.EmptyWait != 2*time.Minute || c.HeldBytes != 1<<20 {
		t.Errorf("least of both, and a wait for servers: got %+v, %v", c, err)
	}
}

func TestIngestEnabled(t *testing.T) {
	for _, test := range []struct {
		ingest Ingest
		want   bool
	}{{Ingest{}, false}, {Ingest{Token: "12345678"}, false}, {Ingest{Port: 1}, true}, {Ingest{Socket: "/s"}, true}} {
		if got := test.ingest.Enabled(); got != test.want {
			t.Errorf("%+v enabled is %v, want %v", test.ingest, got, test.want)
		}
	}
}

// Whatever the bytes, Parse does not panic, and a configuration without mistakes can decide.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"config": {}}`,
		`{"plugins": [{"type": "queue-scorer"}, {"type": "by-label", "parameters": {"label": "a", "validValues": ["b"]}}]}`,
		`{"plugins": [{"type": "max-score-picker"}], "schedulingProfiles": [{"name": "a", "plugins": [{"pluginRef": "max-score-picker", "weight": 1}]}]}`,
		`{"schedulingProfiles": [{"name": "a"}, {"name": "b"}]}`,
		`{"plugins": [{"type": "single-profile-handler"}, null, 1, "a", []]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		cycle := scoring.NewCycle(1)
		cycle.Request.Headers = make([]string, len(c.Plan.RequestHeaders()))
		cycle.Pool = &scoring.Pool{Endpoints: []scoring.Endpoint{{Index: 0, Name: "a", Address: "10.0.0.1:8000"}}}
		endpoints, failure := c.Plan.Decide(cycle)
		if (len(endpoints) == 0) != (failure != nil) {
			t.Errorf("%q: %d endpoints and failure %v", text, len(endpoints), failure)
		}
	})
}

func TestIngestToken(t *testing.T) {
	variables := map[string]string{"GOOD": "12345678", "SHORT": "1234567", "LINE": "12345678\n"}
	tests := []struct{ name, text, want, mistake string }{
		{"no ingest", `{}`, "", ""},
		{"in the configuration", `{"ingest": {"port": 1, "token": "abcdefgh"}}`, "abcdefgh", ""},
		{"in the environment", `{"ingest": {"port": 1, "tokenEnv": "GOOD"}}`, "12345678", ""},
		{"nowhere", `{"ingest": {"port": 1, "tokenEnv": "T"}}`, "", "ingest.tokenEnv: the module's environment has " +
			"no T; name it in vm_config.environment_variables or in a WasmPlugin's vmConfig.env"},
		{"short", `{"ingest": {"port": 1, "tokenEnv": "SHORT"}}`, "",
			"ingest.tokenEnv: the token in SHORT has 7 characters; it needs at least 8"},
		{"a line", `{"ingest": {"port": 1, "tokenEnv": "LINE"}}`, "",
			"ingest.tokenEnv: the token in LINE begins or ends with white space, which HTTP would strip"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.IngestToken(
				func(name string) (string, bool) { value, ok := variables[name]; return value, ok })
			mistake := ""
			if err != nil {
				mistake = err.Error()
			}
			if got != test.want || mistake != test.mistake {
				t.Errorf("got %q, %q\nwant %q, %q", got, mistake, test.want, test.mistake)
			}
		})
	}
}

// TestBodyKeys: what plug-ins read of bodies is read of them however the document is given.
func TestBodyKeys(t *testing.T) {
	const document = `{"plugins": [{"type": "session-affinity-scorer", "parameters": {"strategy": "consistent_hash",
		"sessionIdConfig": {"sources": [{"body": "prompt_cache_key"}, {"body": "metadata.user_id"}]}}}]}`
	want := []string{"prompt_cache_key", "metadata.user_id"}
	for name, text := range map[string]string{"bare": document, "wrapped": `{"config": ` + document + `}`} {
		c, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(c.BodyKeys, want) {
			t.Errorf("%s: bodies are read for %q, want %q", name, c.BodyKeys, want)
		}
	}
}

// TestOwnKeys: what is noted in a bare document is what a configuration knows, and nothing is forgotten.
func TestOwnKeys(t *testing.T) {
	_, err := Parse([]byte(`{"surely": 1}`))
	_, known, _ := strings.Cut(err.Error(), "known are ")
	want, got := strings.Split(known, ", "), slices.Clone(OwnKeys)
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("own keys are %q, the configuration knows %q", got, want)
	}
}
