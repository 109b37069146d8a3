package replicate

import (
	"math/rand/v2"
	"testing"
)

// TestWindow compares with a set: of the last windowBits numbers each is admitted once, and none before them.
func TestWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var w window
		seen, end := map[uint64]bool{}, uint64(0)
		at := random.Uint64N(1 << 20)
		for range 20_000 {
			switch random.IntN(100) {
			case 0:
				at += random.Uint64N(2 * windowBits)
			default:
				at += random.Uint64N(4)
			}
			n := at - min(at, random.Uint64N(1<<random.IntN(18)))
			want := !seen[n] && n+windowBits >= end
			if got := w.admit(n); got != want {
				t.Fatalf("number %d, %d from the end: admitted %v, want %v", n, int64(end-n), got, want)
			}
			seen[n], end = true, max(end, n+1)
		}
	}
}

func TestPeersAreBounded(t *testing.T) {
	all := peers{}
	for i := range 2 * mostGateways {
		p := all.of(string(rune('a'+i%26)) + string(rune(i)))
		for epoch := range uint64(2 * keptLogs) {
			p.log(epoch)
		}
		if len(p.logs) != keptLogs || p.logs[0].epoch != 2*keptLogs-1 {
			t.Fatalf("got %d logs, the first of epoch %d", len(p.logs), p.logs[0].epoch)
		}
	}
	if len(all) != mostGateways {
		t.Errorf("got %d gateways, want %d", len(all), mostGateways)
	}
}
