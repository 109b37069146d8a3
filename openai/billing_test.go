package openai

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// unbill leaves the first line out of system text that begins with the billing header, or all of that text.
func (o *result) unbill(first int, whole bool) {
	found := o.pieces[first:]
	o.pieces = o.pieces[:first:first]
	for _, p := range found {
		if p.kind == SegmentText && p.role == RoleSystem && strings.HasPrefix(p.text, BillingHeader) {
			_, rest, _ := strings.Cut(p.text, "\n")
			if whole {
				rest = ""
			}
			o.chars -= utf8.RuneCountInString(p.text) - utf8.RuneCountInString(rest)
			o.bytes -= len(p.text) - len(rest)
			if p.text = rest; rest == "" {
				continue
			}
		}
		o.pieces = append(o.pieces, p)
	}
}

// TestBillingHeaderIsKept: for servers that have it in their prompts, whatever else scans are asked for.
func TestBillingHeaderIsKept(t *testing.T) {
	body := []byte(`{"system":"` + BillingHeader + `: cch=a;\nYou are.","session":"s"}`)
	var r Request
	for _, keep := range []bool{true, false, true} {
		r.KeepBilling(keep)
		r.Want([]string{"session"})
		if err := r.Scan(APIMessages, body); err != nil {
			t.Fatal(err)
		}
		want := len("You are.")
		if keep {
			want += len(BillingHeader + ": cch=a;\n")
		}
		if r.Bytes != want {
			t.Errorf("keep %v: got %d bytes, want %d", keep, r.Bytes, want)
		}
		if got := r.Wanted(0); got != "s" {
			t.Errorf("keep %v: got %q of the key that is wanted, want s", keep, got)
		}
	}
}

func TestBillingHeader(t *testing.T) {
	const header = "x-anthropic-billing-header: cc_version=2.1.37.3a3; cc_entrypoint=cli; cch=a1b2c;"
	for _, c := range []struct {
		name string
		api  API
		body string
		want string
	}{
		{"a block", APIMessages, `{"system":[{"type":"text","text":"` + header + `"},{"type":"text","text":"You are."}]}`,
			`"" chars=8 bytes=8` + "\ntext system You are."},
		{"a block with a second line", APIMessages,
			`{"system":[{"text":"` + header + `\né","type":"text"},{"type":"text","text":"You are."}]}`,
			`"" chars=8 bytes=8` + "\ntext system You are."},
		{"a string", APIMessages, `{"system":"` + header + ` é\nYou \"are\"."}`,
			`"" chars=10 bytes=10` + "\ntext system You \"are\"."},
		{"a line that begins with an escape", APIMessages, `{"system":"` + header + `\n\"You\" are."}`,
			`"" chars=10 bytes=10` + "\ntext system \"You\" are."},
		{"a string without more", APIMessages, `{"system":"` + header + `"}`, `"" chars=0 bytes=0`},
		{"its name alone", APIMessages, `{"system":"x-anthropic-billing-header"}`, `"" chars=0 bytes=0`},
		{"a string that ends with its line", APIMessages, `{"system":"` + header + `\n"}`, `"" chars=0 bytes=0`},
		{"escapes", APIMessages,
			`{"system":"\u0078-anthropic-billing-\u0068eader: \ud83d\ude00\u00e9\t\u000aYou are."}`,
			`"" chars=8 bytes=8` + "\ntext system You are."},
		{"a duplicate", APIMessages, `{"system":"` + header + `\nold","system":[{"text":"` + header + `"},"new"]}`,
			`"" chars=3 bytes=3` + "\ntext system new"},
		{"behind other text", APIMessages, `{"system":"You are.\n` + header + `"}`,
			`"" chars=89 bytes=89` + "\ntext system You are.\n" + header},
		{"a beginning of it", APIMessages, `{"system":["x-anthropic-billing","x"]}`,
			`"" chars=20 bytes=20` + "\ntext system x-anthropic-billing\ntext system x"},
		{"a user's text", APIMessages, `{"messages":[{"role":"user","content":"x-anthropic-billing-header"}]}`,
			`"" chars=26 bytes=26 messages=1` + "\ntext user x-anthropic-billing-header"},
		{"a system message", APIMessages,
			`{"messages":[{"content":"` + header + `\na","role":"system"},{"role":"system","content":["` + header +
				`\na","b"]},{"role":"user","content":"c"}]}`,
			`"" chars=2 bytes=2 messages=3` + "\ntext system b\ntext user c"},
		{"a chat", APIChat, `{"messages":[{"content":"` + header + `\na","role":"system"},{"role":"system","content":` +
			`[{"type":"text","text":"` + header + `"},{"type":"text","text":"` + header + `\nb"}]},` +
			`{"role":"user","content":"` + `c"}]}`,
			`"" chars=3 bytes=3 messages=3` + "\ntext system a\ntext system b\ntext user c"},
		{"instructions", APIResponses, `{"instructions":"` + header + `\na","input":"b"}`,
			`"" chars=2 bytes=2 messages=1` + "\ntext system a\ntext user b"},
		{"items", APIResponses, `{"input":[{"role":"system","content":"` + header + `\na"},{"role":"user","content":"` +
			BillingHeader + `"},{"role":"system","content":[{"type":"input_text","text":"` + BillingHeader + `"}]}]}`,
			`"" chars=53 bytes=53 messages=3` + "\ntext system a\ntext user " + BillingHeader + "\ntext system " +
				BillingHeader},
		{"an output", APIResponses, `{"input":[{"role":"system","type":"function_call_output","content":"x",` +
			`"output":"` + BillingHeader + `"}]}`, `"" chars=26 bytes=26` + "\ntext tool " + BillingHeader},
		{"a tool's result", APIChat, `{"messages":[{"role":"system","content":[{"type":"tool_result","content":"` +
			BillingHeader + `"}]}]}`, `"" chars=26 bytes=26 messages=1` + "\ntext tool " + BillingHeader},
		{"a system message that is replaced", APIChat, `{"messages":[{"role":"system","content":"` + header +
			`"}],"tools":[1],"messages":[{"role":"system","content":"` + header + `\na"}]}`,
			`"" chars=1 bytes=1 messages=1 tools` + "\ntools none [1]\ntext system a"},
		{"an image", APIChat, `{"messages":[{"role":"system","content":[{"type":"image_url","image_url":{"url":"` +
			`x-anthropic-billing-header"}}]}]}`,
			`"" chars=0 bytes=0 messages=1 image` + "\nimage system x-anthropic-billing-header"},
		{"a developer's", APIChat, `{"messages":[{"role":"developer","content":"x-anthropic-billing-header"}]}`,
			`"" chars=26 bytes=26 messages=1` + "\ntext developer x-anthropic-billing-header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Request
			if err := r.Scan(c.api, []byte(c.body)); err != nil {
				t.Fatalf("Scan(%s): %v", c.body, err)
			}
			if got := summary(&r, []byte(c.body)); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.body, got, c.want)
			}
			for i, s := range r.Segments {
				if s.Escaped != strings.Contains(c.body[s.Start:s.End], `\`) {
					t.Errorf("%s: segment %d: escaped is %v", c.body, i, s.Escaped)
				}
			}
			checkAgainstOracle(t, &r, c.api, []byte(c.body))
		})
	}
}
