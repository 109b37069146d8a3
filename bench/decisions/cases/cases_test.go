package cases

import "testing"

func TestPiecesDoNotAllocate(t *testing.T) {
	for _, c := range All {
		t.Run(c.Name, func(t *testing.T) {
			piece := c.Prepare()
			if n := testing.AllocsPerRun(50, piece); n != 0 {
				t.Errorf("got %v allocations, want none", n)
			}
		})
	}
}

// The prefix case finds what it is there to find.
func TestPrefixCaseMatches(t *testing.T) {
	b := newBench(onlyPrefix, endpoints)
	fillPrefixes(b)
	b.decide()
	for i := range b.cycle.Pool.Endpoints {
		want := (1 + i*(blocks-1)/(endpoints-1)) * 16
		if got := b.cycle.CachedTokens(&b.cycle.Pool.Endpoints[i]); got != want {
			t.Errorf("endpoint %d: got %d cached tokens, want %d", i, got, want)
		}
	}
}
