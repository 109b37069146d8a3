package servers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
)

// pieces are what prompts are made of: what tokenizers and templates may see otherwise than the engine.
var pieces = []string{
	"the", " quick", "Brown", "'s", "'LL", "1234567", "3.14", "!?", "a_b", "\"quoted\"", "\\n", "https://x.y/z?q=1",
	" ", "   ", "\n", "\n\n", "\r\n", "\t", "\u0000", "\u00a0", "\u200b", "\u2028", "\ufeff",
	"é", "e\u0301", "日本語", "👍🏽", "👩‍👩‍👧", "١٢٣", "ﬁ", "Ω", "Привет", "مرحبا", "नमस्ते", "ß", "İ", "ſ", "▁",
	"{{ x }}", "{% y %}", "<|user|>", "<|begin|>", "<|end|>", "<tool_call>", "</s>", "<b>&amp;</b>",
	"def f(x):\n    return x",
}

// Writer makes requests for a model of pieces of text.
type Writer struct {
	*rand.Rand
	Model string
}

func (w Writer) text(most int) string {
	var b strings.Builder
	for range w.IntN(most) {
		b.WriteString(pieces[w.IntN(len(pieces))])
		if w.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (w Writer) content(most int) any {
	if w.IntN(4) > 0 {
		return w.text(most)
	}
	part := func(text string) any { return map[string]any{"type": "text", "text": text} }
	return []any{part(w.text(most)), part(w.text(9))}
}

// chat makes a chat of some turns, some of them with tools and calls of them.
func (w Writer) chat() map[string]any {
	long := 12
	if w.IntN(20) == 0 {
		long = 600
	}
	var messages []any
	add := func(role string, content any, more map[string]any) {
		m := map[string]any{"role": role, "content": content}
		for key, value := range more {
			m[key] = value
		}
		messages = append(messages, m)
	}
	if w.IntN(2) == 0 {
		add([]string{"system", "developer"}[w.IntN(2)], w.content(long), nil)
	}
	for i := range 1 + w.IntN(4) {
		add("user", w.content(long), nil)
		if w.IntN(3) == 0 {
			id := fmt.Sprint("call", i)
			arguments, _ := json.Marshal(map[string]any{"b": w.text(5), "a": []any{1, 2.5, nil, w.IntN(9)}})
			add("assistant", nil, map[string]any{"tool_calls": []any{map[string]any{"type": "function", "id": id,
				"function": map[string]any{"name": "f", "arguments": string(arguments)}}}})
			add("tool", w.content(long), map[string]any{"tool_call_id": id})
		}
		if w.IntN(2) == 0 {
			add("assistant", w.content(long), nil)
		}
	}
	body := map[string]any{"model": w.Model, "messages": messages}
	if w.IntN(3) == 0 {
		body["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": "f",
			"description": w.text(6), "parameters": map[string]any{"type": "object",
				"properties": map[string]any{"b": map[string]any{"type": "string"}, "a": map[string]any{}}}}}}
		f := map[string]any{"type": "function", "function": map[string]any{"name": "f"}}
		choices := []any{nil, "auto", "none", f}
		if choice := choices[w.IntN(len(choices))]; choice != nil {
			body["tool_choice"] = choice
		}
	}
	switch w.IntN(4) {
	case 0:
		body["add_generation_prompt"] = false
	case 1:
		if last := messages[len(messages)-1].(map[string]any); last["role"] == "assistant" {
			last["content"] = "I think " + w.text(6) + "so"
			body["continue_final_message"], body["add_generation_prompt"] = true, false
		}
	}
	return body
}

// Request makes a chat or a completion.
func (w Writer) Request() (api string, body map[string]any) {
	if w.IntN(3) == 0 {
		return tokens.APICompletions, map[string]any{"model": w.Model, "prompt": "p" + w.text(40)}
	}
	return tokens.APIChat, w.chat()
}
