package tokens

import "encoding/json"

// plain reports whether SGLang renders a chat as vLLM does: one of texts by system, user and assistant that asks for an
// answer. In all others it goes by rules of its own for tools, their calls and results, for parts, developers and what
// ends with an assistant, by keys that vLLM does not know, and by no rule at all for templates and documents that come
// with a request (SGLang 0.5.23, serving_chat.py).
func (p *Prompt) plain() bool {
	if !p.AddGeneration || p.Continue || p.Tools != nil || p.Documents != nil || p.Template != "" ||
		p.Reasoning != nil || p.Task != nil || p.InputIDs != nil {
		return false
	}
	if _, ok := p.TemplateValues["reasoning_effort"]; ok {
		return false
	}
	var messages []map[string]json.RawMessage
	if json.Unmarshal(p.Messages, &messages) != nil {
		return false
	}
	last := ""
	for _, m := range messages {
		var role string
		var content *string
		if len(m) != 2 || json.Unmarshal(m["role"], &role) != nil || json.Unmarshal(m["content"], &content) != nil ||
			content == nil || role != "system" && role != "user" && role != "assistant" {
			return false
		}
		last = role
	}
	return last != "assistant"
}

// unsaid are the keys of a chat that SGLang's /tokenize heeds, or refuses, and its chat completions do not.
var unsaid = []string{"add_generation_prompt", "add_special_tokens", "prompt", "stream", "stream_options"}

// askSGLang is the body of a question to SGLang's /tokenize, which takes chats as their clients wrote them.
func askSGLang(p *Prompt) ([]byte, error) {
	if !p.Chat {
		return json.Marshal(map[string]any{"model": p.Model, "prompt": p.Text})
	}
	fields, err := p.without(unsaid...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}
