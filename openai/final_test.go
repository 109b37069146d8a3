package openai

import (
	"strings"
	"testing"
)

type keeper struct{ kept []byte }

func (k *keeper) Keep(b []byte) { k.kept = append(k.kept, b...) }

func TestFinal(t *testing.T) {
	const done = "event: response.completed\ndata: {\"response\":{\"id\":\"r\"}}\n\n"
	tests := []struct {
		name, answer, want string
		done               bool
	}{
		{"a body", ` {"id":"r"}`, `{"id":"r"}`, false},
		{"a body behind a byte order mark", "\xef\xbb\xbf{\"id\":\"r\"}", `{"id":"r"}`, false},
		{"a stream behind a byte order mark", "\xef\xbb\xbf" + done, ` {"response":{"id":"r"}}`, true},
		{"a stream", "event: response.created\ndata: {\"a\":1}\n\n" + done + "data: [DONE]\n\n",
			` {"response":{"id":"r"}}`, true},
		{"with CRLF", strings.ReplaceAll("event: response.created\ndata: {\"a\":1}\n\n"+done, "\n", "\r\n"),
			` {"response":{"id":"r"}}`, true},
		{"with CR", strings.ReplaceAll(done, "\n", "\r"), ` {"response":{"id":"r"}}`, true},
		{"incomplete", strings.Replace(done, "completed", "incomplete", 1), ` {"response":{"id":"r"}}`, true},
		{"comments", ": hello\n\n" + done, ` {"response":{"id":"r"}}`, true},
		{"failed", strings.Replace(done, "completed", "failed", 1), ``, false},
		{"cut", strings.TrimSuffix(done, "\n"), ` {"response":{"id":"r"}}`, false},
		{"cut in the data", done[:40], ` {"respon`, false},
		{"the name in a text", "event: response.output_text.delta\ndata: event: response.completed\n\n", ``, false},
		{"a long field", strings.Repeat("x", maxWord+8) + ": 1\n\n" + done, ` {"response":{"id":"r"}}`, true},
		{"a blank behind the first letter", "event: r esponse.completed\ndata: 1\n\n", ``, false},
		{"a long name", "event: response.completedresponse.completed\ndata: 1\n\n", ``, false},
		{"a name that begins alike", "event: response.incompleted\ndata: 1\n\n", ``, false},
		{"CRLF, and a blank line of LF", "event: response.completed\r\ndata: 1\r\n\n", ` 1`, true},
		{"a line without a colon", "event: response.completed\ndata: 1\nretry\n", ` 1`, false},
		{"LF some time after CR", "event: response.completed\rdata: 1\n\n", ` 1`, true},
		{"a blank in the name", "event: response .completed\ndata: 1\n\n", ``, false},
		{"another name behind the data", "event: response.completed\ndata: 1\nevent: x\n\n", ` 1`, false},
		{"no data", "event: response.completed\n\ndata: 1\n\n", ``, false},
		{"nothing", ``, ``, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1, 2, 7, 1 << 20} {
				var f Final
				var k keeper
				for rest := test.answer; rest != ""; {
					n := min(size, len(rest))
					f.Feed([]byte(rest[:n]), &k)
					rest = rest[n:]
				}
				if body := strings.HasPrefix(test.name, "a body"); f.JSON() != body {
					t.Errorf("chunks of %d: got a body %v, want %v", size, f.JSON(), body)
				}
				if string(k.kept) != test.want || f.Done() != test.done {
					t.Errorf("chunks of %d: got %q, done %v, want %q, %v", size, k.kept, f.Done(), test.want, test.done)
				}
			}
		})
	}
}

// FuzzFinal: however an answer is cut, the same is kept of it.
func FuzzFinal(f *testing.F) {
	f.Add([]byte("event: response.completed\r\ndata: {}\r\n\r\n"), 3)
	f.Add([]byte(" {\"id\":1}"), 1)
	f.Fuzz(func(t *testing.T, answer []byte, size int) {
		var whole, cut Final
		var a, b keeper
		whole.Feed(answer, &a)
		size = max(1, min(size, 64))
		for rest := answer; len(rest) > 0; {
			n := min(size, len(rest))
			cut.Feed(rest[:n], &b)
			rest = rest[n:]
		}
		if string(a.kept) != string(b.kept) || whole.Done() != cut.Done() {
			t.Errorf("%q: whole %q, %v; cut by %d %q, %v", answer, a.kept, whole.Done(), size, b.kept, cut.Done())
		}
	})
}
