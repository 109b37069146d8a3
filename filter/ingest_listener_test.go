package main_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestIngestListeners(t *testing.T) {
	const socket = "/run/pintle/ingest.sock"
	tests := []struct {
		name, ingest, listener, from, path string
		taken                              bool
	}{
		{"the port", `{"port":15099,"token":"test-token"}`, ingestListener, "127.0.0.1:4000", ingestPath, true},
		{"another port", `{"port":15099,"token":"test-token"}`, requestListener, "127.0.0.1:4000", ingestPath, false},
		{"a port that the client came from", `{"port":15099,"token":"test-token"}`, requestListener, "127.0.0.1:15099",
			ingestPath, false},
		{"another path", `{"port":15099,"token":"test-token"}`, ingestListener, "127.0.0.1:4000", ingestPath + "s",
			false},
		{"the socket", `{"socket":"` + socket + `","token":"test-token"}`, socket, socket, ingestPath, true},
		{"another socket", `{"socket":"` + socket + `","token":"test-token"}`, "/run/other.sock", "/run/other.sock",
			ingestPath, false},
		{"a port where the socket is meant", `{"socket":"` + socket + `","token":"test-token"}`, ingestListener,
			"127.0.0.1:4000", ingestPath, false},
		{"a socket where the port is meant", `{"port":15099,"token":"test-token"}`, socket, socket, ingestPath, false},
		{"no ingest", ``, ingestListener, "127.0.0.1:4000", ingestPath, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := modes[0]
			g := newGateway(t, m, 1, m.configuration(byQueue, ""))
			g.publish(newPool(1))
			configuration := `{"config":` + byQueue + `}`
			if tc.ingest != "" {
				configuration = `{"ingest":` + tc.ingest + `,"config":` + byQueue + `}`
			}
			p := startPlugin(t, g.workers[0].Worker,
				wazerohost.PluginConfig{Configuration: configuration, Listener: tc.listener})
			before := g.stored()
			s := p.Request(append(set(ingestHeaders(), [2]string{":path", tc.path}),
				[2]string{"x-envoy-original-dst-host", "6.6.6.6:6"}), false, wazerohost.From(tc.from))
			s.Body(newPool(2, 1).message(t, g.next()), true)
			if !tc.taken {
				g.wantRanked(s, address(0))
				if s.LocalReply() != nil || g.stored() != before {
					t.Errorf("got the answer %+v and stored %s, want an ordinary request", s.LocalReply(), g.stored())
				}
				return
			}
			if s.ResponseHeaders().Get(":status") != "204" || s.Sent() || g.stored() == before {
				t.Errorf("got %v %s, want 204", s.ResponseHeaders(), s.ResponseBody())
			}
			g.wantRanked(g.workers[0].ask(), address(1))
			bare := p.Request(wazerohost.Headers{{":path", ingestPath}}, false, wazerohost.From(tc.from))
			wantError(t, bare, 401, "unauthorized")
		})
	}
}

// TestEndlessSnapshot: what is longer than any snapshot is refused before it has come to its end.
func TestEndlessSnapshot(t *testing.T) {
	for _, m := range []mode{modes[0], modes[2]} {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		s := g.workers[0].ingest.Request(ingestHeaders(), false)
		frame := make([]byte, 1<<20)
		for range snapshot.MaxMessageBytes/len(frame) + 1 {
			s.Body(frame, false)
		}
		wantError(t, s, 413, "too_large")
	}
}

// TestWideIngestListener: that others can reach the listener is said once by each worker that finds it out.
func TestWideIngestListener(t *testing.T) {
	tests := []struct {
		name, listener, from string
		warned               bool
	}{
		{"this machine", ingestListener, "127.0.0.1:4000", false},
		{"this machine, IPv6", "[::1]:15099", "[::1]:4000", false},
		{"another machine", ingestListener, "10.0.0.9:4000", true},
		{"this machine at an address that others reach", "10.0.0.1:15099", "127.0.0.1:4000", true},
	}
	m := modes[0]
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := newGateway(t, m, 2, m.configuration(byQueue, ""))
			for _, w := range g.workers {
				p := startPlugin(t, w.Worker,
					wazerohost.PluginConfig{Configuration: m.configuration(byQueue, ""), Listener: tc.listener})
				for range 3 {
					p.Request(ingestHeaders(), false, wazerohost.From(tc.from)).Body(newPool(1).message(t, g.next()),
						true)
				}
			}
			warnings, want := 0, 0
			for _, line := range g.host.Logs(wazerohost.Warn) {
				if strings.Contains(line.Text, "the ingest listener was reached at "+tc.listener+
					"; bind it to 127.0.0.1") {
					warnings++
				}
			}
			if tc.warned {
				want = len(g.workers)
			}
			if warnings != want {
				t.Errorf("got %d warnings, want %d", warnings, want)
			}
		})
	}
}

// TestTokenFromEnvironment: the token may stand in a variable that Envoy hands to the module, among others.
func TestTokenFromEnvironment(t *testing.T) {
	m := modes[0]
	configuration := strings.Replace(m.configuration(byQueue, ""), `"token":"`+token+`"`,
		`"tokenEnv":"PINTLE_INGEST_TOKEN"`, 1)
	tests := []struct {
		name        string
		environment map[string]string
		mistake     string
	}{
		{"there", map[string]string{"A": "1", "PINTLE_INGEST_TOKEN": token, "PINTLE_INGEST_TOKEN_2": "another-token"},
			""},
		{"no environment", nil, "the module's environment has no PINTLE_INGEST_TOKEN"},
		{"another variable", map[string]string{"PINTLE_INGEST_TOKEN_2": token},
			"the module's environment has no PINTLE_INGEST_TOKEN"},
		{"short", map[string]string{"PINTLE_INGEST_TOKEN": "short"},
			"the token in PINTLE_INGEST_TOKEN has 5 characters"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			o := m.options(wazerohost.NewClock(startTime))
			o.Env = tc.environment
			g := &gateway{t: t, mode: m, host: newHost(t, o)}
			w, err := g.host.Worker()
			if err != nil {
				t.Fatal(err)
			}
			p, err := w.Start(wazerohost.PluginConfig{Configuration: configuration, Listener: ingestListener})
			if tc.mistake != "" {
				if err == nil || !strings.Contains(err.Error(), tc.mistake) {
					t.Errorf("start: got %v, want %q", err, tc.mistake)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, test := range []struct{ token, status string }{{token, "204"}, {"another-token", "401"}} {
				s := p.Request(set(ingestHeaders(), [2]string{"authorization", "Bearer " + test.token}), false)
				s.Body(newPool(1).message(t, g.next()), true)
				if got := s.ResponseHeaders().Get(":status"); got != test.status {
					t.Errorf("token %s: got %s %s, want %s", test.token, got, s.ResponseBody(), test.status)
				}
			}
		})
	}
}
