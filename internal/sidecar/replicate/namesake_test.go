package replicate

import (
	"fmt"
	"slices"
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

// TestRestartsAreNoNamesake: an Envoy that is started anew time and again is one gateway.
func TestRestartsAreNoNamesake(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	a, b := newGateway(t, "a", addressOf(v)), newGateway(t, "b", addressOf(v))
	decisions := func(g *gateway) (n int) {
		for _, e := range g.others() {
			if strings.HasPrefix(e, "d") {
				n++
			}
		}
		return n
	}
	wait := func(g *gateway, n int) {
		t.Helper()
		harness.WaitFor(t, limit, fmt.Sprintf("%s to have %d decisions of the other one", g.name, n),
			func() (bool, string) {
				got := decisions(g)
				return got == n, fmt.Sprint(got)
			})
	}
	for n := 1; n <= namesakeTurns+2; n++ {
		a.decide()
		wait(b, n)
		b.decide() // which a reads behind its own
		a.seen = nil
		harness.WaitFor(t, limit, "the last decision", func() (bool, string) {
			got := a.others()
			return slices.Contains(got, fmt.Sprint("d", n)), fmt.Sprint(got)
		})
		a.Restart()
	}
	if got := a.member.Now(time.Now()).Failures; len(got) > 0 {
		t.Errorf("after %d restarts: %v, want no word of another gateway", namesakeTurns+2, got)
	}
}
