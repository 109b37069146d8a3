package state

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
)

// TestJSONIDs: a prompt of the Responses API or of embeddings has the ids of the JSON that stands for it.
func TestJSONIDs(t *testing.T) {
	const text = "first \"line\"\n<second> & \\ more \t end"
	type object = map[string]any
	type input struct {
		Raw      string
		Strings  []string
		TokenIDs []uint32
	}
	for _, tc := range []struct {
		name string
		api  openai.API
		body object
		want any
	}{
		{"a response", openai.APIResponses, object{"input": text}, []object{{"input": text}}},
		{"with instructions", openai.APIResponses, object{"input": text, "instructions": "be brief"},
			[]object{{"instructions": "be brief"}, {"input": text}}},
		{"with tools", openai.APIResponses, object{"tools": []string{"t"}, "input": text, "instructions": "i"},
			[]object{{"instructions": "i"}, {"tools": []string{"t"}}, {"input": text}}},
		{"tools alone before", openai.APIResponses, object{"tools": []string{"t"}, "input": text},
			[]object{{"tools": []string{"t"}}, {"input": text}}},
		{"an embedding", openai.APIEmbeddings, object{"input": text}, input{Raw: text}},
		{"embeddings", openai.APIEmbeddings, object{"input": []string{text, "b"}}, input{Strings: []string{text, "b"}}},
	} {
		tc.body["model"] = "m"
		body, want := encoded(t, tc.body), encoded(t, tc.want)
		plain := encoded(t, object{"model": "m", "prompt": string(want)})
		chain := Chain{BlockBytes: 8, IDs: true}
		got, _ := new(Hasher).IDBlocks(nil, nil, "m", scanned(t, tc.api, string(body)), body, chain, 99, nil)
		same, _ := new(Hasher).IDBlocks(nil, nil, "m", scanned(t, openai.APICompletions, string(plain)), plain, chain,
			99, nil)
		if !slices.Equal(got, same) {
			t.Errorf("%s: got %d blocks, want the %d of %s", tc.name, len(got), len(same), want)
		}
		if n := CountIDs(scanned(t, tc.api, string(body)), body, nil); n != (len(want)+3)/4 {
			t.Errorf("%s: counted %d ids, want %d of %s", tc.name, n, (len(want)+3)/4, want)
		}
	}
	items := `{"model":"m","input":[{"role":"user","content":"` + strings.Repeat("a", 60) + `"}]}`
	chain := Chain{BlockBytes: 8, IDs: true}
	list, _ := new(Hasher).IDBlocks(nil, nil, "m", scanned(t, openai.APIResponses, items), []byte(items), chain, 99,
		nil)
	if got := CountIDs(scanned(t, openai.APIResponses, items), []byte(items), nil); (got+1)/2 != len(list) {
		t.Errorf("items: counted %d ids in %d blocks of two", got, len(list))
	}
}

// TestJSONIDsOfRawText: what JSON escapes counts so, however the client wrote it; tools stand as they are.
func TestJSONIDsOfRawText(t *testing.T) {
	for _, tc := range []struct {
		name string
		api  openai.API
		body string
		want string
	}{
		{"what Go alone escapes", openai.APIResponses, `{"model":"m","input":"a<b>c&d<<<<"}`,
			`[{"input":"a\u003cb\u003ec\u0026d\u003c\u003c\u003c\u003c"}]`},
		{"what all escape", openai.APIResponses, `{"model":"m","input":"\r\b\f\u0001\t\n\"\\ end"}`,
			`[{"input":"\r\b\f\u0001\t\n\"\\ end"}]`},
		{"an embedding", openai.APIEmbeddings, `{"model":"m","input":"<a"}`,
			`{"Raw":"\u003ca","Strings":null,"TokenIDs":null}`},
		{"instructions", openai.APIResponses, `{"model":"m","instructions":"<","input":"&"}`,
			`[{"instructions":"\u003c"},{"input":"\u0026"}]`},
		{"tools", openai.APIResponses, `{"model":"m","tools":["<<<<"],"input":"<"}`,
			`[{"tools":["<<<<"]},{"input":"\u003c"}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			chain := Chain{BlockBytes: 8, IDs: true}
			got, _ := new(Hasher).IDBlocks(nil, nil, "m", scanned(t, tc.api, tc.body), []byte(tc.body), chain, 99, nil)
			plain := encoded(t, map[string]any{"model": "m", "prompt": tc.want})
			want, _ := new(Hasher).IDBlocks(nil, nil, "m", scanned(t, openai.APICompletions, string(plain)), plain,
				chain, 99, nil)
			if !slices.Equal(got, want) {
				t.Errorf("got %d blocks, want the %d of %s", len(got), len(want), tc.want)
			}
			if n, want := CountIDs(scanned(t, tc.api, tc.body), []byte(tc.body), nil), (len(tc.want)+3)/4; n != want {
				t.Errorf("counted %d ids, want %d of %s", n, want, tc.want)
			}
		})
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestSystemTextOfMessages: it has no role in llm-d's ids.
func TestSystemTextOfMessages(t *testing.T) {
	body := `{"model":"m","system":"abcd","messages":[{"role":"user","content":"efgh"}]}`
	if got := CountIDs(scanned(t, openai.APIMessages, body), []byte(body), nil); got != 3 {
		t.Errorf("got %d ids, want those of abcduserefgh", got)
	}
}
