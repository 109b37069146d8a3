package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestPluginsGiveBackTheirRoom: what a plug-in could not hand over when it ends takes no other's room, and there is
// room for a part of it until the next one does.
func TestPluginsGiveBackTheirRoom(t *testing.T) {
	m := modes[0]
	k := newKeeper(t, m, "")
	w := k.workers[0]
	body := fmt.Sprintf(`{"model":"m","input":%q}`, strings.Repeat("a ", 500<<10)) // 64 of these are what a worker keeps
	answer := func(s *wazerohost.Stream, id string) {
		s.SetServer(address(1))
		s.Respond(wazerohost.Headers{{"content-type", "application/json"}}, false)
		s.RespondBody(fmt.Appendf(nil, `{"id":%q,"status":"completed","output":[]}`, id), true)
	}
	for range 2 {
		p := startPlugin(t, w.Worker, wazerohost.PluginConfig{
			Configuration: m.configuration(fmt.Sprintf(storing, ""), ""), Listener: requestListener})
		for range 40 {
			s := p.Request(wazerohost.Headers{{":path", "/v1/responses"}}, false)
			s.Body([]byte(body), true)
			answer(s, "lost")
		}
		p.Stop()
	}
	answer(k.turn(body), "kept")
	w.Tick()
	k.serve()
	stored, _ := k.host.Counter("pintle.responses.stored")
	const left = 4 // of a megabyte each
	if lost, _ := k.host.Counter("pintle.responses.not_stored"); stored != 1+left || lost != 80-left {
		t.Errorf("%d responses were stored and %d lost, want %d and %d", stored, lost, 1+left, 80-left)
	}
}

// TestWhatTheSidecarSaysOfATurn: it has it, does not want it, or is to be told again, not at once and not for ever.
func TestWhatTheSidecarSaysOfATurn(t *testing.T) {
	for status, want := range map[string]string{
		"200": "stored", "204": "stored", "400": "lost", "409": "lost", "413": "lost", "300": "again", "404": "again",
		"500": "again", "503": "again", "100": "again",
	} {
		t.Run(status, func(t *testing.T) {
			k := newKeeper(t, modes[0], "")
			w := k.workers[0]
			s := k.turn(`{"model":"m","input":"a"}`)
			s.SetServer(address(1))
			s.Respond(wazerohost.Headers{{":status", "200"}}, false)
			slow := w.requests.TickMillis()
			s.RespondBody([]byte(`{"id":"r","status":"completed","output":[]}`), true)
			if got := w.requests.TickMillis(); got != 1 {
				t.Errorf("tick: got %d ms, want 1 while there is something to tell", got)
			}
			s.Finish()
			told := func(after time.Duration) int {
				t.Helper()
				k.clock.Advance(after)
				w.Tick()
				calls := w.Calls()
				for _, call := range calls {
					call.Respond(wazerohost.Headers{{":status", status}}, nil, nil)
				}
				return len(calls)
			}
			if n := told(0); n != 1 || w.requests.TickMillis() != slow {
				t.Fatalf("told %d times, a tick each %d ms; want once, and %d ms", n, w.requests.TickMillis(), slow)
			}
			again := 0
			if want == "again" {
				again = 1
			}
			early, due, late, ever := told(499*time.Millisecond), told(time.Millisecond), told(29500*time.Millisecond),
				told(time.Hour)
			if early != 0 || due != again || late != again || ever != 0 {
				t.Errorf("told %d times within half a second, %d then, %d after half a minute, %d later; want 0, %d, "+
					"%d, 0", early, due, late, ever, again, again)
			}
			stored, _ := k.host.Counter("pintle.responses.stored")
			lost, _ := k.host.Counter("pintle.responses.not_stored")
			if stored+lost != 1 || stored == 1 != (want == "stored") {
				t.Errorf("%d were stored and %d lost, want one, %s", stored, lost, want)
			}
		})
	}
}

// TestTurnsGiveBackTheirRoom: as many turns as a worker has room for, and more, which are stored, or not after all,
// leave room for the next one.
func TestTurnsGiveBackTheirRoom(t *testing.T) {
	body := fmt.Sprintf(`{"model":"m","input":%q}`, strings.Repeat("a ", 500<<10))
	begun := `{"id":"r","status":"completed","output":["` + strings.Repeat("a ", 300<<10)
	for _, tc := range []struct {
		name         string
		stored, lost int // of each
		play         func(k *keeper, s *wazerohost.Stream)
	}{
		{"stored ones", 1, 0, func(k *keeper, s *wazerohost.Stream) { k.answer(s, "r", "b", false) }},
		{"errors", 0, 0, func(_ *keeper, s *wazerohost.Stream) {
			s.Respond(wazerohost.Headers{{":status", "500"}}, false)
			s.RespondBody([]byte("{}"), true)
			s.Finish()
		}},
		{"clients that leave", 0, 0, func(_ *keeper, s *wazerohost.Stream) { s.Abort() }},
		{"answers that are too long", 0, 1, func(_ *keeper, s *wazerohost.Stream) {
			s.Respond(wazerohost.Headers{{":status", "200"}}, false)
			for range 3 {
				s.RespondBody([]byte(begun), false)
			}
			s.RespondBody([]byte(`"]}`), true)
			s.Finish()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const requests = 70 // 64 are what a worker keeps
			k := newKeeper(t, modes[0], "")
			for range requests {
				s := k.turn(body)
				s.SetServer(address(1))
				tc.play(k, s)
			}
			k.answer(k.turn(body), "kept", "b", false)
			stored, _ := k.host.Counter("pintle.responses.stored")
			lost, _ := k.host.Counter("pintle.responses.not_stored")
			if wantStored, wantLost := uint64(1+requests*tc.stored), uint64(requests*tc.lost); stored != wantStored ||
				lost != wantLost {
				t.Errorf("%d responses were stored and %d lost, want %d and %d", stored, lost, wantStored, wantLost)
			}
		})
	}
}

// TestSidecarsClusterIsMissing: where Envoy has no cluster of the sidecar's, requests that need the store are refused,
// others go on, and what was to be stored is lost in the end.
func TestSidecarsClusterIsMissing(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		clock := wazerohost.NewClock(startTime)
		options := m.options(clock)
		options.Clusters = []string{"another"}
		k := &keeper{gateway: &gateway{t: t, mode: m, clock: clock, host: newHost(t, options)}}
		k.start(1, m.configuration(fmt.Sprintf(storing, ""), ""))
		k.publish(newPool(1, 0))
		wantError(t, k.turn(`{"model":"m","input":"a","previous_response_id":"r"}`), 503, "store_unavailable")
		wantError(t, k.fetch("GET", "/v1/responses/r"), 503, "store_unavailable")
		for _, id := range []string{"r1", "r2"} {
			s := k.turn(`{"model":"m","input":"a"}`)
			k.wantRanked(s, address(1))
			k.answer(s, id, "b", false)
		}
		k.clock.Advance(31 * time.Second)
		k.workers[0].Tick()
		if lost, _ := k.host.Counter("pintle.responses.not_stored"); lost != 2 {
			t.Errorf("pintle.responses.not_stored: got %d, want 2", lost)
		}
		told := slices.ContainsFunc(k.host.Logs(wazerohost.Warn), func(l wazerohost.LogLine) bool {
			return strings.HasPrefix(l.Text, "pintle: cluster pintle-sidecar cannot be asked: ")
		})
		if !told {
			t.Errorf("got the log %v, want it to name the cluster", k.host.Logs(wazerohost.Warn))
		}
	})
}

// TestRoomForTurnsIsBounded: a request for which a worker has no more room goes its way, and its response is not
// stored.
func TestRoomForTurnsIsBounded(t *testing.T) {
	const requests, fit = 67, 65 // of 63 blocks of 16 KiB each, of which there are 4096
	k := newKeeper(t, modes[0], "")
	body := fmt.Sprintf(`{"model":"m","input":%q}`, strings.Repeat("a ", 500<<10))
	for round := range uint64(2) {
		var open []*wazerohost.Stream
		for range requests {
			open = append(open, k.turn(body))
		}
		for _, s := range open {
			k.wantRanked(s, address(1))
			k.answer(s, "r", "b", false)
		}
		stored, _ := k.host.Counter("pintle.responses.stored")
		lost, _ := k.host.Counter("pintle.responses.not_stored")
		if stored != fit*(round+1) || lost != (requests-fit)*(round+1) {
			t.Errorf("round %d: %d were stored and %d lost, want %d and %d of each round", round+1, stored, lost, fit,
				requests-fit)
		}
	}
}

// TestTurnsAboveTheStoresLimit: a response whose conversation is longer than the store takes is not handed over, also
// where what comes behind the piece that is too long is short.
func TestTurnsAboveTheStoresLimit(t *testing.T) {
	const memory = `{"inMemoryConfig":{"maxEntryBytes":260}}`
	const tiers = `{"tieredConfig":{"redis":{"address":"redis://a:1","maxEntryBytes":260}}}`
	for _, tc := range []struct {
		name, store   string
		input, output int
		stored        uint64
	}{
		{"just short enough", memory, 60, 60, 1}, {"a long request", memory, 300, 1, 0},
		{"a long answer", memory, 1, 300, 0}, {"both together", memory, 130, 130, 0},
		{"short enough for Redis", tiers, 60, 60, 1}, {"too long for Redis", tiers, 130, 130, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newKeeper(t, modes[0], `"storeConfig":`+tc.store)
			k.answer(k.turn(fmt.Sprintf(`{"model":"m","input":%q}`, strings.Repeat("a", tc.input))), "r",
				strings.Repeat("b", tc.output), false)
			k.wantCounters(map[string]uint64{"pintle.responses.stored": tc.stored,
				"pintle.responses.not_stored": 1 - tc.stored})
		})
	}
}

// TestTurnsAreToldApart: of two responses that are handed over the one is told again that the sidecar has not taken.
func TestTurnsAreToldApart(t *testing.T) {
	for taken := range 2 {
		k := newKeeper(t, modes[0], "")
		w := k.workers[0]
		for _, id := range []string{"r0", "r1"} {
			s := k.turn(`{"model":"m","input":"a"}`)
			s.SetServer(address(1))
			s.Respond(wazerohost.Headers{{":status", "200"}}, false)
			s.RespondBody(fmt.Appendf(nil, `{"id":%q,"status":"completed","output":[]}`, id), true)
			s.Finish()
		}
		w.Tick()
		calls := w.Calls()
		if len(calls) != 2 {
			t.Fatalf("the sidecar was told %d times, want twice", len(calls))
		}
		calls[taken].Respond(wazerohost.Headers{{":status", "200"}}, nil, nil)
		calls[1-taken].Respond(wazerohost.Headers{{":status", "503"}}, nil, nil)
		k.clock.Advance(time.Second)
		w.Tick()
		want := fmt.Sprintf(`"id":"r%d"`, 1-taken)
		if calls = w.Calls(); len(calls) != 1 || !strings.Contains(string(calls[0].Body), want) {
			t.Errorf("after r%d was taken the sidecar was told %d times, want once of %s", taken, len(calls), want)
		}
	}
}

// TestHowTheStoreIsAsked: with the token, for so long, and with no more than there is to say.
func TestHowTheStoreIsAsked(t *testing.T) {
	m := modes[0]
	k := newKeeperWith(t, m, m.configuration(fmt.Sprintf(storing, `"tenantHeader":"X-Team"`),
		`"sidecar":{"cluster":"pintle-sidecar","timeout":"250ms"},`))
	w := k.workers[0]
	team := [2]string{"x-team", "blue"}
	wantAsked := func(method, path string, more ...[2]string) {
		t.Helper()
		calls := w.Calls()
		if len(calls) != 1 {
			t.Fatalf("%s %s: got %d calls, want one", method, path, len(calls))
		}
		want := append(wazerohost.Headers{{":method", method}, {":path", path}, {":authority", "pintle-sidecar"},
			{"authorization", "Bearer " + token}}, more...)
		if c := calls[0]; !slices.Equal(c.Headers, want) || c.TimeoutMillis != 250 || c.Cluster != "pintle-sidecar" {
			t.Errorf("got %v of %s in %d ms, want %v of pintle-sidecar in 250", c.Headers, c.Cluster, c.TimeoutMillis,
				want)
		}
		k.serve()
	}
	send := func(body string) *wazerohost.Stream {
		s := w.requests.Request(wazerohost.Headers{{":path", "/v1/responses"}, team}, false)
		s.Body([]byte(body), true)
		return s
	}
	store := func(s *wazerohost.Stream, id string) {
		s.Respond(wazerohost.Headers{{"content-type", "application/json"}}, false)
		s.RespondBody(fmt.Appendf(nil, `{"id":%q,"status":"completed","output":[]}`, id), true)
		s.Finish()
		w.Tick()
	}
	tenant := [2]string{"x-pintle-tenant", "blue"}
	store(send(`{"model":"m","input":"a"}`), "r1")
	wantAsked("POST", "/pintle/v1/turns", [2]string{"x-pintle-input", "3"}, tenant)
	s := send(`{"model":"m","input":"b","previous_response_id":"r1"}`)
	wantAsked("GET", "/pintle/v1/history/r1", tenant)
	store(s, "r2")
	wantAsked("POST", "/pintle/v1/turns", [2]string{"x-pintle-input", "3"}, tenant,
		[2]string{"x-pintle-previous", "r1"})
	for _, of := range []string{"", "/input_items?limit=1"} {
		w.requests.Request(wazerohost.Headers{{":method", "GET"}, {":path", "/v1/responses/r1" + of}, team}, true)
		wantAsked("GET", "/pintle/v1/responses/r1"+of, tenant)
	}
	w.requests.Request(wazerohost.Headers{{":method", "DELETE"}, {":path", "/v1/responses/r1"}, team}, true)
	wantAsked("DELETE", "/pintle/v1/responses/r1", tenant)
}
