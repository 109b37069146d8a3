package kvevents

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shamaton/msgpack/v2"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// captured is one message of a real engine, with what another reader makes of it.
type captured struct {
	Capture string            `json:"capture"`
	Frames  []string          `json:"frames"`
	Batch   []json.RawMessage `json:"batch"`
}

func captures(t testing.TB) []captured {
	t.Helper()
	file, err := os.Open("testdata/vllm-0.32.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []captured
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c captured
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func (c *captured) payload(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(c.Frames[len(c.Frames)-1])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// said is an event as the other reader writes it. Hashes are numbers or {"hex": ...}.
type said struct {
	Type        string            `json:"type"`
	BlockHashes []json.RawMessage `json:"block_hashes"`
	Parent      json.RawMessage   `json:"parent_block_hash"`
	TokenIDs    []uint32          `json:"token_ids"`
	BlockSize   int               `json:"block_size"`
	LoraName    string            `json:"lora_name"`
	ExtraKeys   [][]string        `json:"extra_keys"`
	GroupIdx    *int              `json:"group_idx"`
}

func hashOf(t *testing.T, raw json.RawMessage) uint64 {
	t.Helper()
	var n uint64
	if json.Unmarshal(raw, &n) == nil {
		return n
	}
	var long struct{ Hex string }
	if err := json.Unmarshal(raw, &long); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(long.Hex[len(long.Hex)-16:], "%x", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCaptured decodes what a real vLLM has published, and holds it against what msgspec made of the same bytes.
func TestCaptured(t *testing.T) {
	events := 0
	for _, c := range captures(t) {
		if c.Batch == nil {
			continue
		}
		var want []said
		if err := json.Unmarshal(c.Batch[1], &want); err != nil {
			t.Fatal(err)
		}
		var d decoder
		n := 0
		payload := c.payload(t)
		b, err := d.decode(payload, func(e *event) {
			compare(t, e, want[n])
			n++
		})
		if rank := peekRank(payload); err != nil || b.skipped != 0 || n != len(want) ||
			fmt.Sprint(rank) != string(c.Batch[2]) || b.at < 1e9 {
			t.Errorf("%s: got %d events of rank %d and %+v, %v, want %d", c.Capture, n, rank, b, err, len(want))
		}
		events += n
	}
	if events < 60 {
		t.Errorf("got %d events in all, too few", events)
	}
}

func compare(t *testing.T, e *event, want said) {
	t.Helper()
	kinds := map[string]eventKind{"BlockStored": stored, "BlockRemoved": removed, "AllBlocksCleared": cleared}
	if e.kind != kinds[want.Type] || len(e.hashes) != len(want.BlockHashes) || !slices.Equal(e.tokens, want.TokenIDs) ||
		e.blockTokens != want.BlockSize || e.lora != want.LoraName || e.tier != kvindex.GPU || !e.full {
		t.Fatalf("got %+v, want %+v", e, want)
	}
	for i, raw := range want.BlockHashes {
		if got := e.hashes[i]; got != hashOf(t, raw) {
			t.Fatalf("hash %d: got %d, want %s", i, got, raw)
		}
	}
	if parent := string(want.Parent); parent != "" && parent != "null" &&
		(!e.hasParent || e.parent != hashOf(t, want.Parent)) || e.hasParent && (parent == "" || parent == "null") {
		t.Fatalf("parent: got %v %d, want %s", e.hasParent, e.parent, parent)
	}
	if want.GroupIdx != nil && e.group != *want.GroupIdx {
		t.Fatalf("group: got %d, want %d", e.group, *want.GroupIdx)
	}
	for i, names := range want.ExtraKeys {
		if !slices.Equal(e.extra[i], names) {
			t.Fatalf("extra keys of block %d: got %q, want %q", i, e.extra[i], names)
		}
	}
}

// m is a map in an order.
type m []any

func encode(t testing.TB, v any) []byte {
	t.Helper()
	pairs, ordered := v.(m)
	if !ordered {
		list, isList := v.([]any)
		if !isList {
			b, err := msgpack.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		b := []byte{0x90 | byte(len(list))}
		for _, one := range list {
			b = append(b, encode(t, one)...)
		}
		return b
	}
	b := []byte{0x80 | byte(len(pairs)/2)}
	for _, one := range pairs {
		b = append(b, encode(t, one)...)
	}
	return b
}

// TestForms decodes each form that engines have used, and what none has.
func TestForms(t *testing.T) {
	type list = []any
	tokens := list{1, 2, 3, 4}
	good := event{kind: stored, hashes: []uint64{7, 8}, tokens: []uint32{1, 2, 3, 4}, blockTokens: 2, group: -1,
		full: true}
	with := func(change func(e *event)) *event {
		e := good
		change(&e)
		return &e
	}
	removal := func(tier kvindex.Tier, group int, hashes ...uint64) *event {
		return &event{kind: removed, hashes: hashes, tier: tier, group: group, full: true}
	}
	tests := []struct {
		name  string
		event any
		want  *event // nil for one that is passed over
	}{
		{"the shortest", list{"BlockStored", list{7, 8}, nil, tokens, 2}, &good},
		{"SGLang's", list{"BlockStored", list{7, 8}, nil, tokens, 2, nil}, &good},
		{"with a parent", list{"BlockStored", list{7, 8}, 6, tokens, 2, nil, "CPU"},
			with(func(e *event) { e.parent, e.hasParent, e.tier = 6, true, kvindex.CPU })},
		{"an adapter without a name", list{"BlockStored", list{7, 8}, nil, tokens, 2, 3, "GPU"},
			with(func(e *event) { e.loraID = 3 })},
		{"all and more", list{"BlockStored", list{7, 8}, nil, tokens, 2, 3, "DISK", "l", list{list{"l", "s"}, nil}, 1,
			"sliding_window", 4096, "LOCAL", "x", "y"}, with(func(e *event) {
			e.loraID, e.lora, e.tier, e.group, e.full = 3, "l", kvindex.Disk, 1, false
			e.extra = [][]string{{"l", "s"}, {}}
		})},
		{"media with their places", list{"BlockStored", list{7, 8}, nil, tokens, 2, nil, "GPU", nil,
			list{list{list{"img", 1}, "s"}, list{list{}, m{"a", 1}, 5}}}, with(func(e *event) {
			e.extra = [][]string{{"img", "s"}, {}}
		})},
		{"media behind their blocks", list{"BlockStored", list{7, 8}, nil, tokens, 2, nil, "GPU", nil,
			list{list{list{"img", 2}, "s"}, list{list{"img", int64(-1)}, list{"next", 1}}}}, with(func(e *event) {
			e.extra = [][]string{{"s"}, {"img", "next"}}
		})},
		{"a map", m{"type", "BlockStored", "block_hashes", list{7, 8}, "parent_block_hash", nil, "token_ids", tokens,
			"block_size", 2, "new", m{"x", list{1}}, "kv_cache_spec_kind", "mla_attention"}, &good},
		{"a map with a window", m{"type", "BlockStored", "block_hashes", list{7, 8}, "token_ids", tokens,
			"block_size", 2, "kv_cache_spec_kind", "sliding_window_mla"}, with(func(e *event) { e.full = false })},
		{"a map with its type at the end", m{"token_ids", tokens, "block_size", 2, "block_hashes", list{7, 8}, "type",
			"BlockStored"}, &good},
		{"SGLang's with a salt", m{"type", "BlockStored", "block_hashes", list{7, 8}, "parent_block_hash", nil,
			"token_ids", tokens, "block_size", 2, "lora_id", nil, "medium", "GPU", "cache_salt", "s", "lora_name", "l"},
			with(func(e *event) { e.lora, e.salt, e.extra = "l", "s", [][]string{{"s"}} })},
		{"SGLang's with a salt and a parent", m{"type", "BlockStored", "block_hashes", list{7, 8}, "parent_block_hash",
			6, "token_ids", tokens, "block_size", 2, "cache_salt", "s", "session_id", "x"},
			with(func(e *event) { e.parent, e.hasParent, e.salt = 6, true, "s" })},
		{"a number for a salt", m{"type", "BlockStored", "block_hashes", list{7}, "token_ids", list{1}, "block_size", 1,
			"cache_salt", 5}, nil},
		{"bytes for hashes", list{"BlockStored", list{[]byte{0, 0, 0, 0, 0, 0, 0, 0, 7}, []byte{8}}, nil, tokens, 2},
			&good},
		{"a negative hash", list{"BlockRemoved", list{int64(-1)}}, removal(kvindex.GPU, -1, math.MaxUint64)},
		{"removed", list{"BlockRemoved", list{7}, "CPU_PINNED", 2}, removal(kvindex.CPU, 2, 7)},
		{"moved", list{"BlockStored", list{7, 8}, nil, list{}, 2, nil, "STORAGE"},
			with(func(e *event) { e.tokens, e.tier = nil, kvindex.Disk })},
		{"cleared", list{"AllBlocksCleared"}, &event{kind: cleared, group: -1, full: true}},
		{"cleared, a map", m{"type", "AllBlocksCleared"}, &event{kind: cleared, group: -1, full: true}},
		{"unknown", list{"BlockMoved", list{7}}, nil},
		{"an unknown map", m{"type", "BlockMoved"}, nil},
		{"a map without a type", m{"block_hashes", list{7}}, nil},
		{"a number", 3, nil},
		{"nothing", list{}, nil},
		{"too few tokens", list{"BlockStored", list{7, 8}, nil, list{1, 2, 3}, 2}, nil},
		{"no size", list{"BlockStored", list{7, 8}, nil, tokens}, nil},
		{"a size of zero", list{"BlockStored", list{7, 8}, nil, tokens, 0}, nil},
		{"SGLang's with EAGLE", m{"type", "BlockStored", "block_hashes", list{7, 8}, "token_ids",
			list{list{1, 2}, list{2, 3}, list{3, 4}, list{4, 5}}, "block_size", 2}, &good},
		{"lists of three for tokens", list{"BlockStored", list{7}, nil, list{list{1, 2, 3}, list{2, 3, 4}}, 2}, nil},
		{"pairs that end in a text", list{"BlockStored", list{7}, nil, list{list{1, "a"}, list{2, "b"}}, 2}, nil},
		{"pairs of lists", list{"BlockStored", list{7}, nil, list{list{list{1}, 2}, list{list{2}, 3}}, 2}, nil},
		{"a huge token", list{"BlockStored", list{7}, nil, list{1, uint64(1) << 40}, 2}, nil},
		{"an empty hash", list{"BlockRemoved", list{[]byte{}}}, nil},
		{"a text for a hash", list{"BlockRemoved", list{"seven"}}, nil},
		{"no list of hashes", list{"BlockRemoved", 7}, nil},
		{"a list for a kind", m{"type", "BlockRemoved", "block_hashes", list{7}, "kv_cache_spec_kind", list{1, 2}},
			nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			// What comes before and behind is read, whatever the event is.
			events := list{list{"BlockRemoved", list{1}}, tc.event, list{"BlockRemoved", list{2}}}
			payload := encode(t, list{1.5, events, 5})
			var got []event
			var d decoder
			b, err := d.decode(payload, func(e *event) {
				one := *e
				one.hashes, one.tokens = slices.Clone(e.hashes), slices.Clone(e.tokens)
				one.extra = slices.Clone(e.extra)
				got = append(got, one)
			})
			want := []event{*removal(kvindex.GPU, -1, 1)}
			if tc.want != nil {
				want = append(want, *tc.want)
			}
			want = append(want, *removal(kvindex.GPU, -1, 2))
			if err != nil || peekRank(payload) != 5 || b.at != 1.5 || b.events != len(want) ||
				b.skipped != 3-len(want) || plain(got) != plain(want) {
				t.Errorf("got %+v, %v and\n%s, want\n%s", b, err, plain(got), plain(want))
			}
		})
	}
}

// plain writes events so that nil and empty are the same.
func plain(events []event) string {
	text := ""
	for _, e := range events {
		text += strings.ReplaceAll(fmt.Sprintf("%+v\n", e), "<nil>", "[]")
	}
	return text
}

func TestNoBatch(t *testing.T) {
	for name, payload := range map[string][]byte{
		"nothing": {}, "a number": {5}, "a short list": {0x91, 1}, "no time": {0x92, 0xc0, 0x90},
		"no events": {0x92, 1, 2}, "a huge list": {0x92, 1, 0xdd, 0xff, 0xff, 0xff, 0xff},
		"a huge map":  {0x92, 1, 0x91, 0xdf, 0xff, 0xff, 0xff, 0xff},
		"a huge text": {0x92, 1, 0x91, 0xdb, 0xff, 0xff, 0xff, 0xff},
		"cut short":   {0x92, 1, 0x92, 0x91, 0xa1, 'x'}, "no such type": {0x92, 1, 0x91, 0xc1},
	} {
		var d decoder
		if b, err := d.decode(payload, func(*event) {}); err == nil {
			t.Errorf("%s: got %+v and no error", name, b)
		}
	}
}

// TestDeep: what is nested without end takes no stack.
func TestDeep(t *testing.T) {
	payload := append([]byte{0x92, 1, 0x92}, slices.Repeat([]byte{0x91}, 1<<20)...)
	payload = append(payload, 5)
	payload = append(payload, encode(t, []any{"BlockRemoved", []any{2}})...)
	var d decoder
	if b, err := d.decode(payload, func(*event) {}); err != nil || b.events != 1 || b.skipped != 1 {
		t.Errorf("got %+v, %v", b, err)
	}
}

// TestBounds: an event with more than there may be is passed over, and takes no memory to speak of.
func TestBounds(t *testing.T) {
	hashes := append([]byte{0xdd, 0, 2, 0, 1}, make([]byte, maxBlocks+1)...)
	payload := append([]byte{0x92, 1, 0x91, 0x92}, kvpub.AppendString(nil, "BlockRemoved")...)
	var d decoder
	if b, err := d.decode(append(payload, hashes...), func(*event) {}); err != nil || b.skipped != 1 {
		t.Errorf("got %+v, %v", b, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range captures(f) {
		if payload := c.payload(f); len(payload) < 4000 {
			f.Add(payload)
		}
	}
	parent := uint64(3)
	events := []kvpub.Event{
		{Kind: "BlockStored", Hashes: []uint64{1, 2}, Parent: &parent, Tokens: []uint32{1, 2}, BlockTokens: 1,
			Lora: "l", Extra: [][]string{{"s"}}},
		{Kind: "BlockRemoved", Hashes: []uint64{1}}, {Kind: "AllBlocksCleared"},
	}
	for _, form := range []kvpub.Form{kvpub.Maps, kvpub.Arrays, kvpub.SGLang, kvpub.Short} {
		f.Add(kvpub.AppendBatch(nil, form, 1, 0, events))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var d decoder
		n := 0
		b, _ := d.decode(payload, func(e *event) {
			n++
			if !e.plausible() || len(e.tokens) > len(payload) || len(e.hashes) > len(payload) ||
				len(e.extra) > len(payload) {
				t.Fatalf("got %+v", e)
			}
		})
		if n != b.events || peekRank(payload) >= maxRanks || b.events+b.skipped > len(payload) {
			t.Fatalf("got %d events of rank %d and %+v", n, peekRank(payload), b)
		}
	})
}

func TestPeekRank(t *testing.T) {
	for _, tc := range []struct {
		payload any
		want    int
	}{{[]any{1.0, []any{}, 3}, 3}, {[]any{1.0, []any{}}, 0}, {[]any{1.0, []any{}, nil}, 0}, {7, 0}} {
		if got := peekRank(encode(t, tc.payload)); got != tc.want {
			t.Errorf("%v: got %d, want %d", tc.payload, got, tc.want)
		}
	}
}
