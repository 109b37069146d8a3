package main_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// A server may show as long a queue as it likes: what is sent there still makes it look fuller, and never empty, though
// int has 32 bits in the module.
func TestQueuesAsLongAsServersLike(t *testing.T) {
	const document = `{"plugins":[{"type":"queue-scorer"},{"type":"session-affinity-scorer"}],"schedulingProfiles":[{"name":"p",` +
		`"plugins":[{"pluginRef":"queue-scorer","weight":2},{"pluginRef":"session-affinity-scorer","weight":3}]}]}`
	eachMode(t, func(t *testing.T, m mode) {
		for _, waiting := range []uint32{1000, 1<<31 - 2, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			g := newGateway(t, m, 1, m.configuration(document, `"debug":true,`))
			g.publish(newPool(waiting, 5))
			for i := range 3 {
				g.clock.Advance(1e6)
				g.wantRanked(g.workers[0].ask([2]string{"x-session-token", sessionToken(0)}), address(0))
				g.clock.Advance(1e6)
				s := g.workers[0].ask()
				g.wantRanked(s, address(1))
				s.Respond(wazerohost.Headers{{":status", "200"}}, true)
				for _, score := range explained(t, s).Scores {
					if score[0] == "default/vllm-0" && score[1] == "queue-scorer" && score[3] != 0.0 {
						t.Errorf("a queue of %d and %d more scores %v, want 0", waiting, i+1, score[3])
					}
				}
			}
		}
	})
}
