package main_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
	"github.com/pintle-dev/pintle/scoring"
)

const storing = `{"featureGates":["prepareDataPlugins"],"plugins":[{"type":"queue-scorer"},{"type":"max-score-picker"},
	{"type":"responses-store","parameters":{%s}}],"schedulingProfiles":[{"name":"p","plugins":[
	{"pluginRef":"queue-scorer"},{"pluginRef":"max-score-picker"}]}]}`

// keeper is a gateway whose sidecar keeps conversations.
type keeper struct {
	*gateway
	service *responses.Service
}

func newKeeper(t *testing.T, m mode, parameters string) *keeper {
	return newKeeperWith(t, m, m.configuration(fmt.Sprintf(storing, parameters), ""))
}

// newKeeperWith is newKeeper with a plug-in configuration.
func newKeeperWith(t *testing.T, m mode, configuration string) *keeper {
	clock := wazerohost.NewClock(startTime)
	options := m.options(clock)
	options.Clusters = []string{"pintle-sidecar"}
	g := &gateway{t: t, mode: m, clock: clock, host: newHost(t, options)}
	g.start(1, configuration)
	g.publish(newPool(1, 0))
	service, err := responses.New(scoring.StoreBackend{Memory: scoring.StoreMemory{TTL: time.Hour, MaxEntries: 100,
		MaxEntryBytes: 1 << 20}}, func() string { return token }, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return &keeper{gateway: g, service: service}
}

// wantCounters checks counters of Envoy's statistics.
func (k *keeper) wantCounters(want map[string]uint64) {
	k.t.Helper()
	for name, n := range want {
		if got, _ := k.host.Counter(name); got != n {
			k.t.Errorf("%s: got %d, want %d", name, got, n)
		}
	}
}

// serve answers what the filter has asked the sidecar, and returns how often it did.
func (k *keeper) serve() int {
	calls := k.workers[0].Calls()
	k.answerCalls(calls)
	return len(calls)
}

// answerCalls answers what was asked.
func (k *keeper) answerCalls(calls []*wazerohost.HTTPCall) {
	for _, call := range calls {
		r := httptest.NewRequest(call.Headers.Get(":method"), call.Headers.Get(":path"), bytes.NewReader(call.Body))
		for _, h := range call.Headers {
			if !strings.HasPrefix(h[0], ":") {
				r.Header.Set(h[0], h[1])
			}
		}
		w := httptest.NewRecorder()
		k.service.ServeHTTP(w, r)
		call.Respond(wazerohost.Headers{{":status", fmt.Sprint(w.Code)}}, w.Body.Bytes(), nil)
	}
}

// turn sends a request and lets the sidecar answer.
func (k *keeper) turn(body string, headers ...[2]string) *wazerohost.Stream {
	return k.post("/v1/responses", body, headers...)
}

// post is turn for any path.
func (k *keeper) post(path, body string, headers ...[2]string) *wazerohost.Stream {
	s := k.workers[0].requests.Request(append(wazerohost.Headers{{":path", path},
		{"content-length", fmt.Sprint(len(body))}}, headers...), false)
	s.Body([]byte(body), true)
	k.serve()
	return s
}

// answer ends a request with a response, and has it stored.
func (k *keeper) answer(s *wazerohost.Stream, id, text string, stream bool) {
	k.t.Helper()
	object := fmt.Sprintf(`{"id":%q,"status":"completed","output":[%s]}`, id, said(text))
	s.SetServer(address(1))
	if stream {
		s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "text/event-stream"}}, false)
		s.RespondBody([]byte("event: response.created\ndata: {}\n\nevent: response.comp"), false)
		s.RespondBody([]byte("leted\ndata: {\"type\":\"response.completed\",\"response\":"+object+"}\n\n"), false)
		s.RespondBody(nil, true)
	} else {
		s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "application/json"}}, false)
		s.RespondBody([]byte(object[:20]), false)
		s.RespondBody([]byte(object[20:]), true)
	}
	s.Finish()
	k.workers[0].Tick()
	k.serve()
}

func said(text string) string {
	return `{"type":"message","role":"assistant","content":"` + text + `"}`
}

func asked(text string) string { return `{"type":"message","role":"user","content":"` + text + `"}` }

// wantUpstream wants a request that left with this body.
func (k *keeper) wantUpstream(s *wazerohost.Stream, want string) {
	k.t.Helper()
	k.wantRanked(s, address(1))
	if got := string(s.UpstreamBody()); got != want {
		k.t.Errorf("body: got  %s\nwant %s", got, want)
	}
	if got := s.UpstreamHeaders().Get("content-length"); got != "" && got != fmt.Sprint(len(want)) {
		k.t.Errorf("content-length: got %s, want %d", got, len(want))
	}
}

func (k *keeper) fetch(method, path string, headers ...[2]string) *wazerohost.Stream {
	s := k.workers[0].requests.Request(append(wazerohost.Headers{{":method", method}, {":path", path}}, headers...),
		true)
	k.serve()
	return s
}

func (k *keeper) wantUnknown(s *wazerohost.Stream, code, param string) {
	k.t.Helper()
	e := wantError(k.t, s, 404, code)
	kind := "Response with id '"
	if param != "" {
		kind = "Previous response with id '"
	}
	if !strings.HasPrefix(e.Error.Message, kind) {
		k.t.Errorf("message: got %q, want %s...", e.Error.Message, kind)
	}
	if e.Error.Code != code || e.Error.Type != "invalid_request_error" || (e.Error.Param == nil) != (param == "") ||
		e.Error.Param != nil && *e.Error.Param != param {
		k.t.Errorf("error: got %+v, want %s for %q", e, code, param)
	}
}
