package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

const english = "The quick brown fox jumps over the lazy dog, and then it rests for a while under the old tree. "

// chatBody is a conversation of about size bytes: a system prompt and turns of 2 KB at most, each line ending in \n.
func chatBody(size int, write func(any) []byte, text string) []byte {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := []message{{"system", "You are a helpful assistant."}}
	roles := []string{"user", "assistant"}
	turn := min(size/2, 16<<10)
	for n := 0; n < size; n += turn {
		body := strings.Repeat(text, turn/len(text)+1)[:turn]
		messages = append(messages, message{roles[len(messages)%2], strings.ToValidUTF8(body, "")})
	}
	return write(map[string]any{"messages": messages, "model": "meta-llama/Llama-3.1-8B-Instruct", "stream": true,
		"max_tokens": 256})
}

func compact(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}

// pythonDumps writes as Python's json.dumps does: a space behind comma and colon between values, all but ASCII escaped.
func pythonDumps(v any) []byte {
	var out bytes.Buffer
	inString := false
	raw := compact(v)
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\':
			out.Write(raw[i : i+2])
			i += 2
			continue
		case c >= 0x80:
			r := []rune(string(raw[i:min(len(raw), i+4)]))[0]
			for _, u := range utf16Of(r) {
				fmt.Fprintf(&out, "\\u%04x", u)
			}
			i += len(string(r))
			continue
		case c == '"':
			inString = !inString
		}
		out.WriteByte(c)
		if !inString && (c == ',' || c == ':') {
			out.WriteByte(' ')
		}
		i++
	}
	return out.Bytes()
}

func utf16Of(r rune) []rune {
	if r < 0x10000 {
		return []rune{r}
	}
	r -= 0x10000
	return []rune{0xd800 + r>>10, 0xdc00 + r&0x3ff}
}

var benchBodies = []struct {
	name string
	body []byte
}{
	{"2KB", chatBody(2<<10, compact, english)},
	{"16KB", chatBody(16<<10, compact, english)},
	{"400KB", chatBody(400<<10, compact, english)},
	{"400KB/lines", chatBody(400<<10, compact, english+"\n\"quoted\"\n")},
	{"400KB/one", []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat(english, 4300) +
		`"}]}`)},
	{"400KB/chinese", chatBody(400<<10, compact, "敏捷的棕色狐狸跳过了懒狗,然后它在老树下休息了一会儿。")},
	{"400KB/russian", chatBody(400<<10, compact, "Быстрая коричневая лиса прыгает через ленивую собаку. ")},
	{"400KB/python-chinese", chatBody(400<<10, pythonDumps, "敏捷的棕色狐狸跳过了懒狗,然后它在老树下休息了一会儿。")},
}

func BenchmarkScan(b *testing.B) {
	for _, c := range benchBodies {
		b.Run(c.name, func(b *testing.B) {
			r := new(Request)
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Scan(APIChat, c.body); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.body)), "ns/byte")
		})
	}
}

// BenchmarkGJSON is what a filter on gjson would do: validate, look two fields up, count the text of the messages.
func BenchmarkGJSON(b *testing.B) {
	for _, c := range benchBodies {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			chars := 0
			for b.Loop() {
				if !gjson.ValidBytes(c.body) {
					b.Fatal("invalid")
				}
				_ = gjson.GetBytes(c.body, "model").String()
				_ = gjson.GetBytes(c.body, "stream").Bool()
				gjson.GetBytes(c.body, "messages").ForEach(func(_, m gjson.Result) bool {
					chars += len(m.Get("content").String())
					return true
				})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.body)), "ns/byte")
		})
	}
}
