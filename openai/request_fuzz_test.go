package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// depthOf is the nesting of a valid JSON text.
func depthOf(body []byte) int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == '['):
			depth++
			deepest = max(deepest, depth)
		case !inString && (c == '}' || c == ']'):
			depth--
		}
	}
	return deepest
}

// checkAgainstOracle scans body and reports every difference from the oracle.
func checkAgainstOracle(t *testing.T, r *Request, api API, body []byte) {
	t.Helper()
	err := r.Scan(api, body)
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	want := json.Valid(body) && utf8.Valid(body) && trimmed[0] == '{' && depthOf(body) <= MaxDepth
	if !want {
		if err == nil {
			t.Fatalf("%s: accepted %q", api, body)
		}
		return
	}
	o := oracle(api, body)
	if err != nil {
		if o.badModel && errors.Is(err, ReasonModelType) || len(o.model) > MaxName && errors.Is(err, ReasonModelLong) {
			return
		}
		t.Fatalf("%s: refused %q: %v", api, body, err)
	}
	if o.badModel || len(o.model) > MaxName {
		t.Fatalf("%s: accepted the model of %q", api, body)
	}
	got := result{
		model: r.Model, user: r.User, salt: r.CacheSalt, extra: r.ExtraKey, lora: r.LoRAPath,
		previous: r.PreviousResponseID, hasModel: r.HasModel, stream: r.Stream,
		usage: r.StreamUsage, chars: r.Chars, bytes: r.Bytes, tokens: r.PromptTokens, messages: r.Messages,
		max:      r.MaxTokens,
		hasImage: r.HasImage, hasAudio: r.HasAudio, hasVideo: r.HasVideo, hasTools: r.HasTools,
		more: r.SegmentsTruncated,
	}
	for i, s := range r.Segments {
		text := string(r.AppendTextMax(nil, body, i, -1))
		if s.Kind == SegmentTokens {
			text = numbersIn(text)
		}
		got.pieces = append(got.pieces, piece{s.Kind, s.Role, text})
	}
	compare(t, body, &got, o)
	if r.HasModel {
		checkModelSpan(t, r, body)
	}
}

// numbersIn are the numbers of a list, with blanks between. What else is in a list of numbers is passed over.
func numbersIn(list string) string {
	var numbers []json.RawMessage
	var all []string
	if json.Unmarshal([]byte("["+list+"]"), &numbers) != nil {
		return "no list: " + list
	}
	for _, n := range numbers {
		if c := n[0]; c == '-' || c >= '0' && c <= '9' {
			all = append(all, string(n))
		}
	}
	return strings.Join(all, " ")
}

func compare(t *testing.T, body []byte, got, want *result) {
	t.Helper()
	a, b := *got, *want
	a.pieces, b.pieces = nil, nil
	if !a.more && len(got.pieces) != len(want.pieces) {
		t.Errorf("segments of %q: got %+v, want %+v", body, got.pieces, want.pieces)
	}
	b.more = a.more
	if !equalPlain(&a, &b) {
		t.Errorf("%q:\n got %+v\nwant %+v", body, a, b)
	}
	for i := range min(len(got.pieces), len(want.pieces)) {
		if got.pieces[i] != want.pieces[i] {
			t.Errorf("segment %d of %q: got %+v, want %+v", i, body, got.pieces[i], want.pieces[i])
		}
	}
}

func equalPlain(a, b *result) bool {
	return a.model == b.model && a.user == b.user && a.salt == b.salt && a.extra == b.extra &&
		a.lora == b.lora && a.previous == b.previous && a.hasModel == b.hasModel &&
		a.stream == b.stream && a.usage == b.usage && a.chars == b.chars && a.bytes == b.bytes &&
		a.tokens == b.tokens &&
		a.messages == b.messages && a.max == b.max && a.hasImage == b.hasImage && a.hasAudio == b.hasAudio &&
		a.hasVideo == b.hasVideo && a.hasTools == b.hasTools
}

// checkModelSpan rewrites the model in place and reads it back.
func checkModelSpan(t *testing.T, r *Request, body []byte) {
	t.Helper()
	const name = "org/new \"model\""
	patched := append([]byte(nil), body[:r.ModelSpan.Start]...)
	patched = AppendQuoted(patched, name)
	patched = append(patched, body[r.ModelSpan.End:]...)
	var again Request
	if err := again.Scan(r.API, patched); err != nil || again.Model != name {
		t.Errorf("rewritten model of %q: got %q, %v, want %q", body, again.Model, err, name)
	}
}

func FuzzScan(f *testing.F) {
	for api := APINone; api <= APIGenerate; api++ {
		for _, body := range seedBodies {
			f.Add(uint8(api), []byte(body))
		}
	}
	r := new(Request)
	f.Fuzz(func(t *testing.T, api uint8, body []byte) {
		checkAgainstOracle(t, r, API(api%uint8(APIGenerate+1)), body)
	})
}

// The grammar of FuzzShapes: each byte of the input picks one of these pieces, so that nearly every input is sound JSON
// of the kind that the scanner looks into, with duplicates, odd types and all key orders.
var (
	shapeKeys = []string{
		"model", "mod\\u0065l", "messages", "prompt", "input", "instructions", "system", "tools", "functions", "query",
		"documents",
		"text_1", "items", "stream", "stream_options", "include_usage", "max_tokens", "max_completion_tokens", "user",
		"cache_salt", "extra_key", "lora_path",
		"role", "content", "type", "text", "tool_calls", "function_call", "output", "image_url", "input_audio",
		"video_url", "source",
		"file_id", "url", "data", "x", "previous_response_id", "content", "messages", "type", "text",
		"sampling_params", "max_new_tokens", "max_output_tokens", "queries", "text_2", "data_1", "data_2", "text_input",
		"input_ids", "token_ids", "audio_url", "input_video", "refusal", "thinking",
		"cache_control", "uuid", "image_data", "audio_data", "video_data",
	}
	shapeStrings = []string{
		"", "a", "text", "te\\u0078t", "image_url", "image", "tool_result", "tool_use", "document", "message",
		"function_call",
		"function_call_output", "user", "assistant", "tool", "input_text", "\\ud83d\\ude00", "\\ud83d", "\\n\\\"", "é",
		"漢字漢字漢字", "😀",
		"system", "x-anthropic-billing-header: cch=1;", "x-anthropic-billing-header: é\\ud83d\\ude00;\\nrest \\\"",
		"\\u0078-anthropic-billing-header\\u000a", "a longer text that fills more than one word", "\\ude00\\ud83d",
		"\\u00e9\\u6f22",
		"developer", "function", "search_result", "server_tool_use", "custom_tool_call", "custom_tool_call_output",
		"output_text", "video_url", "input_audio", "reasoning", "refusal", "thinking",
	}
	shapeScalars = []string{"null", "true", "false", "0", "12", "-3", "1.5", "2e3", "99999999999", "1.5E1"}
)

type shaper struct{ input []byte }

func (g *shaper) next() int {
	if len(g.input) == 0 {
		return 0
	}
	c := g.input[0]
	g.input = g.input[1:]
	return int(c)
}

func (g *shaper) value(dst []byte, depth int) []byte {
	n := g.next()
	switch {
	case n < 90 && depth > 0:
		return g.object(dst, depth)
	case n < 160 && depth > 0:
		dst = append(dst, '[')
		for i := n % 4; i > 0; i-- {
			dst = g.value(dst, depth-1)
			if i > 1 {
				dst = append(dst, ',', ' ')
			}
		}
		return append(dst, ']')
	case n < 235:
		dst = append(dst, '"')
		dst = append(dst, shapeStrings[g.next()%len(shapeStrings)]...)
		return append(dst, '"')
	}
	return append(dst, shapeScalars[g.next()%len(shapeScalars)]...)
}

func (g *shaper) object(dst []byte, depth int) []byte {
	dst = append(dst, '{')
	for i := g.next() % 6; i > 0; i-- {
		dst = append(dst, '"')
		dst = append(dst, shapeKeys[g.next()%len(shapeKeys)]...)
		dst = append(dst, '"', ':')
		dst = g.value(dst, depth-1)
		if i > 1 {
			dst = append(dst, ',')
		}
	}
	return append(dst, '}')
}

func FuzzShapes(f *testing.F) {
	f.Add(uint8(1), []byte("\x05\x02\x70\x01\x00\x03\x14\xa0\x0c\x15\xa0\x16\x15\xa0\x03"))
	f.Add(uint8(3), bytes.Repeat([]byte{5, 4, 100, 1, 20, 200}, 40))
	r := new(Request)
	f.Fuzz(func(t *testing.T, api uint8, input []byte) {
		g := &shaper{input}
		body := g.object(nil, 8)
		checkAgainstOracle(t, r, API(api%uint8(APIGenerate+1)), body)
	})
}
