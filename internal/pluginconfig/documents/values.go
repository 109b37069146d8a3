package documents

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

func (g *Generator) chance(p float64) bool { return g.random.Float64() < p }

func pick[T any](g *Generator, from ...T) T { return from[g.random.IntN(len(from))] }

func written(value string) json.RawMessage { return json.RawMessage(value) }

// odd draws a value that is wrong at most keys, or hard to write in YAML.
func (g *Generator) odd() any {
	return pick[any](g, nil, true, 0, -1, 1, 2.5, -1e300, "", "x", "0", "1s", []any{}, []any{nil}, map[string]any{},
		map[string]any{"a": 1}, written("99999999999999999999"), written("1e3"), written("1.0"), written("-0"),
		written("1e400"), written("5000000000"), written("9223372036854775807"), written("-9223372036854775808"),
		"ä ö", "a\nb", "a: b #c", "null", "true", "~", "-", "0x10", "1_000", "2001-01-01", "12:30:00", "é\u2028",
		"\u0000", "😀", "<<", "*a", "=", "y", strings.Repeat("long ", 40))
}

// value draws what stands at a key.
func (g *Generator) value(k *Key) any {
	if g.chance(g.wrong) {
		return g.odd()
	}
	switch k.kind {
	case boolean:
		return g.chance(0.5)
	case integer:
		return g.integer(k)
	case number:
		return g.number(k)
	case duration:
		least, _ := time.ParseDuration(k.least)
		return pick(g, max(least, time.Millisecond).String(), "1.5s", "2m30s", "0.25h", "10000000µs", "+5s", "2540400h")
	case choice:
		return pick(g, k.allowed...)
	case object:
		return g.Object(k.keys, 0.5)
	case objects:
		return many(g, 2, func() any { return g.Object(k.keys, 0.8) })
	case texts:
		return many(g, 3, func() any { return g.text(k.Name) })
	case textsByName:
		m := map[string]any{}
		for range g.random.IntN(3) {
			m[g.text("key")] = g.text(k.Name)
		}
		return m
	}
	return g.text(k.Name)
}

func many(g *Generator, most int, draw func() any) []any {
	list := []any{}
	for range g.random.IntN(most + 1) {
		list = append(list, draw())
	}
	return list
}

// Object draws an object that has each of the keys with a chance.
func (g *Generator) Object(keys []*Key, share float64) map[string]any {
	m := map[string]any{}
	for _, k := range keys {
		if g.chance(share) {
			m[k.Name] = g.value(k)
		}
	}
	if g.chance(g.wrong / 4) {
		m[pick(g, "unknown", "Type", "nam", "a.b", "", "a\nb")] = g.odd()
	}
	return m
}

func (g *Generator) integer(k *Key) any {
	least, _ := strconv.ParseInt(k.least, 10, 64)
	most, _ := strconv.ParseInt(k.most, 10, 64)
	if g.chance(g.wrong) {
		return pick[any](g, written(strconv.FormatUint(uint64(most)+1, 10)), least-1, int64(math.MaxInt32)+1)
	}
	within := func(n int64) int64 { return max(least, min(most, n)) }
	return pick(g, least, most, within(g.random.Int64N(100)), within(g.random.Int64N(5000)))
}

func (g *Generator) number(k *Key) any {
	least, _ := strconv.ParseFloat(k.least, 64)
	most, _ := strconv.ParseFloat(k.most, 64)
	if g.chance(g.wrong) {
		return pick[any](g, math.Max(least-1, -1e308), math.Min(most+1, 1e308))
	}
	f := pick(g, least, 0.5, float64(g.random.IntN(100))/10, 1, 1000, most)
	return math.Max(least, math.Min(most, f))
}

// usual are texts that may be right at keys with a word in their names. The first that fits counts.
var usual = []struct {
	words string
	texts []string
}{
	{"path file dir", []string{"list.yaml", "/metrics", "/nowhere"}},
	{"header strip cookie", []string{"x-a", "X-Session-ID", "x-user-id", "routing-strategy"}},
	{"label key", []string{"zone", "llm-d.ai/role", "mif.moreh.io/role", "tier"}},
	{"values", []string{"a", "b", "decode", "prefill"}},
	{"address endpoint", []string{"127.0.0.1:6379", "redis://a:1", "tcp://*:0", "tcp://a"}},
	{"spec", []string{"vllm:num_requests_waiting", `m{a="b"}`, "{"}},
	{"url uri", []string{"http://a:8000", "mongodb://a:1/x"}},
	{"interval timeout", []string{"1s", "2m", "5"}},
	{"size", []string{"1Gi", "500MB", "1000000"}},
	{"expression condition", []string{"usage.prompt_tokens", "1", "usage.completion_tokens > 5", "usage.a +"}},
	{"model tokenizer", []string{"m", "a", "llama"}},
	{"attribute", []string{"WaitingQueueSize", "KVCacheUsagePercent", "GPUUtilization/dcgm-extractor"}},
	{"token password", []string{"secret-token", "short"}},
}

// text draws a text for a key of a name.
func (g *Generator) text(key string) string {
	lower := strings.ToLower(key)
	has := func(words string) bool {
		for word := range strings.FieldsSeq(words) {
			if strings.Contains(lower, word) {
				return true
			}
		}
		return false
	}
	if len(g.plugins) > 0 && has("plugin producer decider") && g.chance(0.9) {
		return pick(g, g.plugins...)
	}
	if len(g.profiles) > 0 && has("profile decode prefill encode default") && g.chance(0.9) {
		return pick(g, g.profiles...)
	}
	for _, u := range usual {
		if has(u.words) {
			return pick(g, u.texts...)
		}
	}
	return pick(g, "a", "b", "m", "gpu", "zone", "x-a", "decode", "prefill", "approx-prefix-cache-producer")
}
