package chat

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// request is what a chat says of its prompt.
type request struct {
	Messages, Tools, Documents json.RawMessage
	Values                     map[string]json.RawMessage `json:"chat_template_kwargs"`
	Effort                     json.RawMessage            `json:"reasoning_effort"`
	Add                        *bool                      `json:"add_generation_prompt"`
	Continue                   bool                       `json:"continue_final_message"`
}

func (r *request) chat() *Chat {
	c := &Chat{Messages: r.Messages, Tools: r.Tools, Documents: r.Documents, Values: map[string]json.RawMessage{},
		AddGeneration: r.Add == nil || *r.Add, Continue: r.Continue}
	for key, value := range r.Values {
		c.Values[key] = value
	}
	if r.Effort != nil {
		c.Values["reasoning_effort"] = r.Effort
		c.Values["enable_thinking"] = json.RawMessage(map[bool]string{true: "true", false: "false"}[string(r.Effort) !=
			`"none"`])
	}
	return c
}

// golden are chats with what vLLM makes of them, see testdata/render.py.
type golden struct {
	Chats    []request
	Formats  map[string]string
	Rendered map[string][]json.RawMessage
}

func readGolden(t testing.TB) (g golden) {
	content, err := os.ReadFile("testdata/rendered.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &g); err != nil || len(g.Chats) < 30 || len(g.Rendered) < 7 {
		t.Fatal(len(g.Chats), len(g.Rendered), err)
	}
	return g
}

const config = `{"bos_token":"<s>","eos_token":{"content":"</s>"},"unk_token":null}`

func open(t testing.TB, file string) *Template {
	source, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(string(source))
	template, err := newTemplate(quoted, []byte(config))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return template
}

// TestAsVLLM: what is rendered is what vLLM renders, and what vLLM refuses is not rendered.
func TestAsVLLM(t *testing.T) {
	g := readGolden(t)
	unsure := 0
	for file, rendered := range g.Rendered {
		template := open(t, file)
		if got := map[bool]string{true: "openai", false: "string"}[template.plain.parts]; got != g.Formats[file] {
			t.Errorf("%s: wants %s, vLLM says %s", file, got, g.Formats[file])
		}
		for i, raw := range rendered {
			var want string
			refused := json.Unmarshal(raw, &want) != nil
			got, _, err := template.Render(g.Chats[i].chat())
			switch {
			case err == nil && (refused || got != want):
				t.Errorf("%s: %s:\ngot  %q\nwant %s", file, g.Chats[i].Messages, got, raw)
			case err != nil && !refused:
				unsure++
				t.Logf("%s: %s: %v", file, g.Chats[i].Messages, err)
			}
		}
	}
	if unsure > len(g.Rendered) { // the role that nobody knows
		t.Errorf("%d chats are left to others, want %d at most", unsure, len(g.Rendered))
	}
}

// TestUnsure: what the engine may see otherwise is left to it.
func TestUnsure(t *testing.T) {
	template := open(t, "dump.jinja")
	for body, want := range map[string]string{
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}]}`: "content[0]: type",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a","x":1}]}]}`:                 "x: is not known",
		`{"messages":[{"role":"critic","content":"a"}]}`:                                              `role: "critic"`,
		`{"messages":[{"role":"assistant","tool_calls":[{"type":"custom","id":"1"}]}]}`:               "tool_calls[0]",
		`{"messages":[{"role":"tool","content":"a"}]}`:                                                "tool_call_id",
		`{"messages":[{"role":"user","content":"\ud800"}]}`:                                           "no character",
		`{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{"tools":1}}`:             "chat_template_kwargs",
		`{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"web_search"}]}`:                "tools[0]",
		`{"messages":[{"role":"user","content":"a"}],"continue_final_message":true}`:                  "exclude",
		`{"messages":[{"role":"developer","content":"a","tools":[]}]}`:                                "tools",
		`{"messages":[{"role":"assistant","content":"a","refusal":"no"}]}`:                            "refusal",
		`{"messages":[{"role":"assistant","tool_calls":[{"type":"function","id":"1","function":
			{"name":"f","arguments":"{\"a\":NaN}"}}]}]}`: "NaN",
	} {
		var r request
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(body, err)
		}
		if text, _, err := template.Render(r.chat()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q and %v, want %q", body, text, err, want)
		}
	}
}

// TestUnsureOfForms: messages, parts, calls and tools that are not of the form that is known are left to the engine,
// and named.
func TestUnsureOfForms(t *testing.T) {
	template := open(t, "dump.jinja")
	const (
		user      = `{"role":"user","content":"a"}`
		call      = `{"type":"function","id":"1","function":{"name":"f","arguments":"{}"}}`
		tool      = `{"type":"function","function":{"name":"f","parameters":{}}}`
		calling   = `{"role":"assistant","tool_calls":`
		noCall    = "messages[0]: tool_calls[0]: is not a function's call with an id"
		noName    = "messages[0]: tool_calls[0]: function: has no name or no arguments in a text"
		noTool    = "tools[0]: is no function"
		oddTool   = "tools[0]: function: is not as functions are"
		deferring = "tools[0]: defer_loading: is not known here"
	)
	in := func(old, next string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, next, 1) }
	}
	for _, tc := range []struct{ name, messages, tools, want string }{
		{"known", `[` + user + `,` + calling + `[` + call + `]}]`, `[` + tool + `]`, ""},
		{"no messages", `[]`, "", "messages: is no list of messages"},
		{"a message alone", user, "", "messages: is no list of messages"},
		{"a text as a message", `["a"]`, "", "messages[0]: is no message"},
		{"no role", `[{"content":"a"}]`, "", "messages[0]: role: is no text"},
		{"a role that is a number", `[{"role":1,"content":"a"}]`, "", "messages[0]: role: is no text"},
		{"a name that is a number", in(`"user"`, `"user","name":1`)(`[` + user + `]`), "", "messages[0]: name: is no text"},
		{"a task", in(`"user"`, `"user","task":"t"`)(`[` + user + `]`), "", "messages[0]: task: is not known here"},
		{"a number as content", in(`"a"`, `1`)(`[` + user + `]`), "",
			"messages[0]: content: is neither a text nor a list of parts"},
		{"a number as a part", in(`"a"`, `[1]`)(`[` + user + `]`), "", "messages[0]: content[0]: is no part"},
		{"a part without a text", in(`"a"`, `[{"type":"text"}]`)(`[` + user + `]`), "",
			"messages[0]: content[0]: text: is no text"},
		{"the second part", in(`"a"`, `["a",{"type":"text","text":1}]`)(`[` + user + `]`), "",
			"messages[0]: content[1]: text: is no text"},
		{"a call alone", `[` + calling + call + `}]`, "", "messages[0]: tool_calls: is no list"},
		{"a text as a call", `[` + calling + `["a"]}]`, "", "messages[0]: tool_calls[0]: is no call"},
		{"a call without an id", in(`"id":"1",`, "")(`[` + calling + `[` + call + `]}]`), "", noCall},
		{"a call without a type", in(`"type":"function",`, "")(`[` + calling + `[` + call + `]}]`), "", noCall},
		{"a call of nothing", `[` + calling + `[{"type":"function","id":"1"}]}]`, "", noCall},
		{"a call without a name", in(`"name":"f",`, "")(`[` + calling + `[` + call + `]}]`), "", noName},
		{"arguments that are an object", in(`"{}"`, "{}")(`[` + calling + `[` + call + `]}]`), "", noName},
		{"a byte order mark", in(`"{}"`, `"\ufeff{}"`)(`[` + calling + `[` + call + `]}]`), "",
			"messages[0]: tool_calls[0]: arguments: a byte order mark in front is not known here"},
		{"reasoning that is a list", `[{"role":"assistant","content":"a","reasoning_content":[]}]`, "",
			"messages[0]: reasoning: is no text"},
		{"a tool alone", `[` + user + `]`, tool, "tools: is no list of tools"},
		{"no tools", `[` + user + `]`, `[]`, "tools: is no list of tools"},
		{"a text as a tool", `[` + user + `]`, `["a"]`, "tools[0]: is no tool"},
		{"a tool of another type", `[` + user + `]`, in(`"type":"function"`, `"type":"custom"`)(`[` + tool + `]`), noTool},
		{"a tool of nothing", `[` + user + `]`, `[{"type":"function"}]`, noTool},
		{"a tool without a name", `[` + user + `]`, in(`"name":"f",`, "")(`[` + tool + `]`), oddTool},
		{"parameters that are a list", `[` + user + `]`, in(`{}`, "[]")(`[` + tool + `]`), oddTool},
		{"a description that is a number", `[` + user + `]`, in(`"f"`, `"f","description":1`)(`[` + tool + `]`), oddTool},
		{"strict as a text", `[` + user + `]`, in(`"f"`, `"f","strict":"yes"`)(`[` + tool + `]`), oddTool},
		{"a tool that is loaded later", `[` + user + `]`, in(`"type"`, `"defer_loading":true,"type"`)(`[` + tool + `]`),
			deferring},
		{"a function that is loaded later", `[` + user + `]`, in(`"f"`, `"f","defer_loading":true`)(`[` + tool + `]`),
			deferring},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &Chat{Messages: json.RawMessage(tc.messages), AddGeneration: true}
			if tc.tools != "" {
				c.Tools = json.RawMessage(tc.tools)
			}
			got := ""
			text, _, err := template.Render(c)
			if err != nil {
				got = err.Error()
			}
			if got != tc.want || (text == "") != (tc.want != "") {
				t.Errorf("got %q and %q, want %q", text, got, tc.want)
			}
		})
	}
}

// TestOpen: where templates come from, and what is wrong with them.
func TestOpen(t *testing.T) {
	const plain = `{"messages":[{"role":"user","content":"a"}]}`
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string // of the text, or of the mistake
	}{
		{"none", map[string]string{fileConfig: `{}`}, ErrNone.Error()},
		{"no files", nil, ErrNone.Error()},
		{"in the configuration", map[string]string{fileConfig: `{"chat_template":"c{{ messages[0].content }}"}`}, "ca"},
		{"in a file of its own", map[string]string{fileConfig: `{"chat_template":"c"}`, fileTemplate: "f\n"}, "f"},
		{"with names", map[string]string{fileConfig: `{"chat_template":[{"name":"tool_use","template":"t"},
			{"name":"default","template":"d"}]}`}, "d"},
		{"no default", map[string]string{fileConfig: `{"chat_template":[{"name":"rag","template":"t"}]}`}, "has no default"},
		{"a token", map[string]string{fileConfig: `{"bos_token":{"content":"B"}}`, fileTemplate: "{{ bos_token }}"}, "B"},
		{"a token that is not told", map[string]string{fileTemplate: "{{ bos_token }}"}, "reads bos_token"},
		{"a mistake", map[string]string{fileTemplate: "a\n{{ x | nosuch }}"}, `line 2: the filter "nosuch"`},
		{"gpt-oss's", map[string]string{fileTemplate: "<|start|>{{ messages[0].role }}<|channel|>final<|message|>"},
			"is of the harmony format"},
		{"a processor's", map[string]string{fileProcessor: "{}", fileTemplate: "a"}, fileProcessor},
		{"no JSON", map[string]string{fileConfig: "{"}, fileConfig},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var r request
			_ = json.Unmarshal([]byte(plain), &r)
			template, err := Open(dir)
			got := ""
			if err == nil {
				got, _, err = template.Render(r.chat())
			}
			if err == nil && got != tc.want || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q and %v, want %q", got, err, tc.want)
			}
			if errors.Is(err, ErrNone) != (tc.want == ErrNone.Error()) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestTimed: a text that tells the time is not kept.
func TestTimed(t *testing.T) {
	quoted, _ := json.Marshal(`{{ strftime_now("%Y") }}`)
	template, err := newTemplate(quoted, []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	var r request
	_ = json.Unmarshal([]byte(`{"messages":[{"role":"user","content":"a"}]}`), &r)
	if text, timed, err := template.Render(r.chat()); err != nil || !timed || len(text) != 4 {
		t.Errorf("got %q, %v and %v", text, timed, err)
	}
}
