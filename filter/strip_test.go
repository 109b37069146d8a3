package main_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestStrip removes what a client may not say, always and as configured, and keeps the rest.
func TestStrip(t *testing.T) {
	always := []string{
		"x-prefiller-host-port", "x-prefiller-url", "x-encoder-hosts-ports", "x-data-parallel-host-port",
		"x-kv-cache-source-host-port", "x-override-bootstrap-host", "x-override-bootstrap-port",
		"x-override-bootstrap-room", "x-override-disagg-prefill-dp-rank",
		"mif-prefill-endpoint", "mif-encode-endpoints", "mif-anything", "test-epp-endpoint-selection",
		"x-pintle-second", "x-pintle-third",
	}
	configured := []string{"x-data-parallel-rank", "x-vllm-priority"}
	kept := []string{"x-request-id", "x-session-id", "authorization", "x-mif"}
	eachMode(t, func(t *testing.T, m mode) {
		for _, strip := range []bool{false, true} {
			extra := ""
			if strip {
				extra = `"strip":["X-Data-Parallel-Rank","x-vllm-priority"],`
			}
			g := newGateway(t, m, 1, m.configuration(byQueue, extra))
			g.publish(newPool(0))
			headers := forged(append(append(append([]string{}, always...), configured...), kept...)...)
			held := g.workers[0].ask(headers...)
			passed := g.workers[0].requests.Request(append(wazerohost.Headers{{":path", "/v1/models"}}, headers...),
				true)
			for _, s := range []*wazerohost.Stream{held, passed} {
				g.wantRanked(s, address(0))
				h := s.UpstreamHeaders()
				for _, name := range always {
					if h.Has(name) {
						t.Errorf("%s: got %q, want none", name, h.Values(name))
					}
				}
				for _, name := range configured {
					if h.Has(name) == strip {
						t.Errorf("%s with strip %v: got %q", name, strip, h.Values(name))
					}
				}
				for _, name := range kept {
					if !h.Has(name) {
						t.Errorf("%s: got none, want the client's", name)
					}
				}
			}
		}
	})
}

// TestStrippedCredentials: where servers shall not see what clients say of who they are, the sidecar is known all the
// same.
func TestStrippedCredentials(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, `"strip":["Authorization"],`))
		g.publish(newPool(0))
		if h := g.workers[0].follow("/pintle/v1/journal").ResponseHeaders(); h.Get(":status") != "200" {
			t.Errorf("a follower: got %v, want status 200", h)
		}
		wantError(t, g.workers[0].follow("/pintle/v1/journal", [2]string{"authorization", ""}), 401, "unauthorized")
		s := g.workers[0].ask([2]string{"authorization", "Bearer client"})
		g.wantRanked(s, address(0))
		if got := s.UpstreamHeaders().Values("authorization"); len(got) > 0 {
			t.Errorf("authorization: got %q upstream, want none", got)
		}
	})
}

// TestPickersHeadersEndHere: headers that llm-d's clients send to a picker do not reach a server, and are as others are
// where the configuration is none of llm-d's.
func TestPickersHeadersEndHere(t *testing.T) {
	names := []string{"x-llm-d-inference-objective", "x-gateway-inference-objective", "x-llm-d-inference-fairness-id",
		"x-gateway-inference-fairness-id", "x-llm-d-slo-ttft-ms", "x-slo-tpot-ms", "x-llm-d-video-fps"}
	eachMode(t, func(t *testing.T, m mode) {
		for document, ends := range map[string]bool{
			byQueue: false,
			`{"apiVersion":"llm-d.ai/v1alpha1","kind":"EndpointPickerConfig","plugins":[{"type":"queue-scorer"}]}`: true,
		} {
			g := newGateway(t, m, 1, m.configuration(document, ""))
			g.publish(newPool(0))
			s := g.workers[0].ask(forged(names...)...)
			g.wantRanked(s, address(0))
			for _, name := range names {
				if got := s.UpstreamHeaders().Values(name); (len(got) == 0) != ends {
					t.Errorf("%s: %s: got %q upstream, want it to end here: %v", document, name, got, ends)
				}
			}
		}
	})
}
