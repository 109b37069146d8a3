package chat

import (
	"encoding/json"
	"testing"
)

// FuzzChat: whatever clients write as messages, tools and documents is rendered or refused.
func FuzzChat(f *testing.F) {
	for _, r := range readGolden(f).Chats {
		f.Add([]byte(r.Messages), []byte(r.Tools), []byte(r.Documents), r.Continue)
	}
	f.Add([]byte(`[]`), []byte(nil), []byte(nil), true)
	f.Add([]byte(`[{"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": "{"}}]}]`),
		[]byte(`[null]`), []byte(`{}`), true)
	var templates []*Template
	for _, file := range []string{"developer.jinja", "dump.jinja", "dump_parts.jinja", "headers.jinja",
		"instruct.jinja", "parts.jinja", "thinking.jinja"} {
		templates = append(templates, open(f, file))
	}
	raw := func(b []byte) json.RawMessage {
		if len(b) == 0 {
			return nil
		}
		return b
	}
	f.Fuzz(func(t *testing.T, messages, tools, documents []byte, proceed bool) {
		c := Chat{Messages: raw(messages), Tools: raw(tools), Documents: raw(documents), AddGeneration: !proceed,
			Continue: proceed}
		for _, template := range templates {
			text, _, err := template.Render(&c)
			if err != nil && text != "" {
				t.Errorf("%s: %q beside the error %v", messages, text, err)
			}
		}
	})
}
