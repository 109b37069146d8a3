package kvindex

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestReadField: what fieldOf writes is read, and nothing else.
func TestReadField(t *testing.T) {
	for _, p := range []Publisher{{"default/a", 0}, {"a|b", MaxRanks - 1}, {"", 7}} {
		for tier := range Tier(Tiers) {
			f, ok := readField(fieldOf("abc", p, tier))
			if want := (holderField{"abc", strconv.Itoa(p.Rank), p.Endpoint, p.Rank, tier}); !ok || f != want {
				t.Errorf("got %+v, %v, want %+v", f, ok, want)
			}
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "no endpoint": "i|0|0", "no rank": "i||0|a", "a rank below": "i|-1|0|a",
		"a rank above": "i|256|0|a", "a rank with a sign": "i|+1|0|a", "a rank with a zero": "i|01|0|a",
		"no tier": "i|0||a", "a tier above": "i|0|3|a", "a long tier": "i|0|00|a", "a text for a tier": "i|0|x|a",
		"too long": "i|0|0|" + strings.Repeat("a", maxField),
	} {
		if f, ok := readField(text); ok {
			t.Errorf("%s: got %+v, want it passed over", name, f)
		}
	}
}

// TestReadMember: only what is in the hash of a block's key is deleted by what a set says.
func TestReadMember(t *testing.T) {
	field := fieldOf("abc", Publisher{"a b", 1}, CPU)
	if name, got, ours := readMember(keyName(77) + " " + field); name != keyName(77) || got != field || !ours {
		t.Errorf("got %q, %q, %v, want a field of ours", name, got, ours)
	}
	for _, member := range []string{"", keyName(77), "session x", heardName + " 0|a", keyPrefix + " x",
		keyPrefix + "00 x", keyPrefix + "4D x", keyPrefix + "-1 x", keyPrefix + "11111111111111111 x",
		remotePrefix + "live:a x"} {
		if name, _, ours := readMember(member); ours {
			t.Errorf("%q: got %q for ours", member, name)
		}
	}
}

// TestReadHeard: what no sidecar writes is not kept.
func TestReadHeard(t *testing.T) {
	said := map[string]string{"0|a": "i", "0|b": strings.Repeat("i", maxField)}
	for i := range 2 * maxFields {
		said[fmt.Sprint("0|", i)] = "i"
	}
	if got := len(readHeard(said)); got != maxFields {
		t.Errorf("got %d publishers, want %d", got, maxFields)
	}
	if got := readHeard(map[string]string{"0|a": "i", "0|b": strings.Repeat("i", maxField)}); len(got) != 1 {
		t.Errorf("got %d publishers, want 1", len(got))
	}
}

// stranger asks for what is in Redis, whatever that is.
func stranger() *remote { return &remote{memory: newMemory(DefaultWeights, DefaultSize, time.Second)} }

// TestManyFields: what holds a later block alone takes no memory, and of too many holders some are looked at.
func TestManyFields(t *testing.T) {
	known := &others{live: map[string]bool{"i": true}}
	asked := map[string]bool{}
	var fields []string
	for n := range 3 * maxFields / 2 {
		name := fmt.Sprint("e", n)
		asked[name] = true
		fields = append(fields, fieldOf("i", Publisher{name, 0}, GPU))
	}
	r, runs := stranger(), map[string]*run{}
	if !r.stepFields(runs, 0, fields[:10], asked, known) || len(runs) != 10 {
		t.Errorf("got %d holders of the first block, want 10", len(runs))
	}
	if !r.stepFields(runs, 1, fields, asked, known) || len(runs) != 10 {
		t.Errorf("got %d holders with those of the second block alone, want 10", len(runs))
	}
	runs = map[string]*run{}
	if r.stepFields(runs, 0, fields, asked, known); len(runs) != maxFields {
		t.Errorf("got %d holders, want %d", len(runs), maxFields)
	}
}

// FuzzRemote: whatever others have written to Redis, answers are of endpoints that were asked for, no block counts
// twice, and nothing but blocks' keys is deleted. Each line is a key's fields.
func FuzzRemote(f *testing.F) {
	a, b := Publisher{"a", 0}, Publisher{"b", 3}
	f.Add(fieldOf("i", a, GPU)+"\x00"+fieldOf("i", a, CPU)+"\n"+fieldOf("i", a, Disk), "0|a\x00i",
		keyName(5)+" "+fieldOf("i", a, GPU))
	f.Add(fieldOf("i", a, GPU)+"\x00"+fieldOf("j", b, CPU)+"\n"+fieldOf("j", b, GPU), "3|b\x00j\x000|a\x00gone",
		"session x")
	f.Add("i|999|0|a\x00i|01|0|a\ni|-1|0|a\x00i|0|9|a\n||||", "\x00", keyPrefix)
	f.Add("i|0|0|a\x00i|0|1|a\x00j|3|0|b\ni|0|0|a", "3|b\x00j", "")
	f.Add("|||\x00i|x|9|a\x00i|-1|-1|a\x00i|0|0|a|b\n\x00", "", " ")
	f.Add("dead|0|0|a\ni|0|0|a\x00i|00|0|a", "0|a\x00dead", keyPrefix+"0 ")
	f.Fuzz(func(t *testing.T, hashes, heard, member string) {
		if len(hashes)+len(heard) > 1<<16 {
			return
		}
		words, said := strings.Split(heard, "\x00"), map[string]string{}
		for i := 0; i+1 < len(words); i += 2 {
			said[words[i]] = words[i+1]
		}
		known := &others{live: map[string]bool{"i": true, "j": true, "": true}, heard: readHeard(said)}
		asked := map[string]bool{"a": true, "b": true, "": true}
		r, runs, first := stranger(), map[string]*run{}, 0
		lines := strings.Split(hashes, "\n")
		for i, line := range lines {
			fields := strings.Split(line, "\x00")
			if i == 0 {
				first = len(fields)
			}
			if !r.stepFields(runs, i, fields, asked, known) {
				break
			}
		}
		hits := bestOf(runs)
		for _, hit := range hits {
			total, worth := 0, 0.0
			for tier, n := range hit.ByTier {
				total += n
				worth += float64(n) * r.weights[tier]
			}
			if !asked[hit.Endpoint] || hit.Rank < 0 || hit.Rank >= MaxRanks || hit.Blocks < 1 ||
				hit.Blocks > len(lines) || total != hit.Blocks || !(math.Abs(worth-hit.Score) <= 1e-6) {
				t.Fatalf("got %+v of %d keys", hit, len(lines))
			}
		}
		if len(hits) > len(asked) || len(runs) > first {
			t.Fatalf("got %d hits and %d runs (%v) of %d fields", len(hits), len(runs), slices.Collect(maps.Keys(runs)),
				first)
		}
		if name, field, ours := readMember(member); ours &&
			(!strings.HasPrefix(name, keyPrefix) || name+" "+field != member || len(name) > len(keyPrefix)+16) {
			t.Fatalf("got %q, %q of %q", name, field, member)
		}
	})
}
