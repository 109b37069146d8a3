package state

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
)

// TestIDBlocks: blocks of 64 ids, the last one in part, each prompt with a chain of its own.
func TestIDBlocks(t *testing.T) {
	chain := Chain{BlockBytes: 256, IDs: true}
	hash := func(api openai.API, body string, most int) ([]uint64, []int32) {
		return new(Hasher).IDBlocks(nil, nil, "m", scanned(t, api, body), []byte(body), chain, most, nil)
	}
	text := strings.Repeat("a", 300)
	one, ends := hash(openai.APICompletions, `{"model":"m","prompt":"`+text+`"}`, 9)
	if len(one) != 2 || !slices.Equal(ends, []int32{2}) {
		t.Errorf("300 bytes are %d blocks, ends %v", len(one), ends)
	}
	longer, _ := hash(openai.APICompletions, `{"model":"m","prompt":"`+text+`b"}`, 9)
	if longer[0] != one[0] || longer[1] == one[1] {
		t.Error("one byte more changes the last block alone")
	}
	both, ends := hash(openai.APICompletions, `{"model":"m","prompt":["`+text+`","`+text+`"]}`, 9)
	if !slices.Equal(both, append(slices.Clone(one), one...)) || !slices.Equal(ends, []int32{2, 4}) {
		t.Errorf("two prompts alike are %v, ends %v", both, ends)
	}
	if cut, ends := hash(openai.APICompletions, `{"model":"m","prompt":["`+text+`","`+text+`"]}`, 3); len(cut) != 3 ||
		!slices.Equal(ends, []int32{2, 3}) {
		t.Errorf("3 blocks at most: %d, ends %v", len(cut), ends)
	}
	ids := "[" + strings.Repeat("1,", 70) + "2]"
	list, ends := hash(openai.APICompletions, `{"model":"m","prompt":`+ids+`}`, 9)
	if len(list) != 2 || !slices.Equal(ends, []int32{2}) {
		t.Errorf("71 token ids are %d blocks, ends %v", len(list), ends)
	}
	lists, ends := hash(openai.APICompletions, `{"model":"m","prompt":[`+ids+`,`+ids+`]}`, 9)
	if !slices.Equal(lists, append(slices.Clone(list), list...)) || !slices.Equal(ends, []int32{2, 4}) {
		t.Errorf("two lists of token ids are %v, ends %v", lists, ends)
	}
	first, _ := hash(openai.APIChat, `{"model":"m","messages":[{"role":"user","content":"ab"}],"tools":["`+text+`"]}`,
		9)
	front, _ := hash(openai.APIChat, `{"model":"m","tools":["`+text+
		`"],"messages":[{"role":"user","content":[{"type":"text","text":"ab"}]}]}`, 9)
	if !slices.Equal(first, front) {
		t.Error("tools come first, and text is text however it is written")
	}
	if (Chain{BlockBytes: 256}).ID() == chain.ID() {
		t.Error("another way of cutting is another chain")
	}
}

// TestIDBlocksOfMedia: so many ids as the caller says, from a multiple of 4 bytes on.
func TestIDBlocksOfMedia(t *testing.T) {
	hash := func(parts string, media ...int32) []uint64 {
		body := `{"model":"m","messages":[{"role":"user","content":[` + parts + `]}]}`
		blocks, _ := new(Hasher).IDBlocks(nil, nil, "m", scanned(t, openai.APIChat, body), []byte(body),
			Chain{BlockBytes: 4, IDs: true}, 99, media)
		return blocks
	}
	const image = `{"type":"image_url","image_url":{"url":"http://a/b"}}`
	for _, tc := range []struct {
		name, parts string
		media       []int32
		want        int
	}{
		{"an image", image, []int32{3}, 1 + 3}, {"two", image + `,` + image, []int32{3, 2}, 1 + 5},
		{"behind text", `{"type":"text","text":"abcde"},` + image, []int32{3}, 1 + 2 + 3},
		{"before text", image + `,{"type":"text","text":"abcde"}`, []int32{3}, 1 + 3 + 2},
	} {
		if got := len(hash(tc.parts, tc.media...)); got != tc.want {
			t.Errorf("%s: %d blocks, want %d", tc.name, got, tc.want)
		}
	}
}

// TestIDBytes: the ids of a prompt are those of the bytes that stand for it. An image is its hash, so many times.
func TestIDBytes(t *testing.T) {
	image := func(url string) string { return `{"type":"image_url","image_url":{"url":"` + url + `"}}` }
	hash := func(url string) string {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(xxhash.Sum64String(url))))
	}
	for _, tc := range []struct {
		name  string
		api   openai.API
		body  string
		media []int32
		want  string
	}{
		{"the role of each message", openai.APIChat,
			`{"messages":[{"role":"system","content":"ab"},{"role":"user","content":"c"},{"role":"user","content":"d"}]}`,
			nil, "systemabusercuserd"},
		{"one role of several parts", openai.APIChat,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`,
			nil, "userab"},
		{"a role that nobody knows", openai.APIChat,
			`{"messages":[{"role":"a","content":"b"},{"role":"user","content":"c"}]}`, nil, "buserc"},
		{"tools", openai.APIChat, `{"messages":[{"role":"user","content":"b"}],"tools":[{"a":1}]}`, nil,
			`[{"a":1}]userb`},
		{"tool calls", openai.APIChat, `{"messages":[{"role":"user","content":"a"},
			{"role":"assistant","content":"b","tool_calls":[{"c":1}]},{"role":"tool","content":"d"}]}`, nil,
			"useraassistantbtoold"},
		{"tool calls before the text", openai.APIChat, `{"messages":[{"role":"assistant","content":"a"},
			{"role":"assistant","tool_calls":[{"c":1}],"content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},
			{"role":"tool","content":"d"},{"tool_calls":[{"c":1}],"content":"e","role":"assistant"}]}`, nil,
			"assistantaassistantbctooldassistante"},
		{"a call before an answer", openai.APIResponses, `{"input":[{"type":"function_call","name":"f"},
			{"content":"b","role":"assistant"}]}`, nil, `[{"input":[assistantb]}]`},
		{"tool calls in messages", openai.APIMessages, `{"system":"s","messages":[{"role":"user","content":"a"},
			{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"c","input":{}}]}]}`, nil,
			`suseraassistant"type":"tool_use","id":"b","name":"c","input":{}`},
		{"escapes beside none", openai.APIChat, `{"messages":[{"role":"user","content":[
			{"type":"text","text":"abcdefgh"},{"type":"text","text":"\n\n\n\n"}]}]}`, nil, "userabcdefgh\n\n\n\n"},
		{"escapes in tools beside those in text", openai.APIChat,
			`{"messages":[{"role":"user","content":"\n\n\n\n"}],"tools":["\n\n\n\n"]}`, nil,
			`["\n\n\n\n"]user` + "\n\n\n\n"},
		{"images", openai.APIChat, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},` + image("b") +
			`,` + image("c") + `,{"type":"text","text":"defg"}]}]}`, []int32{1, 3},
			"usera\x00\x00\x00" + hash("b") + hash("c") + hash("c") + hash("c") + "defg"},
		{"images of an answer", openai.APIResponses,
			`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"b"}]}]}`, []int32{2},
			`[{"input":[user` + "\x00" + hash("b") + hash("b") + "]}]"},
		{"an image that nobody counted", openai.APIChat, `{"messages":[{"role":"user","content":[` + image("b") + `]}]}`,
			nil, "user" + hash("b")},
	} {
		r, previous := scanned(t, tc.api, tc.body), xxhash.Sum64String("m")
		var want []uint64
		for part := range slices.Chunk([]byte(tc.want), 8) {
			previous = xxhash.Sum64(binary.LittleEndian.AppendUint64(slices.Clone(part), previous))
			want = append(want, previous)
		}
		got, _ := new(Hasher).IDBlocks(nil, nil, "m", r, []byte(tc.body), Chain{BlockBytes: 8, IDs: true}, 99, tc.media)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %d blocks, want the %d of %q", tc.name, len(got), len(want), tc.want)
		}
		if got, want := CountIDs(r, []byte(tc.body), tc.media), (len(tc.want)+3)/4; got != want {
			t.Errorf("%s: counted %d ids, want %d of %q", tc.name, got, want, tc.want)
		}
	}
}

// TestCountIDs: prompts of completions count each by itself, and token ids as what they are. Of escaped texts the
// length of all together is known.
func TestCountIDs(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       int
	}{
		{"one", `{"prompt":"abcde"}`, 2},
		{"two", `{"prompt":["abcde","f"]}`, 3},
		{"none", `{}`, 0},
		{"token ids", `{"prompt":[1,2,3]}`, 3},
		{"token ids beside text", `{"prompt":["abcdefgh",[1,2,3]]}`, 3},
		{"escapes", `{"prompt":"\n\n\n\n\n"}`, 2},
		{"escapes of two prompts", `{"prompt":["\u0061\u0061\u0061\u0061","\u0061"]}`, 2},
		{"escapes and none", `{"prompt":["\u0061\u0061","abcde"]}`, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := CountIDs(scanned(t, openai.APICompletions, tc.body), []byte(tc.body), nil); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// TestNoIDBlocks: of blocks without a length, and where none is wanted, there are none.
func TestNoIDBlocks(t *testing.T) {
	body := `{"model":"m","prompt":"abcd"}`
	r := scanned(t, openai.APICompletions, body)
	for _, tc := range []struct{ bytes, most, want int }{{0, 9, 0}, {-4, 9, 0}, {4, 0, 0}, {4, 1, 1}, {1, 9, 4}} {
		blocks, ends := new(Hasher).IDBlocks(nil, nil, "m", r, []byte(body), Chain{BlockBytes: tc.bytes, IDs: true},
			tc.most, nil)
		if len(blocks) != tc.want || len(ends) != min(tc.want, 1) {
			t.Errorf("%d of %d bytes: got %d blocks of %d prompts, want %d", tc.most, tc.bytes, len(blocks), len(ends),
				tc.want)
		}
	}
}

// tell has an endpoint answer a prompt, after which nothing is tentative any more.
func tell(s *State, endpoint, chain uint64, blocks []uint64) {
	s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: 1, Primary: endpoint,
		Chains: []journal.Chain{{ID: chain, Blocks: blocks}}})
	s.Apply(&journal.Event{Kind: journal.Completion, Instance: 9, Lease: 1, Primary: endpoint, Status: 200,
		TTFTMicros: 5, Ended: journal.EndedWhole})
	for i := range 4 {
		s.Prefix.tentative.Reset(i)
	}
}

// TestIndexes: each index keeps its own chain with its own capacity, beside the one for all chains.
func TestIndexes(t *testing.T) {
	const here, there = 11, 22
	s := New(Options{Prefix: true, PrefixIndexes: []int{1, 4}})
	p := s.Prefix
	p.Learn(1, here)
	p.Learn(2, there)
	s.SetEndpoints([]uint64{100, 200})
	blocks := []uint64{1, 2, 3}
	tell(s, 100, here, blocks)
	tell(s, 200, there, blocks)
	matched := make([]int32, 2)
	for _, tc := range []struct {
		index int
		want  []int32
	}{{0, []int32{0, 0}}, {1, []int32{1, 0}}, {2, []int32{0, 3}}} {
		if p.MatchIn(tc.index, blocks, []uint16{0, 1}, matched); !slices.Equal(matched, tc.want) {
			t.Errorf("index %d: got %v, want %v", tc.index, matched, tc.want)
		}
	}
	p.SetIndexCapacity(1, 0, 3)
	tell(s, 100, here, blocks)
	if p.MatchIn(1, blocks, []uint16{0, 1}, matched); !slices.Equal(matched, []int32{3, 0}) {
		t.Errorf("with room for 3: got %v", matched)
	}
	s.SetEndpoints([]uint64{200})
	s.SetEndpoints([]uint64{100, 200})
	tell(s, 100, here, blocks)
	at := uint16(s.Endpoints.Index(100))
	if p.MatchIn(1, blocks, []uint16{at}, matched); matched[0] != 1 {
		t.Errorf("an endpoint that is new has its usual capacity: got %d blocks, want 1", matched[0])
	}
}
