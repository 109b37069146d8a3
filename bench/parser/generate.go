package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes bodies: sound ones, and such with some bytes changed.
type generator struct {
	*rand.Rand
	b strings.Builder
}

// pieces are what is put into strings and, when a body is changed, anywhere.
var pieces = []string{
	"a", "hello world ", "\u00e9", "\u044f\u0437\u044b\u043a", "\u6f22\u5b57", "\U0001f600", `\n`, `\"`, `\\`, `\/`,
	`\u0041`, `\u00e9`, `\u6f22`,
	`\ud83d\ude00`, `\ud83d`, `\ude00`, `\ud83d\u0041`, `\ud83d\ud83d`, `\u0000`, `\x`, `\u12g4`, `\u12`, "\x00",
	"\x1f", "\x7f", "\xc0\xaf", "\xc1\xbf",
	"\xe0\x80\x80", "\xe0\x9f\xbf", "\xe0\xa0\x80", "\xed\xa0\x80", "\xed\x9f\xbf", "\xef\xbb\xbf", "\xef\xbf\xbf",
	"\xf0\x80\x80\x80", "\xf0\x90\x80\x80",
	"\xf4\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xff", "\xe6\xbc", "NaN", "Infinity", "-",
	"+1", "01", ".5", "1.", "1e", "1e+", "1e5",
	"-0", "null", "true", "false", "tru", "{", "}", "[", "]", ",", ":", `"`, " ", "\t", "\r\n", "\v", "\u00a0", `{"x":`,
	`"model":`, "//", "'a'",
}

// sound is how many of pieces stand for themselves in a string.
const sound = 18

func (g *generator) next() []byte {
	g.b.Reset()
	g.object(0, true)
	body := []byte(g.b.String())
	if g.IntN(5) < 2 {
		return body
	}
	for range 1 + g.IntN(3) {
		body = g.change(body)
	}
	return body
}

// change puts a piece in, takes a part out, doubles one, or changes a byte.
func (g *generator) change(body []byte) []byte {
	at := g.IntN(len(body) + 1)
	end := min(at+1+g.IntN(8), len(body))
	switch g.IntN(5) {
	case 0, 1:
		return append(body[:at:at], append([]byte(pieces[g.IntN(len(pieces))]), body[at:]...)...)
	case 2:
		return append(body[:at:at], body[end:]...)
	case 3:
		return append(body[:end:end], body[at:]...)
	}
	if at < len(body) {
		body[at] = byte(g.IntN(256))
	}
	return body
}

var keys = []string{"model", "messages", "prompt", "user", "stream", "stream_options", "max_tokens", "temperature",
	"stop", "n", "x", "other", `m\u006fdel`}

func (g *generator) object(depth int, top bool) {
	g.b.WriteByte('{')
	for i := range g.IntN(6) {
		if i > 0 {
			g.b.WriteByte(',')
		}
		g.space()
		key := "x"
		if top || g.IntN(3) == 0 {
			key = keys[g.IntN(len(keys))]
		}
		fmt.Fprintf(&g.b, `"%s"`, key)
		g.space()
		g.b.WriteByte(':')
		g.space()
		g.value(key, depth+1)
		g.space()
	}
	g.b.WriteByte('}')
}

func (g *generator) space() {
	if g.IntN(8) == 0 {
		g.b.WriteString([]string{" ", "\n", "\t", "\r\n  "}[g.IntN(4)])
	}
}

// value writes what belongs to a key, or anything.
func (g *generator) value(key string, depth int) {
	if g.IntN(6) > 0 {
		switch key {
		case "messages":
			g.list(g.IntN(4), func() {
				fmt.Fprintf(&g.b, `{"role":"%s","content":`, []string{"user", "system", "assistant", "tool"}[g.IntN(4)])
				g.string()
				g.b.WriteByte('}')
			})
			return
		case "prompt":
			g.prompt()
			return
		case "model", "user", `m\u006fdel`:
			g.string()
			return
		case "stream":
			g.b.WriteString([]string{"true", "false"}[g.IntN(2)])
			return
		case "stream_options":
			g.b.WriteString([]string{`{"include_usage":true}`, `{"include_usage":false}`,
				`{"x":1,"include_usage":true}`}[g.IntN(3)])
			return
		}
	}
	g.any(depth)
}

func (g *generator) prompt() {
	switch g.IntN(4) {
	case 0:
		g.list(g.IntN(5), func() { fmt.Fprint(&g.b, g.IntN(100_000)) })
	case 1:
		g.list(g.IntN(4), g.string)
	default:
		g.string()
	}
}

func (g *generator) list(n int, item func()) {
	g.b.WriteByte('[')
	for i := range n {
		if i > 0 {
			g.b.WriteByte(',')
		}
		g.space()
		item()
	}
	g.b.WriteByte(']')
}

func (g *generator) any(depth int) {
	switch n := g.IntN(10); {
	case n < 2 && depth < 6:
		g.object(depth, false)
	case n < 4 && depth < 6:
		g.list(g.IntN(4), func() { g.any(depth + 1) })
	case n < 6:
		g.string()
	case n < 8:
		g.b.WriteString([]string{"0", "-0", "17", "-3.25", "1e9", "1E-7", "123456789012345678901234567890"}[g.IntN(7)])
	default:
		g.b.WriteString([]string{"true", "false", "null"}[g.IntN(3)])
	}
}

func (g *generator) string() {
	g.b.WriteByte('"')
	for range g.IntN(6) {
		if g.IntN(20) == 0 {
			g.b.WriteString(strings.Repeat(pieces[g.IntN(sound)], g.IntN(40)))
			continue
		}
		g.b.WriteString(pieces[g.IntN(sound)])
	}
	g.b.WriteByte('"')
}
