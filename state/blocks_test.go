package state

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/openai"
)

var fox = strings.Repeat("The quick brown fox jumps over the lazy dog. ", 10)

func scanned(t testing.TB, api openai.API, body string) *openai.Request {
	t.Helper()
	r := new(openai.Request)
	if err := r.Scan(api, []byte(body)); err != nil {
		t.Fatalf("scan of %.80q: %v", body, err)
	}
	return r
}

// hashes are the blocks of a body for its own model.
func hashes(t testing.TB, api openai.API, body string, blockTokens, maxBlocks int) []uint64 {
	t.Helper()
	r := scanned(t, api, body)
	return new(Hasher).Blocks(nil, r.Model, r, []byte(body), blockTokens, maxBlocks)
}

// escaped is s as a JSON string in which every character is escaped.
func escaped(s string) string {
	var b strings.Builder
	for _, c := range s {
		b.WriteString(`\u`)
		b.WriteString(string([]byte{"0123456789abcdef"[c>>12&15], "0123456789abcdef"[c>>8&15],
			"0123456789abcdef"[c>>4&15], "0123456789abcdef"[c&15]}))
	}
	return `"` + b.String() + `"`
}

// TestBlocksOfCompletions checks hashes that were computed by an implementation of XXH64 of its own.
func TestBlocksOfCompletions(t *testing.T) {
	foxes := []uint64{0x1e36fa827caedac6, 0x22de1ac286d372d6, 0xfab282201f9ca5b1, 0xfe43274d205fa99f,
		0xe9f7cce0b9bd8458, 0xa0971a6f08b81295, 0xa6689ae6e3150fee}
	tests := []struct {
		name, body  string
		blockTokens int
		maxBlocks   int
		want        []uint64
	}{
		{"plain", `{"model":"m","prompt":"` + fox + `"}`, 16, 256, foxes},
		{"escaped", `{"model":"m","prompt":` + escaped(fox) + `}`, 16, 256, foxes},
		{"in an array", `{"prompt":["` + fox + `"],"model":"m"}`, 16, 256, foxes},
		{"cut", `{"model":"m","prompt":"` + fox + `"}`, 16, 3, foxes[:3]},
		{"cut and escaped", `{"model":"m","prompt":` + escaped(fox) + `}`, 16, 3, foxes[:3]},
		{"salt", `{"cache_salt":"s","model":"m","prompt":"` + fox + `"}`, 16, 256, []uint64{
			0x2912c076dd971ba0, 0xf3e91bc79ea48be8, 0x8827a3c8b9b9c5a0, 0x863bdeaefd284ce6, 0xbf8899c4b663335e,
			0x2fa4cc3c884e329d, 0xedf87553836874a3,
		}},
		{"blocks of one token", `{"model":"test-model1","prompt":"aaaaaabbbbbb` + strings.Repeat("c", 20) + `"}`, 1, 4,
			[]uint64{
				0xcc8952e70e1c4504, 0xf1e4d892d7091e95, 0x0d18c7102f20cf68, 0xbbf3819e5118f1e6,
			}},
		{"too short", `{"model":"m","prompt":"` + fox[:63] + `"}`, 16, 256, nil},
		{"just long enough", `{"model":"m","prompt":"` + fox[:64] + `"}`, 16, 256, foxes[:1]},
		{"no prompt", `{"model":"m"}`, 16, 256, nil},
		{"text and token ids", `{"model":"m","prompt":["` + fox[:64] + `",[1,2,3]]}`, 16, 256, foxes[:1]},
		{"no block size", `{"model":"m","prompt":"` + fox + `"}`, 0, 256, nil},
		{"endless blocks", `{"model":"m","prompt":"` + fox + `"}`, math.MaxInt32, 256, nil},
		{"large blocks", `{"model":"m","prompt":"` + fox + `"}`, math.MaxInt32 / 4, math.MaxInt32, nil},
		{"no blocks wanted", `{"model":"m","prompt":"` + fox + `"}`, 16, 0, nil},
		{"all blocks wanted", `{"model":"m","prompt":"` + fox + `"}`, 16, math.MaxInt32, foxes},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := hashes(t, openai.APICompletions, tt.body, tt.blockTokens, tt.maxBlocks); !slices.Equal(got,
				tt.want) {
				t.Errorf("got %x, want %x", got, tt.want)
			}
		})
	}
}

func TestBlocksAppend(t *testing.T) {
	body := `{"model":"m","prompt":"` + fox + `"}`
	r := scanned(t, openai.APICompletions, body)
	got := new(Hasher).Blocks([]uint64{1, 2}, "m", r, []byte(body), 16, 3)
	if want := append([]uint64{1, 2}, hashes(t, openai.APICompletions, body, 16, 3)...); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// bytesOf is what is hashed of a segment.
func bytesOf(r *openai.Request, body []byte, i int) (all []byte) {
	text := r.AppendTextMax(nil, body, i, -1)
	if r.Segments[i].Kind != openai.SegmentTokens {
		return text
	}
	for _, digits := range bytes.FieldsFunc(text, func(c rune) bool { return c < '0' || c > '9' }) {
		id := uint32(0)
		for _, digit := range digits {
			id = id*10 + uint32(digit-'0')
		}
		all = binary.LittleEndian.AppendUint32(all, id)
	}
	return all
}

// TestTokenIDs: prompts of token ids are cut as text of 4 bytes for each, whichever way they are written.
func TestTokenIDs(t *testing.T) {
	text := hashes(t, openai.APICompletions,
		`{"model":"m","prompt":"\u0001\u0000\u0000\u0000\u0000\u0001\u0000\u0000\u0003\u0000\u0000\u0000"}`, 1, 256)
	for _, prompt := range []string{"[1,256,3]", "[[1,256,3]]", "[ 1 ,\n256, 3 ]"} {
		got := hashes(t, openai.APICompletions, `{"model":"m","prompt":`+prompt+`}`, 1, 256)
		if !slices.Equal(got, text) || len(got) != 3 {
			t.Errorf("%s: got %x, want %x", prompt, got, text)
		}
	}
	for _, prompt := range []string{"[90,1987654320,4294967295]", "[" + strings.Repeat("1234567890,", 3000) + "9]"} {
		body := `{"model":"m","prompt":` + prompt + `}`
		r := scanned(t, openai.APICompletions, body)
		for _, size := range []int{1, 16, 1000} {
			want := reference("m", r, []byte(body), size, 9999)
			if got := hashes(t, openai.APICompletions, body, size, 9999); !slices.Equal(got, want) {
				t.Errorf("%.40s in blocks of %d: got %d, want %d as the reference has them", prompt, size, len(got),
					len(want))
			}
		}
	}
	many := "[7" + strings.Repeat(",123456", 5000) + "]"
	long := hashes(t, openai.APICompletions, `{"model":"m","prompt":`+many+`}`, 16, 999)
	if cut := hashes(t, openai.APICompletions, `{"model":"m","prompt":`+many+`}`, 16, 3); len(long) != 5001/16 ||
		!slices.Equal(cut, long[:3]) {
		t.Errorf("got %d blocks of 5,001 ids, and %x of three, want %d and the first of them", len(long), cut, 5001/16)
	}
}

// reference is what Blocks is to return, from all bytes at once.
func reference(model string, r *openai.Request, body []byte, blockTokens, maxBlocks int) (hashes []uint64) {
	var text []byte
	for turn := range 3 {
		for i, s := range r.Segments {
			want := 2
			switch {
			case r.API == openai.APICompletions:
			case s.Kind == openai.SegmentTools:
				want = 0
			case s.Role == openai.RoleSystem && (r.API == openai.APIResponses || r.API == openai.APIMessages):
				want = 1
			}
			if turn != want {
				continue
			}
			if r.API != openai.APICompletions || i > 0 {
				text = append(text, 0xff, byte(s.Kind)<<4|byte(s.Role))
			}
			text = append(text, bytesOf(r, body, i)...)
		}
	}
	salt := r.CacheSalt
	if r.ExtraKey != "" {
		salt += "\xff" + r.ExtraKey
	}
	if r.LoRAPath != "" {
		salt += "\xfe" + r.LoRAPath
	}
	previous := xxhash.Sum64String(model + salt)
	for size := blockTokens * 4; len(text) >= size && len(hashes) < maxBlocks; text = text[size:] {
		previous = xxhash.Sum64(binary.LittleEndian.AppendUint64(slices.Clone(text[:size]), previous))
		hashes = append(hashes, previous)
	}
	return hashes
}

var promptBodies = []struct {
	api  openai.API
	body string
}{
	{openai.APICompletions, `{"model":"m","prompt":["one prompt","and another \n one",""],"cache_salt":"x"}`},
	{openai.APICompletions, `{"model":"m","prompt":"one","cache_salt":"x","extra_key":"y"}`},
	{openai.APIGenerate, `{"text":"one prompt for an adapter","extra_key":"y","lora_path":"l"}`},
	{openai.APICompletions, `{"model":"m","prompt":"a` + strings.Repeat(`\u00e9`, 300) + `"}`},
	{openai.APICompletions, `{"model":"m","prompt":"aa` + strings.Repeat(`\ud83d\ude00`, 200) + `"}`},
	{openai.APIChat,
		`{"model":"m","messages":[{"role":"system","content":"be \"kind\" 😀 \ud83d\ude00"},{"role":"user","content":[{"type":"text","text":"what is this"},{"type":"image_url","image_url":{"url":"http://a/b.png"}}]},{"role":"assistant","tool_calls":[{"id":"1"}]}],"tools":[{"type":"function","function":{"name":"f"}}]}`},
	{openai.APIResponses,
		`{"model":"m","input":[{"role":"user","content":"a question of some length"},{"type":"function_call","name":"f"},{"type":"function_call_output","output":"42"}],"instructions":"be brief"}`},
	{openai.APIMessages,
		`{"model":"m","messages":[{"role":"user","content":"a question of some length"}],"system":"be brief","tools":[{"name":"f"}]}`},
	{openai.APIEmbeddings, `{"model":"m","input":["some text","some \u00e4ther text"]}`},
	{openai.APIRerank, `{"model":"m","query":"some text","documents":["a","b"]}`},
}

func TestBlocksLikeReference(t *testing.T) {
	var h Hasher
	for _, p := range promptBodies {
		r := scanned(t, p.api, p.body)
		for _, blockTokens := range []int{1, 2, 3, 5, 8, 16, 100} {
			for _, maxBlocks := range []int{1, 2, 7, 256} {
				got := h.Blocks(nil, "m", r, []byte(p.body), blockTokens, maxBlocks)
				if want := reference("m", r, []byte(p.body), blockTokens, maxBlocks); !slices.Equal(got, want) {
					t.Errorf("%v, %d blocks of %d tokens: got %x, want %x", p.api, maxBlocks, blockTokens, got, want)
				}
			}
		}
	}
}

func FuzzBlocks(f *testing.F) {
	for _, p := range promptBodies {
		f.Add(uint8(p.api), []byte(p.body), uint8(1), uint8(30))
	}
	f.Fuzz(func(t *testing.T, api uint8, body []byte, blockTokens, maxBlocks uint8) {
		var r openai.Request
		if r.Scan(openai.API(api%7), body) != nil {
			return
		}
		if bytes.IndexByte(body, segmentMark) >= 0 {
			t.Fatalf("a body with the byte of a mark was read")
		}
		tokens, most := 1+int(blockTokens%32), 1+int(maxBlocks)
		got := new(Hasher).Blocks(nil, r.Model, &r, body, tokens, most)
		if want := reference(r.Model, &r, body, tokens, most); !slices.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
	})
}

func TestBlocksTellPromptsApart(t *testing.T) {
	bodies := []string{
		`{"messages":[{"role":"user","content":"aaaabbbb"}]}`,
		`{"messages":[{"role":"user","content":["aaaa","bbbb"]}]}`,
		`{"messages":[{"role":"user","content":["aaaab","bbb"]}]}`,
		`{"messages":[{"role":"system","content":"aaaabbbb"}]}`,
		`{"messages":[{"role":"user","content":"aaaa"},{"role":"assistant","content":"bbbb"}]}`,
		`{"messages":[{"role":"assistant","content":"aaaa"},{"role":"user","content":"bbbb"}]}`,
		`{"messages":[{"role":"user","content":"bbbb"},{"role":"assistant","content":"aaaa"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"aaaabbbb"}}]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"aaaabbbb"}}]}]}`,
		`{"messages":[{"role":"user","content":"aaaabbbb"}],"tools":[{"a":1}]}`,
		`{"messages":[{"role":"user","content":"aaaabbbb"}],"tools":[{"a":2}]}`,
		`{"messages":[{"role":"user","content":"aaaabbbb"}],"cache_salt":"s"}`,
		`{"messages":[{"role":"user","content":"aaaabbbb"}],"extra_key":"s"}`,
		`{"messages":[{"role":"user","content":"aaaabbbb"}],"extra_key":"t"}`,
		`{"messages":[{"role":"user","content":"aaaabbbb"}],"extra_key":"s","cache_salt":"s"}`,
		`{"messages":[{"role":"user","content":"aaaabbbb"}],"lora_path":"s"}`,
		`{"messages":[{"role":"user","content":"aaaabbbb"}],"lora_path":"t"}`,
		`{"messages":[{"role":"user","content":"aaaabbbb"}],"extra_key":"s","lora_path":"s"}`,
		`{"messages":[{"role":"user","content":"\u0000aaaabbbb"}]}`,
		`{"messages":[{"role":"user","content":"ÿ\u0003aaaabbbb"}]}`,
	}
	seen := map[uint64]string{}
	for _, body := range bodies {
		// One token is shorter than any of the differences, so the last hashes must differ.
		got := hashes(t, openai.APIChat, body+strings.Repeat(" ", 3), 1, 256)
		if len(got) < 2 {
			t.Fatalf("%s: got %d blocks, want at least 2", body, len(got))
		}
		key := got[len(got)-1]
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the same hashes", body, other)
		}
		seen[key] = body
	}
}

func TestBlocksOfContinuedPrompts(t *testing.T) {
	turn := `{"role":"user","content":"` + fox + `"}`
	answer := `,{"role":"assistant","content":"` + fox[:99] + `"},{"role":"user","content":"and then\n"}`
	tests := []struct {
		name        string
		api         openai.API
		first, next string
	}{
		{"chat", openai.APIChat, `{"messages":[` + turn + `]}`, `{"stream":true,"messages":[` + turn + answer + `]}`},
		{"chat with tools behind", openai.APIChat, `{"messages":[` + turn + `],"tools":[{"a":1}]}`,
			`{"tools":[{"a":1}],"messages":[` + turn + answer + `]}`},
		{"responses", openai.APIResponses, `{"input":[` + turn + `],"instructions":"be brief"}`,
			`{"instructions":"be brief","input":[` + turn + answer + `]}`},
		{"messages", openai.APIMessages, `{"messages":[` + turn + `],"system":"be brief"}`,
			`{"messages":[` + turn + answer + `],"system":"be brief"}`},
		{"completions", openai.APICompletions, `{"prompt":"` + fox + `"}`, `{"prompt":"` + fox + `and then\n"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first, next := hashes(t, tt.api, tt.first, 4, 256), hashes(t, tt.api, tt.next, 4, 256)
			if len(first) < 20 || len(next) < len(first) || !slices.Equal(first, next[:len(first)]) {
				t.Errorf("got %d and %d blocks, want the first to begin the second", len(first), len(next))
			}
		})
	}
}

func TestBlocksDoNotAllocate(t *testing.T) {
	var h Hasher
	blocks := make([]uint64, 0, 256)
	plain, _ := json.Marshal(
		map[string]any{"messages": []any{map[string]any{"role": "user", "content": strings.Repeat(fox, 50)}}})
	broken, _ := json.Marshal(
		map[string]any{"messages": []any{map[string]any{"role": "user", "content": strings.Repeat(fox+"\n", 50)}}})
	for _, body := range [][]byte{plain, broken} {
		r := scanned(t, openai.APIChat, string(body))
		if n := testing.AllocsPerRun(10, func() { blocks = h.Blocks(blocks[:0], "m", r, body, 16, 256) }); n != 0 {
			t.Errorf("%.60q: got %v allocations, want none", body, n)
		}
		if len(blocks) != 256 {
			t.Errorf("%.60q: got %d blocks, want 256", body, len(blocks))
		}
	}
	if most := 256*64 + 4*64; cap(h.scratch) > 2*most {
		t.Errorf("got a buffer of %d bytes, want at most that of all blocks", cap(h.scratch))
	}
}

func TestLinkIsXXH64(t *testing.T) {
	data := []byte(strings.Repeat(fox, 5))
	for size := 32; size <= 1024; size += 32 {
		for _, previous := range []uint64{0, 1, math.MaxUint64, 0x0123456789abcdef} {
			chunk := data[size%7 : size%7+size]
			want := xxhash.Sum64(binary.LittleEndian.AppendUint64(slices.Clone(chunk), previous))
			if got := link(chunk, previous); got != want {
				t.Fatalf("%d bytes behind %x: got %x, want %x", size, previous, got, want)
			}
		}
	}
}
