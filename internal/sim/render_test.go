package sim

import (
	"bytes"
	"strings"
	"testing"
)

// TestLeftOut: prompts are the same with Claude Code's billing header and without it, and wherever a cache is to end.
func TestLeftOut(t *testing.T) {
	const header = "x-anthropic-billing-header: cc_version=2.1.37.3a3; cch=a1b2c;"
	for _, tc := range []struct {
		name       string
		api        api
		with, want string
	}{
		{"a block", apiMessages, `"system":[{"type":"text","text":"` + header + `"},{"type":"text","text":"a"}],"messages":[]`,
			`"system":[{"type":"text","text":"a"}],"messages":[]`},
		{"a string", apiMessages, `"system":"` + header + `\na","messages":[]`, `"system":"a","messages":[]`},
		{"a message", apiMessages, `"messages":[{"role":"system","content":"` + header + `\na"}]`,
			`"messages":[{"role":"system","content":[]}]`},
		{"a chat", apiChat, `"messages":[{"role":"system","content":"` + header + `\na"}]`,
			`"messages":[{"role":"system","content":[{"type":"text","text":"a"}]}]`},
		{"instructions", apiResponses, `"instructions":"` + header + `\na","input":"b"`, `"instructions":"a","input":"b"`},
		{"where a cache is to end", apiMessages, `"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f",` +
			`"cache_control":{"type":"ephemeral"}},"s"]}]`,
			`"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f"},"s"]}]`},
		{"an item", apiResponses, `"input":[{"role":"system","content":"` + header + `\na"}]`,
			`"input":[{"role":"system","content":"a"}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rendered := func(body string) prompt {
				r, failure := parseRequest(tc.api, []byte(`{"max_tokens":1,`+body+`}`), Config{}.withDefaults())
				if failure != nil {
					t.Fatal(failure)
				}
				return r.prompt
			}
			if got, want := rendered(tc.with), rendered(tc.want); !bytes.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestItemsTellApart: what a tool was asked and what it answered is of the prompt, also where it is no message.
func TestItemsTellApart(t *testing.T) {
	const call, output = `{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}`,
		`{"type":"function_call_output","call_id":"c","output":"42"}`
	seen := map[string]string{}
	for _, items := range []string{call, strings.Replace(call, "1", "2", 1), call + "," + output,
		call + "," + strings.Replace(output, "42", "43", 1), `{"role":"user","content":"hi"}`} {
		r, failure := parseRequest(apiResponses, []byte(`{"input":[`+items+`]}`), Config{}.withDefaults())
		if failure != nil {
			t.Fatal(failure)
		}
		if other, ok := seen[string(r.prompt)]; ok {
			t.Errorf("%s\nand\n%s\nhave one prompt, want two", items, other)
		}
		seen[string(r.prompt)] = items
	}
}

// TestImages: another image is another prompt, and the same one is the same however it is given.
func TestImages(t *testing.T) {
	part := func(a api, parts string) string {
		r, failure := parseRequest(a, []byte(`{"max_tokens":1,"messages":[{"role":"user","content":[`+parts+`]}]}`),
			Config{}.withDefaults())
		if failure != nil {
			t.Fatal(failure)
		}
		return string(r.prompt)
	}
	const url, text = `{"type":"image_url","image_url":{"url":"a"}}`, `{"type":"image_url","image_url":"a"}`
	const source = `{"type":"image","source":{"type":"base64","data":"a"}}`
	for _, test := range []struct {
		name        string
		api         api
		first, then string
		same        bool
	}{
		{"again", apiChat, url, url, true}, {"as a text", apiChat, url, text, true},
		{"another one", apiChat, url, strings.Replace(url, `"a"`, `"b"`, 1), false},
		{"another source", apiMessages, source, strings.Replace(source, `"a"`, `"b"`, 1), false},
		{"one more", apiChat, url, url + "," + url, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if same := part(test.api, test.first) == part(test.api, test.then); same != test.same {
				t.Errorf("%s and %s: got one prompt %v, want %v", test.first, test.then, same, test.same)
			}
		})
	}
}
