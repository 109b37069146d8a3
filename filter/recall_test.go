package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

func TestConversationGoesOn(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		for _, stream := range []bool{false, true} {
			k := newKeeper(t, m, "")
			first := `{"model":"m","input":"a","stream":` + fmt.Sprint(stream) + `}`
			s := k.turn(first)
			k.wantUpstream(s, first)
			k.answer(s, "resp_1", "b", stream)
			s = k.turn(`{"model":"m", "previous_response_id":"resp_1" , "input": [` + asked("c") + ` ],"x":[ ]}`)
			k.wantUpstream(s, `{"model":"m",  "input": [`+asked("a")+","+said("b")+","+asked("c")+` ],"x":[ ]}`)
			k.answer(s, "resp_2", "d", stream)
			s = k.turn(`{"model":"m","input":"e","previous_response_id":"resp_2"}`)
			all := []string{asked("a"), said("b"), asked("c"), said("d"), asked("e")}
			k.wantUpstream(s, `{"model":"m","input":[`+strings.Join(all, ",")+`]}`)
			s.Abort()
			get := k.fetch("GET", "/v1/responses/resp_2")
			if got := string(get.ResponseBody()); !strings.Contains(got, `"previous_response_id":"resp_1"`) ||
				get.ResponseHeaders().Get(":status") != "200" {
				t.Errorf("stored response: got %v %s", get.ResponseHeaders(), got)
			}
			items := string(k.fetch("GET", "/v1/responses/resp_1/input_items?limit=1").ResponseBody())
			if !strings.Contains(items, `"text":"a"`) {
				t.Errorf("input items: got %s", items)
			}
			wrong := k.fetch("GET", "/v1/responses/resp_1/input_items?limit=0")
			if got := wrong.ResponseHeaders().Get(":status"); got != "400" {
				t.Errorf("input items, at most none: got %s, want 400", got)
			}
			if got := string(k.fetch("DELETE", "/v1/responses/resp_1").ResponseBody()); !strings.Contains(got,
				`"deleted":true`) {
				t.Errorf("deleted: got %s", got)
			}
			k.wantUnknown(k.fetch("GET", "/v1/responses/resp_1"), "response_not_found", "")
			k.wantUnknown(k.turn(`{"model":"m","input":"e","previous_response_id":"resp_1"}`),
				"previous_response_not_found", "previous_response_id")
			k.wantUnknown(k.turn(`{"model":"m","input":"e","previous_response_id":"../../x"}`),
				"previous_response_not_found", "previous_response_id")
		}
	})
}

func TestNotStored(t *testing.T) {
	k := newKeeper(t, modes[0], "")
	const second = `{"model":"m","input":"x","previous_response_id":"r"}`
	for name, play := range map[string]func(){
		"store: false": func() { k.answer(k.turn(`{"model":"m","input":"a","store":false}`), "r", "b", true) },
		"conversation": func() { k.answer(k.turn(`{"model":"m","input":"a","conversation":"c"}`), "r", "b", false) },
		"background":   func() { k.answer(k.turn(`{"model":"m","input":"a","background":true}`), "r", "b", false) },
		"a broken stream": func() {
			s := k.turn(`{"model":"m","input":"a","stream":true}`)
			s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "text/event-stream"}}, false)
			s.RespondBody([]byte("event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{"),
				false)
			s.Abort()
			k.workers[0].Tick()
		},
		"a stream without its last event": func() {
			s := k.turn(`{"model":"m","input":"a","stream":true}`)
			s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "text/event-stream"}}, false)
			s.RespondBody([]byte("event: response.created\ndata: {\"response\":{\"id\":\"r\"}}\n\n"), true)
			k.workers[0].Tick()
		},
		"a chat": func() { k.answer(k.post("/v1/chat/completions", chat), "r", "b", false) },
		"a count of tokens": func() {
			k.answer(k.post("/v1/responses/input_tokens", `{"model":"m","input":"a"}`), "r", "b", false)
		},
		"no JSON": func() { wantError(t, k.turn(`{"model":"m","input":`), 400, "invalid_body") },
		"an error": func() {
			s := k.turn(`{"model":"m","input":"a"}`)
			s.Respond(wazerohost.Headers{{":status", "500"}}, false)
			s.RespondBody([]byte(`{"id":"r","status":"completed","output":[]}`), true)
			k.workers[0].Tick()
		},
		"an answer in a coding": func() {
			s := k.turn(`{"model":"m","input":"a"}`)
			s.Respond(wazerohost.Headers{{":status", "200"}, {"content-encoding", "gzip"}}, false)
			s.RespondBody([]byte(`{"id":"r","status":"completed","output":[]}`), true)
			k.workers[0].Tick()
		},
	} {
		play()
		if n := k.serve(); n > 0 {
			t.Errorf("%s: the sidecar was asked %d times, want never", name, n)
		}
	}
	k.wantUnknown(k.turn(second), "previous_response_not_found", "previous_response_id")
	both := `{"model":"m","input":"a","previous_response_id":"r","conversation":"c"}`
	k.wantUpstream(k.turn(both), both)
	background := `{"model":"m","input":"a","previous_response_id":"r","background":true}`
	k.wantUpstream(k.turn(background), background)
}

func TestStoreFails(t *testing.T) {
	for name, fail := range map[string]func(*wazerohost.HTTPCall){
		"slow": (*wazerohost.HTTPCall).TimeOut, "unreachable": (*wazerohost.HTTPCall).Unreachable,
		"reset":         (*wazerohost.HTTPCall).Fail,
		"another token": func(c *wazerohost.HTTPCall) { c.Respond(wazerohost.Headers{{":status", "401"}}, nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, modes[0], "")
			w := k.workers[0]
			failing := func(s *wazerohost.Stream) {
				t.Helper()
				fail(w.Calls()[0])
				wantError(t, s, 503, "store_unavailable")
				if s.ResponseHeaders().Get("retry-after") == "" {
					t.Errorf("answer: got %v, want retry-after", s.ResponseHeaders())
				}
			}
			s := w.requests.Request(wazerohost.Headers{{":path", "/v1/responses"}}, false)
			s.Body([]byte(`{"model":"m","input":"x","previous_response_id":"r"}`), true)
			failing(s)
			failing(w.requests.Request(wazerohost.Headers{{":path", "/v1/responses/r"}}, true))
			told := slices.ContainsFunc(k.host.Logs(wazerohost.Warn), func(l wazerohost.LogLine) bool {
				return strings.Contains(l.Text, "the sidecar refuses the token")
			})
			if told != (name == "another token") {
				t.Errorf("the log says that the sidecar refuses the token: %v", told)
			}
			// A response is told again until the sidecar takes it, and is not unknown meanwhile.
			s = k.turn(`{"model":"m","input":"a"}`)
			k.wantRanked(s, address(1))
			s.Respond(wazerohost.Headers{{":status", "200"}}, false)
			s.RespondBody([]byte(`{"id":"r","status":"completed","output":[]}`), true)
			s.Finish()
			w.Tick()
			fail(w.Calls()[0])
			wantError(t, k.turn(`{"model":"m","input":"x","previous_response_id":"r"}`), 503, "store_unavailable")
			wantError(t, k.fetch("GET", "/v1/responses/r"), 503, "store_unavailable")
			k.clock.Advance(-time.Hour)
			s = k.turn(`{"model":"m","input":"x","previous_response_id":"r"}`)
			k.serve()
			k.wantUnknown(s, "previous_response_not_found", "previous_response_id")
			k.clock.Advance(time.Hour + time.Second)
			w.Tick()
			if n := k.serve(); n != 1 {
				t.Fatalf("the sidecar was told %d times, want once more", n)
			}
			k.wantUpstream(k.turn(`{"model":"m","input":"x","previous_response_id":"r"}`),
				`{"model":"m","input":[`+asked("a")+","+asked("x")+`]}`)
			k.wantCounters(map[string]uint64{"pintle.responses.unavailable": 4, "pintle.responses.unknown": 1,
				"pintle.responses.recalled": 1, "pintle.responses.stored": 1, "pintle.responses.not_stored": 0})
		})
	}
}

// TestUnknownWhileTellingFails: a response is unknown only when none can be left that the sidecar has not been told of:
// two seconds after the last is given up.
func TestUnknownWhileTellingFails(t *testing.T) {
	k := newKeeper(t, modes[0], "")
	w := k.workers[0]
	s := k.turn(`{"model":"m","input":"a"}`)
	s.SetServer(address(1))
	s.Respond(wazerohost.Headers{{":status", "200"}}, false)
	s.RespondBody([]byte(`{"id":"r","status":"completed","output":[]}`), true)
	s.Finish()
	w.Tick()
	w.Calls()[0].Unreachable()
	for _, step := range []struct {
		after   time.Duration
		unknown bool
	}{{0, false}, {30 * time.Second, false}, {1900 * time.Millisecond, false}, {200 * time.Millisecond, true}} {
		k.clock.Advance(step.after)
		s := k.turn(`{"model":"m","input":"x","previous_response_id":"other"}`)
		if step.unknown {
			k.wantUnknown(s, "previous_response_not_found", "previous_response_id")
		} else {
			wantError(t, s, 503, "store_unavailable")
		}
	}
}

// TestTurnsOutliveTheirPlugin: what a plug-in has not handed over when it ends, or is just handing over, the next one
// hands over, of whichever worker; and what nobody can have left is passed over.
func TestTurnsOutliveTheirPlugin(t *testing.T) {
	const parameters = `"tenantHeader":"X-Team"`
	for _, telling := range []bool{false, true} {
		t.Run(fmt.Sprint("telling ", telling), func(t *testing.T) {
			m := modes[0]
			k := newKeeper(t, m, parameters)
			k.start(1, m.configuration(fmt.Sprintf(storing, parameters), ""))
			first, second := k.workers[0], k.workers[1]
			team := [2]string{"x-team", "blue"}
			k.answer(k.turn(`{"model":"m","input":"a"}`, team), "r1", "b", false)
			p := startPlugin(t, first.Worker, wazerohost.PluginConfig{
				Configuration: m.configuration(fmt.Sprintf(storing, parameters), ""), Listener: requestListener})
			for _, text := range []string{"c", "e"} {
				s := p.Request(wazerohost.Headers{{":path", "/v1/responses"}, team}, false)
				s.Body(fmt.Appendf(nil, `{"model":"m","input":%q,"previous_response_id":"r1"}`, text), true)
				k.serve()
				s.SetServer(address(1))
				s.Respond(wazerohost.Headers{{":status", "200"}}, false)
				s.RespondBody(fmt.Appendf(nil, `{"id":"after-%s","status":"completed","output":[]}`, text), true)
				s.Finish()
			}
			if telling {
				first.Tick() // nobody answers
			}
			p.Stop()
			k.workers = k.workers[1:]
			follow := `{"model":"m","input":"x","previous_response_id":"after-e"}`
			wantError(t, k.turn(follow, team), 503, "store_unavailable")
			var calls []*wazerohost.HTTPCall
			for tries := range 2 { // it fails at first, and is told again
				second.Tick()
				if calls = second.Calls(); len(calls) != 2 {
					t.Fatalf("the sidecar was told %d turns at try %d, want 2", len(calls), tries)
				}
				if tries == 0 {
					calls[0].Unreachable()
					calls[1].Unreachable()
					k.clock.Advance(time.Second)
				}
			}
			k.answerCalls(calls)
			k.wantUpstream(k.turn(follow, team), `{"model":"m","input":[`+
				strings.Join([]string{asked("a"), said("b"), asked("e"), asked("x")}, ",")+`]}`)
			k.host.SetSharedData("pintle/v1/responses/left", bytes.Repeat([]byte{9}, 100))
			if second.Tick(); len(second.Calls()) > 0 {
				t.Error("the sidecar was told what nobody has left")
			}
		})
	}
}

func TestTenantsAreApart(t *testing.T) {
	k := newKeeper(t, modes[0], `"tenantHeader":"X-Team"`)
	s := k.turn(`{"model":"m","input":"a"}`, [2]string{"x-team", "red"})
	k.answer(s, "r", "b", false)
	k.wantUnknown(k.fetch("GET", "/v1/responses/r", [2]string{"x-team", "blue"}), "response_not_found", "")
	k.wantUnknown(k.fetch("GET", "/v1/responses/r"), "response_not_found", "")
	k.wantUnknown(k.turn(`{"model":"m","input":"a","previous_response_id":"r"}`, [2]string{"x-team", "blue"}),
		"previous_response_not_found", "previous_response_id")
	s = k.turn(`{"model":"m","input":"c","previous_response_id":"r"}`, [2]string{"x-team", "red"})
	k.wantUpstream(s, `{"model":"m","input":[`+asked("a")+","+said("b")+","+asked("c")+`]}`)
}

func TestTurnsThatAreUnclear(t *testing.T) {
	k := newKeeper(t, modes[0], `"keepPreviousResponseId":true`)
	for _, body := range []string{
		`{"model":"m","input":{"a":1},"previous_response_id":"r"}`,
		`{"model":"m","input":"a","input":"b","previous_response_id":"r"}`,
		`{"model":"m","input":"a","previous_response_id":"r","previous_response_id":null}`,
	} {
		wantError(t, k.turn(body), 400, "invalid_body")
	}
	wantError(t, k.turn(`{"model":"m","input":"a","previous_response_id":"a b"}`), 404, "previous_response_not_found")
	k.workers[0].Tick()
	k.wantCounters(map[string]uint64{"pintle.requests.refused": 4, "pintle.requests.routed": 0})
	k.answer(k.turn(`{"model":"m","input":"a"}`), "r", "b", false)
	k.wantUpstream(k.turn(`{"model":"m","previous_response_id":"r","input":[]}`),
		`{"model":"m","previous_response_id":"r","input":[`+asked("a")+","+said("b")+`]}`)
	for _, path := range []string{"/v1/responses/r/cancel", "/v1/responses/a/b", "/v1/models",
		"/v1/responses/compact", "/v1/responses/input_tokens"} {
		if !k.fetch("GET", path).Sent() {
			t.Errorf("GET %s did not leave", path)
		}
	}
	if !k.fetch("DELETE", "/v1/responses/r/input_items").Sent() {
		t.Error("DELETE of the input of a response did not leave")
	}
	if !k.post("/v1/responses/r", `{"model":"m","input":"a"}`).Sent() {
		t.Error("POST to a response did not leave")
	}
	var parsed map[string]any
	err := json.Unmarshal(k.fetch("GET", "/openai/v1/responses/r?stream=false").ResponseBody(), &parsed)
	if err != nil || parsed["id"] != "r" {
		t.Errorf("below a prefix: got %v, %v", parsed, err)
	}
}

// TestNoIDsOfResponses: the store is asked for nothing that is no id of a response, as it stands in a path.
func TestNoIDsOfResponses(t *testing.T) {
	k := newKeeper(t, modes[2], "")
	for id, asks := range map[string]bool{
		"resp_0-9.azAZ": true, "1": true, "_": true, "-": true, strings.Repeat("a", 256): true,
		strings.Repeat("a", 257): false, ".": false, ".a": false, "a/b": false, "a:b": false, "a@b": false,
		"a[b": false, "a`b": false, "a{b": false, "a%62": false, "a b": false, "a?b": false, "\u00e9": false, "": false,
	} {
		body := `{"model":"m","input":"a","previous_response_id":` + strconv.Quote(id) + `}`
		s := k.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/responses"}}, false)
		s.Body([]byte(body), true)
		if got := k.serve(); got > 1 || got == 1 != asks {
			t.Errorf("%.20q: the store was asked %d times, want %v", id, got, asks)
		}
		if id != "" {
			k.wantUnknown(s, "previous_response_not_found", "previous_response_id")
		}
	}
}
