package replicate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

func TestNamesake(t *testing.T) {
	const own, other, old, pause = 'o', 'x', 'X', '.'
	for _, test := range []struct {
		name, said string
		found      int
		there      bool
	}{
		{"nobody else", "ooo", 0, false},
		{"the Envoy of before", "XXXooo", 0, false},
		{"one that has just been started anew", "xxxooo", 0, false},
		{"the server took two late", "oooxoxooo", 0, false},
		{"in turns", "oxoxox", 1, true},
		{"for long", "oxooxxoxoxox", 1, true},
		{"both fell silent long ago", "oXoXoXoXo", 0, false},
		{"the other one falls silent", "oxoxoxo.", 1, false},
		{"it comes and goes", "oxoxox.xoxox", 1, false},
		{"it comes back", "oxoxox.xoxoxox", 2, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var n namesake
			now, found := time.Now(), 0
			for _, what := range test.said {
				said := now
				switch what {
				case pause:
					now = now.Add(namesakeAge + 1)
					continue
				case old:
					said = now.Add(-namesakeAge - 1)
				}
				if n.hear(what == own, said, now) {
					found++
				}
			}
			if found != test.found || n.there(now) != test.there {
				t.Errorf("found %d times, is there: %v, want %d, %v", found, n.there(now), test.found, test.there)
			}
		})
	}
}

// TestTwoOfOneName: both say that there is another, and hear of each other all the same.
func TestTwoOfOneName(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	both := []*gateway{newGateway(t, "a", addressOf(v)), newGateway(t, "a", addressOf(v))}
	for n := range namesakeTurns + 1 {
		for i, g := range both {
			g.decide()
			other := both[1-i]
			harness.WaitFor(t, limit, "the other one to hear of it", func() (bool, string) {
				got := other.others()
				return len(got) == n+1, fmt.Sprint(got)
			})
		}
	}
	for i, g := range both {
		harness.WaitFor(t, limit, fmt.Sprintf("the gateway %d to say that there are two", i), func() (bool, string) {
			got := g.member.Now(time.Now()).Failures
			return len(got) == 1 && strings.HasPrefix(got[0], `gateway: another one is called "a"`), fmt.Sprint(got)
		})
	}
}
