package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/jinja"
	"github.com/pintle-dev/pintle/openai"
)

// readMessages brings messages into the form that templates get: contents as texts or lists of parts, arguments of
// calls as dicts, and no keys that the engine does not hand on.
func readMessages(raw json.RawMessage, parts bool) ([]*jinja.Dict, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("messages: is no list of messages")
	}
	messages := make([]*jinja.Dict, len(list))
	for i, item := range list {
		from, ok := item.(*jinja.Dict)
		if !ok {
			return nil, fmt.Errorf("messages[%d]: is no message", i)
		}
		if messages[i], err = readMessage(from, parts); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return messages, nil
}

func readMessage(from *jinja.Dict, parts bool) (*jinja.Dict, error) {
	r, _ := from.Get("role")
	role, ok := r.(string)
	if !ok {
		return nil, errors.New("role: is no text")
	}
	content, err := readContent(from, role, parts)
	if err != nil {
		return nil, err
	}
	to := jinja.NewDict("role", role, "content", content)
	switch role {
	case "system", "user":
	case "assistant":
		if err := readAssistant(to, from); err != nil {
			return nil, err
		}
	case "tool":
		id, ok := from.Get("tool_call_id")
		if _, isText := id.(string); !isText {
			return nil, fmt.Errorf("tool_call_id: %v is not known here", ok)
		}
		to.Set("tool_call_id", id)
	case "developer":
		if _, ok := from.Get("tools"); ok {
			return nil, errors.New("tools: those of a developer are not known here")
		}
	default:
		return nil, fmt.Errorf("role: %q is not known here", role)
	}
	if name, ok := from.Get("name"); ok {
		if _, isText := name.(string); !isText {
			return nil, errors.New("name: is no text")
		}
		to.Set("name", name)
	}
	if _, ok := from.Get("task"); ok {
		return nil, errors.New("task: is not known here")
	}
	if role == "developer" {
		to.Set("tools", nil)
	}
	return to, nil
}

// readContent returns a text, or a list of parts.
func readContent(from *jinja.Dict, role string, asParts bool) (any, error) {
	content, _ := from.Get("content")
	var list []any
	switch c := content.(type) {
	case nil:
	case string:
		list = []any{c}
	case []any:
		list = c
	default:
		return nil, errors.New("content: is neither a text nor a list of parts")
	}
	texts, parts := []string{}, []any{}
	for i, item := range list {
		text, part, err := readPart(item)
		if err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		// The engine leaves this line out, and so does the filter where it counts a prompt.
		if role == "system" && strings.HasPrefix(text, openai.BillingHeader) {
			_, rest, _ := strings.Cut(text, "\n")
			if rest == "" {
				continue
			}
			text = rest
			part.Set("text", rest)
		}
		parts = append(parts, part)
		if text != "" || asParts {
			texts = append(texts, text) // the engine joins those that say something
		}
	}
	if asParts && role != "tool" {
		return parts, nil
	}
	return strings.Join(texts, "\n"), nil
}

// readPart reads a part of a message, which has to be text.
func readPart(item any) (string, *jinja.Dict, error) {
	if text, ok := item.(string); ok {
		return text, jinja.NewDict("type", "text", "text", text), nil
	}
	from, ok := item.(*jinja.Dict)
	if !ok {
		return "", nil, errors.New("is no part")
	}
	if kind, _ := from.Get("type"); kind != "text" {
		return "", nil, fmt.Errorf("type: %v is not known here", kind)
	}
	t, _ := from.Get("text")
	text, ok := t.(string)
	if !ok {
		return "", nil, errors.New("text: is no text")
	}
	to := jinja.NewDict("type", "text", "text", text)
	var err error
	from.Each(func(key, value any) {
		switch key {
		case "type", "text":
		case "cache_control": // what clients send most of all beside the text
			to.Set(key, value)
		default:
			err = fmt.Errorf("%v: is not known here", key)
		}
	})
	return text, to, err
}

// readAssistant reads what answers have beside their content.
func readAssistant(to, from *jinja.Dict) error {
	if calls, ok := from.Get("tool_calls"); ok && calls != nil {
		list, ok := calls.([]any)
		if !ok {
			return errors.New("tool_calls: is no list")
		}
		for i, call := range list {
			read, err := readCall(call)
			if err != nil {
				return fmt.Errorf("tool_calls[%d]: %w", i, err)
			}
			list[i] = read
		}
		if len(list) > 0 {
			to.Set("tool_calls", list)
		}
	}
	for _, key := range []string{"audio", "function_call", "refusal"} {
		if v, _ := from.Get(key); v != nil {
			return fmt.Errorf("%s: is not known here", key)
		}
	}
	reasoning, _ := from.Get("reasoning")
	if reasoning == nil {
		reasoning, _ = from.Get("reasoning_content")
	}
	if reasoning == nil {
		return nil
	}
	if _, ok := reasoning.(string); !ok {
		return errors.New("reasoning: is no text")
	}
	to.Set("reasoning", reasoning)
	to.Set("reasoning_content", reasoning)
	return nil
}

// asSystem makes system messages of those of developers, for templates that do not know the role: one, in front.
func asSystem(messages []*jinja.Dict) []*jinja.Dict {
	found := false
	for i, m := range messages {
		if role, _ := m.Get("role"); role == "developer" {
			system := jinja.NewDict("role", "system")
			m.Each(func(key, value any) {
				if key != "role" && key != "tools" {
					system.Set(key, value)
				}
			})
			messages[i], found = system, true
		}
	}
	if !found {
		return messages
	}
	var texts []string
	var others []*jinja.Dict
	moved := false
	for i, m := range messages {
		if role, _ := m.Get("role"); role != "system" {
			others = append(others, m)
			continue
		}
		moved = moved || i > 0
		content, _ := m.Get("content")
		if text := textOf(content); text != "" {
			texts = append(texts, text)
		}
	}
	if !moved {
		return messages
	}
	one := jinja.NewDict("role", "system", "content", strings.Join(texts, "\n\n"))
	return append([]*jinja.Dict{one}, others...)
}

func textOf(content any) string {
	if text, ok := content.(string); ok {
		return text
	}
	var texts []string
	for _, p := range content.([]any) {
		text, _ := p.(*jinja.Dict).Get("text")
		texts = append(texts, text.(string))
	}
	return strings.Join(texts, "\n")
}
