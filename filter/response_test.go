package main_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// sticky keeps sessions where they are and tells who answered.
const sticky = `{"plugins":[{"type":"queue-scorer"},{"type":"session-affinity-scorer"},{"type":"max-score-picker","parameters":{"maxNumOfEndpoints":2}},{"type":"response-header-handler"}],
	"schedulingProfiles":[{"name":"default","plugins":[{"pluginRef":"queue-scorer"},{"pluginRef":"session-affinity-scorer","weight":9},{"pluginRef":"max-score-picker"}]}]}`

func sessionToken(i int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "default/vllm-%d", i))
}

func TestSessions(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(sticky, ""))
		g.publish(newPool(0, 5, 9))
		tests := []struct {
			name, token string
			want        []string
		}{
			{"none", "", []string{address(0), address(1)}},
			{"the last", sessionToken(2), []string{address(2), address(0)}},
			{"the second", sessionToken(1), []string{address(1), address(0)}},
			{"of nobody", sessionToken(7), []string{address(0), address(1)}},
			{"not base64", "%%%", []string{address(0), address(1)}},
			{"longer than any", sessionToken(2) + fmt.Sprintf("%05000d", 0), []string{address(0), address(1)}},
		}
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				var headers [][2]string
				if tc.token != "" {
					headers = [][2]string{{"X-Session-Token", tc.token}}
				}
				g.wantRanked(g.workers[0].ask(headers...), tc.want...)
				s := g.workers[0].requests.Request(append(wazerohost.Headers{{":path", "/v1/completions"}}, headers...),
					false)
				sendFrames(s, []byte(completion), 3)
				g.wantRanked(s, tc.want...)
			})
		}
	})
}

func TestResponseNamesWhoServed(t *testing.T) {
	tests := []struct {
		name, server string
		want         int
	}{
		{"the first choice", address(1), 1},
		{"another after a retry", address(0), 0},
		{"one that was not in the list", address(2), 2},
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(sticky, ""))
		g.publish(newPool(5, 0, 9))
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				s := g.workers[0].ask()
				g.wantRanked(s, address(1), address(0))
				s.SetServer(tc.server)
				s.Respond(wazerohost.Headers{{"x-session-token", "forged"}, {"x-decoder-host-port", "forged"},
					{"content-type", "text/event-stream"}}, false)
				for range 3 {
					s.RespondBody([]byte("data: {}\n\n"), false)
				}
				s.RespondBody(nil, true)
				h := s.ResponseHeaders()
				if got := h.Values("x-session-token"); len(got) != 1 || got[0] != sessionToken(tc.want) {
					t.Errorf("x-session-token: got %q, want %q", got, sessionToken(tc.want))
				}
				if got := h.Values("x-decoder-host-port"); len(got) != 1 || got[0] != tc.server {
					t.Errorf("x-decoder-host-port: got %q, want %q", got, tc.server)
				}
				if h.Has("x-prefiller-host-port") {
					t.Errorf("x-prefiller-host-port: got %q, want none", h.Values("x-prefiller-host-port"))
				}
				if got := string(s.ResponseBody()); got != "data: {}\n\ndata: {}\n\ndata: {}\n\n" || !s.Ended() {
					t.Errorf("response: got %q, ended %v", got, s.Ended())
				}
			})
		}
	})
}

// secondSticky keeps sessions at what the second of two profiles chooses.
const secondSticky = `{"plugins":[{"type":"header-profile-handler","parameters":{"headerName":"which","defaultProfile":"first"}},
	{"type":"queue-scorer"},{"type":"session-affinity-scorer","parameters":{"profileName":"second"}}],
	"schedulingProfiles":[{"name":"first","plugins":[{"pluginRef":"queue-scorer"}]},
	{"name":"second","plugins":[{"pluginRef":"queue-scorer"},{"pluginRef":"session-affinity-scorer","weight":9}]}]}`

// TestResponseOfTheProfile: an answer names its server for sessions where the profile that these stay with chose it.
func TestResponseOfTheProfile(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(secondSticky, ""))
		g.publish(newPool(5, 0, 9))
		for which, want := range map[string]string{"first": "", "second": sessionToken(1)} {
			s := g.workers[0].ask([2]string{"which", which})
			g.wantRanked(s, address(1))
			s.SetServer(address(1))
			s.Respond(nil, true)
			if got := s.ResponseHeaders().Get("x-session-token"); got != want {
				t.Errorf("%s: x-session-token: got %q, want %q", which, got, want)
			}
		}
	})
}

func TestNoServerIsNamed(t *testing.T) {
	wantNone := func(t *testing.T, s *wazerohost.Stream) {
		t.Helper()
		for _, name := range []string{"x-session-token", "x-decoder-host-port", "x-prefiller-host-port"} {
			if got := s.ResponseHeaders().Values(name); got != nil {
				t.Errorf("%s: got %q, want none", name, got)
			}
		}
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(sticky, ""))
		g.publish(newPool(5, 0, 9))
		t.Run("a refused request", func(t *testing.T) {
			s := g.workers[0].askBody("{}")
			wantError(t, s, 400, "model_missing")
			wantNone(t, s)
		})
		t.Run("a request that was not judged", func(t *testing.T) {
			s := g.workers[0].requests.Request(nil, true)
			s.SetServer(address(0))
			s.Respond(nil, true)
			wantNone(t, s)
		})
		t.Run("an answer of Envoy itself", func(t *testing.T) {
			s := g.workers[0].ask(nil...)
			// Envoy keeps the address that it tried last.
			s.SetProperty("response.code_details", []byte("upstream_reset_before_response_started{connection_failure}"))
			s.Respond(wazerohost.Headers{{":status", "503"}}, true)
			wantNone(t, s)
		})
		t.Run("a topology that is gone", func(t *testing.T) {
			s := g.workers[0].ask()
			g.publish(newPool(1))
			g.wantRanked(g.workers[0].ask(), address(0))
			s.SetServer(address(1))
			s.Respond(nil, true)
			if got := s.ResponseHeaders().Get("x-session-token"); got != sessionToken(1) {
				t.Errorf("x-session-token: got %q, want %q, whom the request went to", got, sessionToken(1))
			}
		})
	})
}

// TestResponseNamesWhoServedAlone: it does so where nothing else wants to know what becomes of requests.
func TestResponseNamesWhoServedAlone(t *testing.T) {
	const naming = `{"plugins":[{"type":"queue-scorer"},{"type":"response-header-handler"}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(naming, `"failing":{"policy":"ignore"},"load":{"correction":false},`))
		g.publish(newPool(1, 0))
		s := g.workers[0].ask()
		s.SetServer(address(1))
		s.Respond(nil, true)
		if got := s.ResponseHeaders().Get("x-decoder-host-port"); got != address(1) {
			t.Errorf("x-decoder-host-port: got %q, want %q", got, address(1))
		}
	})
}
