package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestPredictedLatency: what one worker's answers tell of servers' speeds, all workers go by, and refuse what no server
// can answer in time.
func TestPredictedLatency(t *testing.T) {
	const document = `{"plugins":[{"type":"predicted-latency-scorer","parameters":{"unmet":"refuse"}}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(document, `"debug":true,`))
		g.publish(newPool(0, 0))
		asked := 0
		ask := func(worker int, headers ...[2]string) *wazerohost.Stream {
			asked++
			return g.workers[worker].askBody(fmt.Sprintf(`{"model":"m","stream":true,"prompt":"%d %s"}`, asked,
				strings.Repeat("word ", 1000)), headers...)
		}
		serve := func(s *wazerohost.Stream) (by string) {
			by, _, _ = strings.Cut(g.ranked(s), ",")
			first := 100 * time.Millisecond
			if by == address(1) {
				first = time.Second
			}
			s.SetServer(by)
			s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "text/event-stream"}}, false)
			g.clock.Advance(first)
			s.RespondBody([]byte("data: {\"choices\":[{\"text\":\"a\"}]}\n\n"), false)
			g.clock.Advance(50 * time.Millisecond)
			s.RespondBody([]byte("data: {\"choices\":[{\"text\":\"b\"}]}\n\n"), true)
			g.clock.Advance(time.Millisecond)
			return by
		}
		seen := map[string]int{}
		for range 60 {
			seen[serve(ask(0))]++
		}
		if seen[address(0)] < 30 || seen[address(1)] == 0 {
			t.Errorf("of 60 requests the servers got %v, want most at the faster one", seen)
		}
		for range 8 {
			s := ask(1)
			if by := serve(s); by != address(0) {
				t.Errorf("the other worker's request went to %s, want %s", by, address(0))
			}
			if got := explained(t, s).Predicted; len(got) != 2 || !within(got[0], 0, 50, 100) ||
				!within(got[1], 1, 200, 1000) {
				t.Errorf("x-pintle-explain: got %v predicted, want 50 to 100 ms to the first token of server 0, 200 "+
					"to 1,000 of server 1, and 10 to 50 for further ones", got)
			}
		}
		var open []*wazerohost.Stream
		for range 24 { // so many that the slower one gets some
			open = append(open, ask(0))
		}
		refused := ask(1, [2]string{"x-slo-ttft-ms", "1"})
		reply := refused.LocalReply()
		if reply == nil || reply.Status != 429 || reply.Headers.Get("x-pintle-reason") != "slo_unmet" ||
			reply.Headers.Get("retry-after") == "" {
			t.Errorf("an objective that nobody meets: got %+v, want 429 slo_unmet and when to try again", reply)
		}
		if s := ask(1, [2]string{"x-slo-ttft-ms", "60000"}); s.LocalReply() != nil {
			t.Errorf("an objective that can be met: got %+v", s.LocalReply())
		}
		for _, s := range open {
			serve(s)
		}
	})
}

// within reports whether a line of predictions, [endpoint, milliseconds to the first token, milliseconds for each
// further one], is of a server, and what it has is as it can be where answers are that quick.
func within(line []any, server int, least, most float64) bool {
	if len(line) != 3 || line[0] != serverName(server) {
		return false
	}
	first, further := line[1].(float64), line[2].(float64)
	return first >= least && first <= most && further >= 10 && further <= 50
}

// TestWorkersPredictTheSame: four workers predict what one does that has seen the same.
func TestWorkersPredictTheSame(t *testing.T) {
	const document = `{"plugins":[{"type":"predicted-latency-scorer"}]}`
	m := modes[0]
	predicted := func(workers int) (all []string) {
		g := newGateway(t, m, workers, m.configuration(document, `"debug":true,"subset":"header",`))
		g.publish(newPool(0, 0))
		for i := range 24 {
			server := address(i % 2)
			host, _, _ := strings.Cut(server, ":")
			s := g.workers[i%workers].askBody(fmt.Sprintf(`{"model":"m","stream":true,"prompt":"%d %s"}`, i,
				strings.Repeat("word ", 100*(1+i%7))), [2]string{"x-gateway-destination-endpoint-subset", host})
			s.SetServer(server)
			s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "text/event-stream"}}, false)
			g.clock.Advance(time.Duration(20+10*(i%5)+60*(i%2)) * time.Millisecond)
			s.RespondBody([]byte("data: {\"choices\":[{\"text\":\"a\"}]}\n\n"), false)
			g.clock.Advance(time.Duration(10+i%3) * time.Millisecond)
			s.RespondBody([]byte("data: {\"choices\":[{\"text\":\"b\"}]}\n\n"), true)
			g.clock.Advance(time.Millisecond)
			_, found, _ := strings.Cut(s.ResponseHeaders().Get("x-pintle-explain"), `"predicted":[[`)
			found, _, _ = strings.Cut(found, "]]")
			all = append(all, found)
		}
		return all
	}
	one, four := predicted(1), predicted(4)
	for i := range one {
		if one[i] != four[i] {
			t.Errorf("request %d: one worker predicted %s, four %s", i, one[i], four[i])
		}
	}
	if one[len(one)-1] == "" || one[len(one)-1] == one[len(one)-3] {
		t.Errorf("predicted %s and before %s, want what changes", one[len(one)-1], one[len(one)-3])
	}
}
