package openai

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

var responseBodies = []struct {
	name, body string
	want       Usage
	found      bool
}{
	{"chat",
		`{"id":"x","choices":[{"message":{"role":"assistant","content":"the \"usage\":{\"prompt_tokens\":9} of it"}}],"usage":{"prompt_tokens":12,"total_tokens":20,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":4}}}`,
		Usage{12, 8, 20, 4}, true},
	{"pretty", "{\n  \"usage\" : {\n    \"prompt_tokens\" : 12 ,\n    \"completion_tokens\" : 8\n  }\n}\n",
		Usage{12, 8, 20, 0}, true},
	{"responses",
		`{"object":"response","output":[{"usage":{"input_tokens":1}}],"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":3},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":12}}`,
		Usage{5, 7, 12, 3}, true},
	{"anthropic",
		`{"type":"message","content":[],"usage":{"input_tokens":5,"cache_creation_input_tokens":1,"cache_read_input_tokens":2,"output_tokens":7}}`, Usage{8, 7, 15, 2}, true},
	{"embeddings", `{"data":[{"embedding":[0.1,-2e-3]}],"usage":{"prompt_tokens":8,"total_tokens":8}}`,
		Usage{8, 0, 8, 0}, true},
	{"null usage", `{"usage":null}`, Usage{}, false},
	{"empty usage", `{"usage":{}}`, Usage{}, false},
	{"usage of odd types", `{"usage":{"prompt_tokens":"3","completion_tokens":[1],"total_tokens":-4}}`, Usage{}, false},
	{"huge", `{"usage":{"prompt_tokens":123456789012345,"completion_tokens":2.0,"total_tokens":1e9}}`,
		Usage{PromptTokens: math.MaxInt32, CompletionTokens: 2, TotalTokens: math.MaxInt32}, true},
	{"fractions", `{"usage":{"prompt_tokens":12.75,"completion_tokens":3.0 ,"total_tokens":1.5e3}}`,
		Usage{12, 3, 15, 0}, true},
	{"elsewhere", `{"choices":[{"usage":{"prompt_tokens":3}}],"x":{"usage":{"prompt_tokens":3}}}`, Usage{}, false},
	{"names of usage in it and beside it", `{"prompt_tokens_details":{"cached_tokens":3},"usage":{"prompt_tokens":2,` +
		`"usage":{"prompt_tokens":3},"prompt_tokens_details":{"prompt_tokens":4,"usage":{"prompt_tokens":5}}},` +
		`"response":{"response":{"usage":{"prompt_tokens":6}},"prompt_tokens_details":{"cached_tokens":7}}}`,
		Usage{2, 0, 2, 0}, true},
	{"other objects", `{"a":{"b":{"c":{"d":{"e":1}}}},"usage":{"prompt_tokens":2,"x":{"y":{"z":{}}},` +
		`"output_tokens_details":{"cached_tokens":9}}}`, Usage{2, 0, 2, 0}, true},
	{"cut off", `{"usage":{"prompt_tokens":12,"completion_tokens":8`, Usage{}, false},
	{"cut off behind the details", `{"usage":{"prompt_tokens":12,"prompt_tokens_details":{"cached_tokens":8}`, Usage{},
		false},
	{"error page", "<html>usage</html>", Usage{}, false},
	{"empty", "", Usage{}, false},
	{"something else before the usage", `{x "usage":{"prompt_tokens":2}}`, Usage{}, false},
	{"no colon before the usage", `{"a" 1,"usage":{"prompt_tokens":2}}`, Usage{}, false},
	{"no value before the usage", `{"a":,"usage":{"prompt_tokens":2}}`, Usage{}, false},
	{"a bracket too many before the usage", `{"a":"b"],"usage":{"prompt_tokens":2}}`, Usage{}, false},
	{"sse broken before the usage", "data: {x \"usage\":{\"prompt_tokens\":2}}\n\n" +
		"data: {\"usage\":{\"completion_tokens\":3}}\n\n", Usage{0, 3, 3, 0}, true},
	{"long key", `{"` + strings.Repeat("usage", 20) + `":{"prompt_tokens":1},"us\u0061ge":{"prompt_tokens":1}}`,
		Usage{}, false},
	{"escaped quotes and backslashes", `{"a\"b\\":1,"c":"x\"{","d":{"e":"\\"},"f":["\\\"{",1],"usage\/":{"completion_tokens":9},"usage":{"prompt_tokens":2}}`,
		Usage{2, 0, 2, 0}, true},
	{"control characters in a text", "{\"a\":\"\x01\x02 and more, \x1f\",\"usage\":{\"prompt_tokens\":2}}",
		Usage{2, 0, 2, 0}, true},
	{"sse texts", "data: {\"id\":\"a\"}\n\ndata: {\"id\":\"b\",\"usage\":{\"prompt_tokens\":2}}\n\n",
		Usage{2, 0, 2, 0}, true},
	{"sse chat", "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\n\ndata: " +
		"{\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"total_tokens\":20,\"completion_tokens\":8}}\n\ndata: " +
		"[DONE]\n\n",
		Usage{12, 8, 20, 0}, true},
	{"sse continuous",
		"data: {\"usage\":{\"prompt_tokens\":12,\"total_tokens\":13,\"completion_tokens\":1}}\n\ndata: " +
			"{\"usage\":{\"prompt_tokens\":12,\"total_tokens\":14,\"completion_tokens\":2}}\n\n", Usage{12, 2, 14, 0},
		true},
	{"sse with a total that is not repeated",
		"data: {\"usage\":{\"prompt_tokens\":12,\"total_tokens\":13,\"completion_tokens\":1}}\n\n" +
			"data: {\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":2}}\n\n", Usage{12, 2, 14, 0}, true},
	{"sse with a total alone",
		"data: {\"usage\":{\"prompt_tokens\":12,\"total_tokens\":13,\"completion_tokens\":1}}\n\n" +
			"data: {\"usage\":{\"total_tokens\":20}}\n\n", Usage{12, 1, 20, 0}, true},
	{"sse with an empty usage at its end",
		"data: {\"usage\":{\"prompt_tokens\":12,\"total_tokens\":20,\"completion_tokens\":1}}\n\n" +
			"data: {\"usage\":{}}\n\n", Usage{12, 1, 20, 0}, true},
	{"longest number", `{"usage":{"prompt_tokens":2147483639,"completion_tokens":214748364700}}`,
		Usage{math.MaxInt32 - 8, math.MaxInt32, math.MaxInt32, 0}, true},
	{"number just above 31 bits", `{"usage":{"prompt_tokens":2147483649}}`,
		Usage{math.MaxInt32, 0, math.MaxInt32, 0}, true},
	{"key of a known start",
		`{"usage":{"prompt_tokens_and_much_more_than_any_key_that_is_known_has":4,"completion_tokens":1}}`,
		Usage{0, 1, 1, 0}, true},
	{"sse responses with CRLF",
		"event: response.completed\r\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":\"" +
			strings.Repeat("long ", 2000) +
			"\",\"usage\":{\"input_tokens\":5,\"output_tokens\":7,\"total_tokens\":12," +
			"\"input_tokens_details\":{\"cached_tokens\":3}}}}\r\n\r\n", Usage{5, 7, 12, 3}, true},
	{"sse anthropic", "event: message_start\ndata: " +
		"{\"type\":\"message_start\",\"message\":{\"usage\":" +
		"{\"input_tokens\":25,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\n\n",
		Usage{29, 15, 44, 4}, true},
	{"byte order mark", "\xef\xbb\xbf{\"usage\":{\"prompt_tokens\":2}}", Usage{2, 0, 2, 0}, true},
	{"sse byte order mark", "\xef\xbb\xbfdata: {\"usage\":{\"prompt_tokens\":2}}\n\n", Usage{2, 0, 2, 0}, true},
	{"sse byte order mark and a comment", "\xef\xbb\xbf: {\r\ndata: {\"usage\":{\"prompt_tokens\":2}}\r\n\r\n",
		Usage{2, 0, 2, 0}, true},
	{"sse byte order mark further on", "data: {}\n\n\xef\xbb\xbfdata: {\"usage\":{\"prompt_tokens\":2}}\n\n",
		Usage{}, false},
	{"sse without blank lines", "data:{\"a\":1}\ndata:{\"usage\":{\"prompt_tokens\":2}}\n", Usage{2, 0, 2, 0}, true},
	{"sse object over several data lines", "data: {\"usage\":\ndata: {\"prompt_tokens\":\r\ndata: 2}\rdata: }\n\n",
		Usage{2, 0, 2, 0}, true},
	{"sse broken event", "data: {\"a\":\"\n\ndata: {broken\n\ndata: {\"usage\":{\"prompt_tokens\":2}}\n\n",
		Usage{2, 0, 2, 0}, true},
	{"sse cut off within a list", "data: {\"a\":[1\n\ndata: {\"b\":\"x\",\"usage\":{\"prompt_tokens\":2}}\n\n",
		Usage{2, 0, 2, 0}, true},
	{"sse with CR alone", "data: {}\r\rdata: {\"usage\":\rdata: {\"prompt_tokens\":2}}\r\r", Usage{2, 0, 2, 0}, true},
	{"sse with LF some time after CR", "data: {}\r: x\ndata: {\"usage\":{\"prompt_tokens\":2}}\n\n", Usage{2, 0, 2, 0},
		true},
	{"sse broken up to the next line", "data: {broken\ndata: {\"usage\":{\"prompt_tokens\":2}}\n\n",
		Usage{2, 0, 2, 0}, true},
	{"sse cut off up to the blank line", "data: {\"a\":\ndata: {\"usage\":{\"prompt_tokens\":2}}\n\n", Usage{}, false},
	{"sse broken event before CRLF and LF", "data: {\"a\":\r\n\ndata: {\"usage\":{\"prompt_tokens\":2}}\n\n",
		Usage{2, 0, 2, 0}, true},
	{"sse other lines between an object's", "data: {\"usage\":\n: c\ndata\ndat\ndata: {\"prompt_tokens\":2}}\n\n",
		Usage{2, 0, 2, 0}, true},
	{"sse other fields", ": {\"usage\":{\"prompt_tokens\":2}}\ndat: {\"usage\":{\"prompt_tokens\":2}}\ndata\nid: " +
		"data: {\"usage\":{\"prompt_tokens\":2}}\n\n", Usage{}, false},
}

func TestResponseScanner(t *testing.T) {
	for _, c := range responseBodies {
		t.Run(c.name, func(t *testing.T) {
			var r ResponseScanner
			r.Feed([]byte(c.body))
			if got, found := r.Usage(); got != c.want || found != c.found {
				t.Errorf("in one piece: got %+v, %v, want %+v, %v", got, found, c.want, c.found)
			}
			r.Reset()
			if got, found := r.Usage(); got != (Usage{}) || found || r.Events() != 0 {
				t.Errorf("reset: got %+v, %v and %d events, want none", got, found, r.Events())
			}
			for i := range len(c.body) {
				r.Feed([]byte(c.body[i : i+1]))
			}
			if got, found := r.Usage(); got != c.want || found != c.found {
				t.Errorf("byte by byte: got %+v, %v, want %+v, %v", got, found, c.want, c.found)
			}
			for i := range min(len(c.body), 1000) {
				r.Reset()
				r.Feed([]byte(c.body[:i]))
				r.Feed([]byte(c.body[i:]))
				if got, found := r.Usage(); got != c.want || found != c.found {
					t.Fatalf("cut at %d: got %+v, %v, want %+v, %v", i, got, found, c.want, c.found)
				}
			}
		})
	}
}

func TestEvents(t *testing.T) {
	for body, want := range map[string]int{
		"data: {}\n\n: c\nevent: data:\ndata:{}\r\n\r\ndata: [DONE]\n\n": 3, "data": 0, "data:": 1, `{"data:":"data:"}`: 0,
		"\xef\xbb\xbfdata: {}\n\ndata: {}\n\n": 2,
	} {
		var whole, cut ResponseScanner
		whole.Feed([]byte(body))
		for i := range len(body) {
			cut.Feed([]byte(body[i : i+1]))
		}
		if whole.Events() != want || cut.Events() != want {
			t.Errorf("%q: got %d events, and %d byte by byte, want %d", body, whole.Events(), cut.Events(), want)
		}
	}
}

func TestResponseScannerDoesNotAllocate(t *testing.T) {
	var r ResponseScanner
	for _, c := range responseBodies {
		body := []byte(c.body)
		if n := testing.AllocsPerRun(5, func() {
			r.Reset()
			for i := 0; i < len(body); i += 7 {
				r.Feed(body[i:min(i+7, len(body))])
			}
			r.Usage()
		}); n != 0 {
			t.Errorf("%s: got %v allocations, want none", c.name, n)
		}
	}
}

// FuzzResponseSplit feeds a response whole and cut in pieces whose sizes the second input gives.
func FuzzResponseSplit(f *testing.F) {
	for _, c := range responseBodies {
		f.Add([]byte(c.body), []byte{1, 2, 3, 9, 40})
	}
	f.Fuzz(func(t *testing.T, body, sizes []byte) {
		var whole, split ResponseScanner
		whole.Feed(body)
		rest := body
		for i := 0; len(rest) > 0; i++ {
			n := 1
			if len(sizes) > 0 {
				n = min(int(sizes[i%len(sizes)])%64, len(rest))
			}
			if n == 0 && i > 2*len(body) {
				n = 1
			}
			split.Feed(rest[:n])
			rest = rest[n:]
		}
		a, foundA := whole.Usage()
		b, foundB := split.Usage()
		if a != b || foundA != foundB {
			t.Errorf("%q cut by %v: got %+v, %v, whole %+v, %v", body, sizes, b, foundB, a, foundA)
		}
	})
}

// FuzzResponseJSON compares with encoding/json on bodies whose keys are unique and unescaped where it matters.
func FuzzResponseJSON(f *testing.F) {
	for _, c := range responseBodies {
		f.Add(c.body, uint16(5), uint16(6))
	}
	f.Fuzz(func(t *testing.T, content string, prompt, completion uint16) {
		body, err := json.Marshal(map[string]any{
			"choices": []any{map[string]any{"message": map[string]any{"content": content}, content + "!": content}},
			"usage": map[string]any{"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": 7,
				"x": map[string]any{"prompt_tokens": 1}},
			"zzz": []any{content, nil, true, 1.5, map[string]any{"usage": map[string]any{"prompt_tokens": 1}}},
		})
		if err != nil {
			t.Skip()
		}
		want := Usage{int(prompt), int(completion), 7, 0}
		for _, form := range []string{string(body), "data: " + string(body) + "\n\n",
			"event: x\r\ndata:" + string(body) + "\r\n\r\ndata: [DONE]\r\n\r\n"} {
			var r ResponseScanner
			r.Feed([]byte(form))
			if got, found := r.Usage(); got != want || !found {
				t.Errorf("%q: got %+v, %v, want %+v", form, got, found, want)
			}
		}
	})
}

func BenchmarkResponseScanner(b *testing.B) {
	token := "data: {\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"created\":1700000000," +
		"\"model\":\"meta-llama/Llama-3.1-8B-Instruct\"," +
		"\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n"
	for _, c := range []struct{ name, body string }{
		{"SSE/token", token},
		{"JSON/400B", `{"id":"chatcmpl-0218acc84f2c4457","object":"chat.completion","created":1795487316,` +
			`"model":"sim-model","choices":[{"index":0,"message":{"role":"assistant","content":"rog mez veg pas sef ` +
			`zag vul pof nun mum sak tas fem bag fod pip","tool_calls":[]},"logprobs":null,"finish_reason":"length"}],` +
			`"usage":{"prompt_tokens":8,"total_tokens":24,"completion_tokens":16,` +
			`"prompt_tokens_details":{"cached_tokens":0}}}`},
		{"JSON/16KB", `{"choices":[{"message":{"content":"` + strings.Repeat(english, 170) +
			`"}}],"usage":{"prompt_tokens":1}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			body := []byte(c.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			var r ResponseScanner
			for b.Loop() {
				if c.name[0] == 'J' {
					r.Reset()
				}
				r.Feed(body)
			}
		})
	}
}
