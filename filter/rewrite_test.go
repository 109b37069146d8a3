package main_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestModelRewrite(t *testing.T) {
	const long = "a-model-whose-name-is-longer-than-the-one-before-it"
	tests := []struct{ name, body, header, want string }{
		{"longer", ` { "prompt" : "é\u00e9\/" ,"model":"alias"  , "n":1.0e0 }` + "\n", "",
			` { "prompt" : "é\u00e9\/" ,"model":"` + long + `"  , "n":1.0e0 }` + "\n"},
		{"model first", `{"model":"alias","prompt":"x"}`, "", `{"model":"` + long + `","prompt":"x"}`},
		{"escaped", `{"model":"\u0061lias","prompt":"x"}`, "", `{"model":"` + long + `","prompt":"x"}`},
		{"shorter", `{"model":"a-longer-alias","prompt":"x"}`, "", `{"model":"s","prompt":"x"}`},
		{"equally long", `{"model":"same1","prompt":"x"}`, "", `{"model":"same2","prompt":"x"}`},
		{"by the header", `{"model":"other","prompt":"x"}`, "wanted", `{"model":"wanted","prompt":"x"}`},
		{"by the header and a rule", `{"model":"other","prompt":"x"}`, "alias",
			`{"model":"` + long + `","prompt":"x"}`},
		{"to odd characters", `{"model":"odd","prompt":"x"}`, "", `{"model":"q\"\\\u0001é","prompt":"x"}`},
		{"none", `{"model":"other","prompt":"x"}`, "", `{"model":"other","prompt":"x"}`},
		{"to itself", `{"model":"self","prompt":"x"}`, "", `{"model":"self","prompt":"x"}`},
	}
	rule := func(from, to string) snapshot.Rewrite {
		return snapshot.Rewrite{Models: []string{from}, Targets: []snapshot.RewriteTarget{{Model: to, Weight: 1}}}
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		p := newPool(1, 0)
		p.Rewrites = []snapshot.Rewrite{rule("alias", long), rule("a-longer-alias", "s"), rule("same1", "same2"),
			rule("odd", "q\"\\\x01é"), rule("self", "self")}
		g.publish(p)
		for _, tc := range tests {
			for _, stated := range []bool{true, false} {
				for _, frame := range []int{1 << 20, 1, 7} {
					t.Run(fmt.Sprintf("%s, length %v, frames of %d", tc.name, stated, frame), func(t *testing.T) {
						headers := wazerohost.Headers{{":path", "/v1/completions"}}
						if stated {
							headers = append(headers, [2]string{"content-length", fmt.Sprint(len(tc.body))})
						}
						if tc.header != "" {
							headers = append(headers, [2]string{"x-gateway-model-name-rewrite", tc.header})
						}
						s := g.workers[0].requests.Request(headers, false)
						sendFrames(s, []byte(tc.body), frame)
						g.wantRanked(s, address(1))
						if got := string(s.UpstreamBody()); got != tc.want || !json.Valid([]byte(got)) {
							t.Errorf("body upstream:\n got %q\nwant %q", got, tc.want)
						}
						length := fmt.Sprint(len(tc.want))
						if m.hold == "pause" && !stated {
							length = "" // chunked stays chunked
						}
						if got := s.UpstreamHeaders().Get("content-length"); got != length {
							t.Errorf("content-length: got %q, want %q", got, length)
						}
					})
				}
			}
		}
	})
}

// TestModelOfThePathIsRewrittenNowhere: where a body names no model it leaves as it came, whichever model stands for
// that of its path.
func TestModelOfThePathIsRewrittenNowhere(t *testing.T) {
	const body = `{"text_input":"hello","parameters":{"stream":false}}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		p := newPool(1, 0)
		p.Rewrites = []snapshot.Rewrite{{Models: []string{"alias"}, Targets: []snapshot.RewriteTarget{{Model: "real",
			Weight: 1}}}}
		g.publish(p)
		s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v2/models/alias/generate"},
			{"content-length", fmt.Sprint(len(body))}}, false)
		s.Body([]byte(body), true)
		g.wantRanked(s, address(1))
		if got := string(s.UpstreamBody()); got != body {
			t.Errorf("body upstream: got %s, want %s", got, body)
		}
		if got := s.UpstreamHeaders().Get(":path"); got != "/v2/models/alias/generate" {
			t.Errorf("path upstream: got %s, want the client's", got)
		}
	})
}
