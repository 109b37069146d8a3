package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// teams are two tenants with their salts.
var teams = []struct{ name, salt string }{{"team-a", saltA}, {"team-b", saltB}}

// wantSalted wants requests of the teams, in their order, that left with their salts.
func wantSalted(t *testing.T, streams []*wazerohost.Stream, rest string) {
	t.Helper()
	for i, s := range streams {
		if got, want := string(s.UpstreamBody()), `{"cache_salt":"`+teams[i].salt+`",`+rest; got != want {
			t.Errorf("body of %s: sent %v\n got %s\nwant %s", teams[i].name, s.Sent(), got, want)
		}
	}
}

// TestSaltsOfRequestsThatWait: requests that were held beside others' leave with their own tenants' salts, whichever
// goes on first.
func TestSaltsOfRequestsThatWait(t *testing.T) {
	const path = "/v1/chat/completions"
	rest := `"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("a question ", 20) + `"}]}`
	eachMode(t, func(t *testing.T, m mode) {
		send := func(g *gateway, ending string) (streams []*wazerohost.Stream) {
			for _, team := range teams {
				s := g.workers[0].requests.Request(wazerohost.Headers{{":path", path}, {"x-team", team.name}}, false)
				sendEnding(s, "{"+rest, ending)
				streams = append(streams, s)
			}
			return streams
		}
		for _, ending := range []string{"whole", "frames", "trailers"} {
			t.Run("for servers, "+ending, func(t *testing.T) {
				g := newGateway(t, m, 1, m.configuration(`{"plugins":[{"type":"queue-scorer"},`+salting+`]}`, waits))
				streams := send(g, ending)
				g.publish(newPool(0))
				g.workers[0].Tick()
				wantSalted(t, streams, rest)
			})
			t.Run("for the sidecar, "+ending, func(t *testing.T) {
				g := newPreciseGateway(t, m,
					strings.Replace(precise, `{"type":"queue-scorer"}`, salting+`,{"type":"queue-scorer"}`, 1))
				streams := send(g, ending)
				calls := g.workers[0].Calls()
				for i := range calls {
					calls[len(calls)-1-i].Respond(wazerohost.Headers{{":status", "204"}}, nil, nil)
				}
				wantSalted(t, streams, rest)
			})
		}
	})
}

// TestSaltsOfConversations: a conversation that was put back leaves with the salt of who goes on with it.
func TestSaltsOfConversations(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		const queue = `{"type":"queue-scorer"}`
		document := strings.Replace(fmt.Sprintf(storing, ""), queue, queue+","+salting, 1)
		k := newKeeperWith(t, m, m.configuration(document, ""))
		team := [2]string{"x-team", "team-a"}
		k.answer(k.turn(`{"model":"m","input":"a"}`, team), "resp_1", "b", false)
		k.wantUpstream(k.turn(`{"model":"m","input":"c","previous_response_id":"resp_1","cache_salt":"mine"}`, team),
			`{"model":"m","input":[`+asked("a")+","+said("b")+","+asked("c")+`],"cache_salt":"`+saltAMine+`"}`)
	})
}
