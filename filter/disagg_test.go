package main_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// disaggregated has a decode, a prefill and, for images, an encode stage.
const disaggregated = `{"plugins":[
	{"type":"disagg-headers-handler"},{"type":"always-disagg-pd-decider"},{"type":"always-disagg-multimodal-decider"},
	{"type":"disagg-profile-handler","parameters":{"deciders":{"prefill":"always-disagg-pd-decider","encode":"always-disagg-multimodal-decider"}}},
	{"type":"by-label","name":"decodes","parameters":{"label":"role","validValues":["decode"]}},
	{"type":"by-label","name":"prefills","parameters":{"label":"role","validValues":["prefill"]}},
	{"type":"by-label","name":"encodes","parameters":{"label":"role","validValues":["encode"]}},
	{"type":"queue-scorer"},{"type":"max-score-picker"},{"type":"max-score-picker","name":"two","parameters":{"maxNumOfEndpoints":2}},
	{"type":"response-header-handler"}],
	"schedulingProfiles":[
	{"name":"decode","plugins":[{"pluginRef":"decodes"},{"pluginRef":"queue-scorer"},{"pluginRef":"max-score-picker"}]},
	{"name":"prefill","plugins":[{"pluginRef":"prefills"},{"pluginRef":"queue-scorer"},{"pluginRef":"max-score-picker"}]},
	{"name":"encode","plugins":[{"pluginRef":"encodes"},{"pluginRef":"queue-scorer"},{"pluginRef":"two"}]}]}`

// disaggregatedPool has two servers for each stage; the second of each is the better one.
func disaggregatedPool() *pool {
	p := newPool(5, 4, 3, 2, 1, 0)
	for i, role := range []string{"decode", "decode", "prefill", "prefill", "encode", "encode"} {
		p.label(i, "role", role)
	}
	return p
}

const withImage = `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/y.png"}}]}]}`

func TestStageHeaders(t *testing.T) {
	tests := []struct {
		name, path, body, prefill, encode string
		pool                              *pool
	}{
		{"text", "/v1/completions", completion, address(3), "", disaggregatedPool()},
		{"image", "/v1/chat/completions", withImage, address(3), address(5) + "," + address(4), disaggregatedPool()},
		{"no prefill server", "/v1/completions", completion, "", "",
			newPool(9, 1).label(0, "role", "decode").label(1, "role", "decode")},
	}
	names := []string{"mif-prefill-endpoint", "mif-encode-endpoints"}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(disaggregated, ""))
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				g.publish(tc.pool)
				s := g.workers[0].requests.Request(append(wazerohost.Headers{{":path", tc.path}}, forged(names...)...),
					false)
				s.Body([]byte(tc.body), true)
				g.wantRanked(s, address(1))
				for i, want := range []string{tc.prefill, tc.encode} {
					if got := strings.Join(s.UpstreamHeaders().Values(names[i]), " and "); got != want {
						t.Errorf("%s: got %q, want %q", names[i], got, want)
					}
					if got := s.Property(names[i]); m.hold == "buffer" && got != want || m.hold == "pause" &&
						got != "" {
						t.Errorf("property %s: got %q, want %q in buffer mode and none in pause mode", names[i], got,
							want)
					}
				}
				s.SetServer(address(1))
				s.Respond(nil, true)
				h := s.ResponseHeaders()
				if got := h.Get("x-decoder-host-port"); got != address(1) {
					t.Errorf("x-decoder-host-port: got %q, want %q", got, address(1))
				}
				if got := h.Get("x-prefiller-host-port"); got != tc.prefill {
					t.Errorf("x-prefiller-host-port: got %q, want %q", got, tc.prefill)
				}
			})
		}
	})
}

// TestStageSessions: an answer names the endpoint of each stage whose sessions clients are to keep.
func TestStageSessions(t *testing.T) {
	const last, profiles = `{"type":"response-header-handler"}`, `"schedulingProfiles":[`
	sessions := last
	for _, stage := range []string{"decode", "prefill", "encode"} {
		sessions += `,{"type":"session-affinity-scorer","name":"of-` + stage + `","parameters":{"profileName":"` + stage +
			`","headerName":"x-` + stage + `"}}`
	}
	document := strings.NewReplacer(last, sessions, profiles, profiles+`{"name":"another"},`).Replace(disaggregated)
	tests := []struct {
		name, path, body string
		want             [3]string
	}{
		{"text", "/v1/completions", completion, [3]string{sessionToken(1), sessionToken(3), ""}},
		{"image", "/v1/chat/completions", withImage, [3]string{sessionToken(1), sessionToken(3), sessionToken(5)}},
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(document, ""))
		g.publish(disaggregatedPool())
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				s := g.workers[0].requests.Request(wazerohost.Headers{{":path", tc.path}}, false)
				s.Body([]byte(tc.body), true)
				s.SetServer(address(1))
				s.Respond(nil, true)
				h := s.ResponseHeaders()
				if got := [3]string{h.Get("x-decode"), h.Get("x-prefill"), h.Get("x-encode")}; got != tc.want {
					t.Errorf("tokens of decode, prefill and encode: %q, want %q", got, tc.want)
				}
			})
		}
	})
}

// dataParallel reaches all ranks of a server through one port.
const dataParallel = `{"plugins":[
	{"type":"disagg-headers-handler"},{"type":"prefix-based-pd-decider"},
	{"type":"pd-profile-handler","parameters":{"primaryPort":8000}},
	{"type":"queue-scorer"},{"type":"session-affinity-scorer"},{"type":"max-score-picker"},{"type":"response-header-handler"}],
	"schedulingProfiles":[
	{"name":"decode","plugins":[{"pluginRef":"queue-scorer"},{"pluginRef":"session-affinity-scorer","weight":9},{"pluginRef":"max-score-picker"}]},
	{"name":"prefill","plugins":[{"pluginRef":"queue-scorer"},{"pluginRef":"max-score-picker"}]}]}`

func TestPrimaryPort(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(dataParallel, ""))
		p := newPool(2, 1, 3, 3)
		for i, address := range []string{"10.0.0.1:8000", "10.0.0.1:8001", "10.0.0.2:8000", "10.0.0.2:8001"} {
			p.Topology.Endpoints[i].Address = address
		}
		g.publish(p)
		s := g.workers[0].ask(forged("x-data-parallel-host-port")...)
		g.wantRanked(s, "10.0.0.1:8000")
		if got := strings.Join(s.UpstreamHeaders().Values("x-data-parallel-host-port"),
			" and "); got != "10.0.0.1:8001" {
			t.Errorf("x-data-parallel-host-port: got %q, want the chosen rank 10.0.0.1:8001", got)
		}
		s.SetServer("10.0.0.1:8000")
		s.Respond(nil, true)
		if got := s.ResponseHeaders().Get("x-decoder-host-port"); got != "10.0.0.1:8001" {
			t.Errorf("x-decoder-host-port: got %q, want the rank that was chosen, 10.0.0.1:8001", got)
		}
		if got, want := s.ResponseHeaders().Get("x-session-token"), sessionToken(1); got != want {
			t.Errorf("x-session-token: got %q, want %q, the chosen rank's", got, want)
		}
		// A request without a body goes to any rank, at that rank's own port.
		g.publish(newPool(0))
		g.wantRanked(g.workers[0].requests.Request(nil, true), address(0))
	})
}

// TestStagesHeadersOfOtherNames: by a header that tells of a stage, whatever it is called, a client chooses neither the
// stage's server nor, where another plug-in reads it, its own.
func TestStagesHeadersOfOtherNames(t *testing.T) {
	const document = `{"plugins":[{"type":"disagg-headers-handler","parameters":{"prefillHeader":"x-prefill"}},
		{"type":"session-affinity-scorer","parameters":{"strategy":"consistent_hash","sessionIdConfig":{"sources":[
		{"header":"x-prefill"}]}}},{"type":"queue-scorer"},{"type":"max-score-picker"}],"schedulingProfiles":[
		{"name":"p","plugins":[{"pluginRef":"session-affinity-scorer","weight":9},{"pluginRef":"queue-scorer"},
		{"pluginRef":"max-score-picker"}]}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(document, ""))
		g.publish(newPool(9, 9, 9, 0, 9, 9, 9, 9))
		for i := range 8 {
			s := g.workers[0].ask([2]string{"x-prefill", address(i)})
			g.wantRanked(s, address(3))
			if got := s.UpstreamHeaders().Values("x-prefill"); len(got) != 0 {
				t.Errorf("x-prefill: got %q, want none of the client's", got)
			}
			s.Finish()
		}
	})
}
