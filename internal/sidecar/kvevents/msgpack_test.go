package kvevents

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shamaton/msgpack/v2"
)

// TestMsgpack reads what another implementation has written of random values.
func TestMsgpack(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		want := randomValue(random, 4)
		b, err := msgpack.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{b: b}
		got := anyOf(t, r)
		var theirs any
		if err := msgpack.Unmarshal(b, &theirs); err != nil {
			t.Fatal(err)
		}
		if r.at != len(b) || fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(theirs) != fmt.Sprint(want) {
			t.Fatalf("got %v, want %v (%v)", got, want, theirs)
		}
		r = &reader{b: b}
		if err := r.skip(); err != nil || r.at != len(b) {
			t.Fatalf("skip: got %v at %d of %d", err, r.at, len(b))
		}
		for cut := range len(b) {
			if err := (&reader{b: b[:cut]}).skip(); err == nil {
				t.Fatalf("%x: no error when cut at %d", b, cut)
			}
		}
	}
}

func randomValue(random *rand.Rand, depth int) any {
	switch n := random.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return random.IntN(2) == 0
	case n == 2:
		return int64(random.Uint64()) >> random.IntN(64)
	case n == 3:
		return random.Uint64() >> random.IntN(64)
	case n == 4:
		return random.NormFloat64()
	case n == 5:
		return strings.Repeat("x", random.IntN(300))
	case depth <= 0:
		return "leaf"
	case n < 8:
		list := make([]any, random.IntN(20))
		for i := range list {
			list[i] = randomValue(random, depth-2)
		}
		return list
	}
	return map[string]any{"key": randomValue(random, depth-1)}
}

// anyOf reads a whole value.
func anyOf(t *testing.T, r *reader) any {
	t.Helper()
	v, err := r.next()
	if err != nil {
		t.Fatal(err)
	}
	switch v.kind {
	case kindBool:
		return v.n == 1
	case kindUint:
		return v.n
	case kindInt:
		return int64(v.n)
	case kindFloat:
		return math.Float64frombits(v.n)
	case kindString:
		return string(v.bytes)
	case kindArray:
		list := make([]any, v.n)
		for i := range list {
			list[i] = anyOf(t, r)
		}
		return list
	case kindMap:
		all := map[string]any{}
		for range v.n {
			key := fmt.Sprint(anyOf(t, r))
			all[key] = anyOf(t, r)
		}
		return all
	}
	return nil
}
