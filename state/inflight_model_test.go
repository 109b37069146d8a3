package state

import (
	"math/rand/v2"
	"testing"
)

// naiveLease is a lease in a map.
type naiveLease struct {
	time      int64
	model     uint64
	endpoints []uint64
}

type leaseKey struct {
	instance uint64
	number   uint32
}

func TestInFlightLikeAMap(t *testing.T) {
	const timeout, endpoints = 1000, 6
	r := rand.New(rand.NewPCG(11, 12))
	f, p := newInFlight(timeout, 0, endpoints)
	f.Watch([]uint64{1, 2, 3})
	open := map[leaseKey]naiveLease{}
	now := int64(1_000_000)
	for step := range 50_000 {
		now += r.Int64N(10)
		at := now - r.Int64N(50)
		key := leaseKey{1 + r.Uint64N(3), uint32(r.IntN(200)) - 100}
		e := decision(at, key.number, 1+r.Uint64N(endpoints+1), r.Uint64N(endpoints+1))
		e.Instance, e.Model = key.instance, r.Uint64N(5)
		for range r.IntN(4) {
			e.Encode = append(e.Encode, r.Uint64N(endpoints+2))
		}
		switch c := r.IntN(1000); {
		case c < 500:
			f.Open(e, p)
			open[key] = naiveLease{at, e.Model, append([]uint64{e.Primary, e.Prefill}, e.Encode...)}
		case c < 950:
			f.Close(e)
			delete(open, key)
		case c < 955:
			f.DropInstance(key.instance)
			for k := range open {
				if k.instance == key.instance {
					delete(open, k)
				}
			}
		default:
			f.Expire(now)
			for k, l := range open {
				if l.time+timeout <= now {
					delete(open, k)
				}
			}
		}
		if step%16 == 0 {
			compareInFlight(t, step, f, open, now-r.Int64N(300), endpoints)
		}
	}
}

func compareInFlight(t *testing.T, step int, f *InFlight, open map[leaseKey]naiveLease, since int64, endpoints int) {
	t.Helper()
	count, young, ofModel := make([]int, endpoints), make([]int, endpoints), [5]int{}
	for _, l := range open {
		ofModel[l.model]++
		for _, id := range l.endpoints {
			if id == 0 || id > uint64(endpoints) {
				continue
			}
			count[id-1]++
			if l.time > since {
				young[id-1]++
			}
		}
	}
	if got := f.Leases(); got != len(open) {
		t.Fatalf("step %d: got %d leases, want %d", step, got, len(open))
	}
	if got, want := [3]int{f.OfModel(0), f.OfModel(1), f.OfModel(2)}, [3]int(ofModel[1:4]); got != want {
		t.Fatalf("step %d: got %v in flight by model, want %v", step, got, want)
	}
	for i := range endpoints {
		if got := f.InFlight(i); got != count[i] {
			t.Fatalf("step %d, endpoint %d: got %d in flight, want %d", step, i, got, count[i])
		}
		if got := f.OpenSince(i, since); count[i] <= RecentTimes && got != young[i] {
			t.Fatalf("step %d, endpoint %d: got %d open since %d, want %d", step, i, got, since, young[i])
		}
	}
}
