package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/jinja"
)

// Chat is what is asked. Raw parts are as the client wrote them, nil for none.
type Chat struct {
	Messages, Tools, Documents json.RawMessage
	// Values are read by the template beside them.
	Values map[string]json.RawMessage
	// AddGeneration has the template end with the beginning of an answer; Continue has it end within the last message.
	AddGeneration, Continue bool
}

// reserved are names that are no values of a template: transformers' function takes them itself.
var reserved = []string{"chat_template", "tokenize", "conversation", "padding", "truncation", "max_length",
	"return_tensors", "return_dict", "return_assistant_tokens_mask", "tokenizer_kwargs", "messages", "tools",
	"documents", "add_generation_prompt", "continue_final_message"}

// Render makes the text of a chat. timed says that the text tells the time. The error says what is not sure.
func (t *Template) Render(c *Chat) (text string, timed bool, err error) {
	v := t.plain
	if c.Tools != nil {
		v = t.tools
	}
	if c.Continue && c.AddGeneration {
		return "", false, errors.New("continue_final_message and add_generation_prompt exclude each other")
	}
	variables, err := t.variables(c)
	if err != nil {
		return "", false, err
	}
	messages, err := readMessages(c.Messages, v.parts)
	if err != nil {
		return "", false, err
	}
	if !v.developer {
		messages = asSystem(messages)
	}
	final := ""
	if c.Continue {
		if !v.Mentions("content") {
			return "", false, errors.New("continue_final_message: the template does not read contents")
		}
		if final, err = markFinal(messages[len(messages)-1]); err != nil {
			return "", false, err
		}
	}
	list := make([]any, len(messages))
	for i, m := range messages {
		list[i] = m
	}
	variables.Set("messages", list)
	result, err := v.Template.Render(variables)
	if err == nil && c.Continue {
		result.Text, err = cutFinal(result.Text, final)
	}
	return result.Text, result.Timed, err
}

// variables are those of the template but for messages.
func (t *Template) variables(c *Chat) (*jinja.Dict, error) {
	d := &jinja.Dict{}
	t.special.Each(d.Set)
	for id, raw := range c.Values {
		if slices.Contains(reserved, id) {
			return nil, fmt.Errorf("chat_template_kwargs: %s is not known here", id)
		}
		v, err := decode(raw)
		if err != nil {
			return nil, err
		}
		if v != nil && v != "auto" { // the engine takes these for what was not given
			d.Set(id, v)
		}
	}
	tools, err := readTools(c.Tools)
	if err != nil {
		return nil, err
	}
	var documents any
	if c.Documents != nil {
		if documents, err = decode(c.Documents); err != nil {
			return nil, err
		}
	}
	d.Set("tools", tools)
	d.Set("documents", documents)
	d.Set("add_generation_prompt", c.AddGeneration)
	return d, nil
}

// decode reads JSON. Python keeps half of a pair of surrogates, which no text can hold.
func decode(raw []byte) (any, error) {
	v, err := jinja.Decode(raw)
	if err == nil && (bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`))) &&
		holdsReplacement(v) {
		return nil, errors.New("holds what is no character")
	}
	return v, err
}

func holdsReplacement(v any) (found bool) {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, unicode.ReplacementChar)
	case []any:
		return slices.ContainsFunc(v, holdsReplacement)
	case *jinja.Dict:
		v.Each(func(key, value any) { found = found || holdsReplacement(key) || holdsReplacement(value) })
	}
	return found
}

// endMark is put behind the message that is to be continued, and what the template writes from it on is cut off.
const endMark = "CONTINUE_FINAL_MESSAGE_TAG "

// markFinal marks the end of the last text of a message, and returns that text.
func markFinal(message *jinja.Dict) (string, error) {
	content, _ := message.Get("content")
	switch content := content.(type) {
	case string:
		message.Set("content", content+endMark)
		return content, nil
	case []any:
		for _, p := range slices.Backward(content) {
			part := p.(*jinja.Dict)
			if text, ok := part.Get("text"); ok {
				part.Set("text", text.(string)+endMark)
				return text.(string), nil
			}
		}
	}
	return "", errors.New("continue_final_message: the last message has no text")
}

func cutFinal(rendered, final string) (string, error) {
	mark := strings.TrimSpace(endMark)
	i := strings.LastIndex(rendered, mark)
	if i < 0 || !strings.Contains(rendered, strings.TrimFunc(final, isSpace)) {
		return "", errors.New("continue_final_message: the template leaves the last message out")
	}
	if strings.HasPrefix(rendered[i:], endMark) {
		return rendered[:i], nil
	}
	return strings.TrimRightFunc(rendered[:i], isSpace), nil
}

// isSpace reports whether Python counts a character as whitespace.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
