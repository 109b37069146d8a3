package main_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestSubset: the subset hint comes from the header where the configuration trusts it, else from metadata, and no
// server sees the header. Requests without a body keep to it, too.
func TestSubset(t *testing.T) {
	const header, property = "x-gateway-destination-endpoint-subset",
		"metadata.filter_metadata.envoy.lb.subset_hint.x-gateway-destination-endpoint-subset"
	host := func(i int) string { return address(i)[:strings.LastIndexByte(address(i), ':')] }
	const trusted = `"subset":"metadata",`
	tests := []struct {
		name, extra, header, metadata string
		given                         bool // the header, be it empty
		want                          int  // the server, -1 for none
	}{
		{"neither", "", "", "", false, 0},
		{"metadata that nobody asked for", "", "", address(1), false, 0},
		{"metadata", trusted, "", address(1) + ", 10.9.9.9", false, 1},
		{"a list in metadata", trusted, "",
			"\x01\x00\x00\x00\x0d\x00\x00\x00\x00\x00\x00\x00" + address(2) + "\x00\x00", false, 2},
		{"metadata that names nobody", trusted, "", "10.9.9.9:1", false, -1},
		{"a header that is not trusted", trusted, host(2), "", true, 0},
		{"the header", `"subset":"header",`, host(2), "", true, 2},
		{"the header before metadata", `"subset":"header",`, host(2), address(1), true, 2},
		{"metadata without a header", `"subset":"header",`, "", address(1), false, 1},
		{"an empty header", `"subset":"header",`, "", "", true, -1},
		{"nothing", `"subset":"ignore",`, host(2), address(1), true, 0},
	}
	eachMode(t, func(t *testing.T, m mode) {
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				clock := wazerohost.NewClock(startTime)
				options := m.options(clock)
				if tc.metadata != "" {
					options.Properties = map[string][]byte{property: []byte(tc.metadata)}
				}
				g := &gateway{t: t, mode: m, clock: clock, host: newHost(t, options)}
				g.start(1, m.configuration(byQueue, tc.extra))
				g.publish(newPool(0, 1, 2))
				var headers [][2]string
				if tc.given {
					headers = append(headers, [2]string{header, tc.header})
				}
				w := g.workers[0]
				for _, s := range []*wazerohost.Stream{
					w.ask(headers...),
					w.requests.Request(
						append(wazerohost.Headers{{":method", "GET"}, {":path", "/v1/models"}}, headers...), true),
				} {
					switch {
					case tc.want < 0:
						wantError(t, s, 503, "no_endpoints")
					case s.UpstreamHeaders().Has(header):
						t.Errorf("the server sees %s: %q", header, s.UpstreamHeaders().Get(header))
					case tc.want > 0 && !strings.HasPrefix(g.ranked(s), address(tc.want)):
						t.Errorf("got %q, want %s", g.ranked(s), address(tc.want))
					}
					s.Finish()
				}
			})
		}
	})
}

// TestReporter: what a request has cost is told when its answer has ended, and only what is known.
func TestReporter(t *testing.T) {
	const document = `{"apiVersion":"llm-d.ai/v1alpha1","plugins":[{"type":"queue-scorer"},
		{"type":"request-attribute-reporter","parameters":{"attributes":[{"key":{"name":"cost"},
			"expression":"usage.prompt_tokens + 3 * usage.completion_tokens",
			"condition":"has(usage.completion_tokens)"}]}},
		{"type":"request-attribute-reporter","name":"new","parameters":{"attributes":[{"key":{"name":"new_tokens"},
			"expression":"usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens"}]}}]}`
	tests := []struct{ name, answer, want string }{
		{"a report", usageBody, "cost 13, new_tokens 4"},
		{"without cached tokens", `{"usage":{"prompt_tokens":7,"completion_tokens":2}}`, "cost 13"},
		{"none", `{}`, ""},
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(document, `"load":{"correction":false},"failing":{"policy":"ignore"},`))
		g.publish(newPool(0))
		for _, tc := range tests {
			s := g.workers[0].ask()
			s.Respond(wazerohost.Headers{{":status", "200"}}, false)
			s.RespondBody([]byte(tc.answer), true)
			var got []string
			for _, part := range strings.Split(reported(t, s), ", ") {
				if strings.HasPrefix(part, "cost") || strings.HasPrefix(part, "new_") {
					got = append(got, part)
				}
			}
			if strings.Join(got, ", ") != tc.want {
				t.Errorf("%s: got %q, want %q of %s", tc.name, got, tc.want, reported(t, s))
			}
			s.Finish()
		}
	})
}
