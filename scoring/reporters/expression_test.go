package reporters

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
)

func TestExpressions(t *testing.T) {
	usage := &openai.Usage{PromptTokens: 30, CompletionTokens: 12, TotalTokens: 42, CachedTokens: 16}
	tests := []struct {
		text   string
		cached bool
		want   float64
		ok     bool
	}{
		{"usage.prompt_tokens + usage.completion_tokens", false, 42, true},
		{"usage.total_tokens\n", false, 42, true},
		{"(has(usage.prompt_tokens) ? usage.prompt_tokens : 0) + 1", false, 31, true},
		{"usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens", true, 14, true},
		{"usage.prompt_tokens - usage.prompt_token_details.cached_tokens", true, 14, true},
		{"usage.prompt_token_details.cached_tokens", false, 0, false},
		{"usage.prompt_tokens - usage.prompt_token_details.cached_tokens", false, 0, false},
		{"usage.prompt_token_details.cached_tokens + 1", false, 0, false},
		{strings.Repeat("(1) + int(1) + ", 60) + "1", false, 121, true},
		{strings.Repeat("(true ? !false : false) && ", 60) + "true", false, 1, true},
		{"has(usage.prompt_token_details.cached_tokens) ? usage.prompt_token_details.cached_tokens : 7", false, 7,
			true},
		{"has(usage.prompt_token_details.cached_tokens) && usage.prompt_token_details.cached_tokens > 0", false, 0,
			true},
		{"usage.prompt_token_details.cached_tokens > 0 || true", false, 1, true},
		{"1 + 2 * 3", false, 7, true},
		{"(1 + 2) * 3", false, 9, true},
		{"10 - 3 - 2", false, 5, true},
		{"7 / 2", false, 3.5, true},
		{"int(7 / 2)", false, 3, true},
		{"7 % 4", false, 3, true},
		{"double(2) * 1.5", false, 3, true},
		{"-usage.prompt_tokens", false, -30, true},
		{"1 / 0", false, 0, false},
		{"1 % 0", false, 0, false},
		{"1 < 2 && !(2 <= 1)", false, 1, true},
		{"2 <= 2 && 2 >= 2 && !(2 < 2) && !(2 > 2)", false, 1, true},
		{"1 <= 2 && 2 > 1 && !(1 > 2) && !(1 >= 2)", false, 1, true},
		{"2 == 2 && !(2 != 2) && !(1 == 2) && 1 != 2", false, 1, true},
		{"2 - 3 * 4 + 6 / 3", false, -8, true},
		{strings.Repeat("!", 48) + "true", false, 1, true},
		{"1 == 1 ? 5 : 6", false, 5, true},
		{"1 != 1 || 2 >= 3", false, 0, true},
		{"true == false", false, 0, true},
		{"true < false", false, 0, false},
		{"true + 1", false, 0, false},
		{"1 ? 2 : 3", false, 0, false},
		{"1 && true", false, 0, false},
		{"!1", false, 0, false},
		{"-true", false, 0, false},
	}
	for _, tc := range tests {
		t.Run(tc.text, func(t *testing.T) {
			n, mistake := parse(tc.text)
			if mistake != "" {
				t.Fatal(mistake)
			}
			v := variables{usage, tc.cached}
			got, ok := n.eval(&v)
			if ok != tc.ok || ok && got.number != tc.want {
				t.Errorf("got %v, %v, want %v, %v", got.number, ok, tc.want, tc.ok)
			}
			if allocated := testing.AllocsPerRun(10, func() { _, _ = n.eval(&v) }); allocated != 0 {
				t.Errorf("got %v allocations, want none", allocated)
			}
		})
	}
}

func TestExpressionMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "ends too early",
		"1 +":                            "ends too early",
		"usage":                          "has usage.; known are",
		"usage.tokens":                   "has usage.tokens; known are completion_tokens,",
		"has(1)":                         "has has() of something else",
		"has(usage.total_tokens":         "lacks a closing parenthesis",
		"(1":                             "lacks a closing parenthesis",
		"1 ? 2":                          "lacks the colon",
		"1 2":                            `has "2" behind its end`,
		"size(usage)":                    `has "size"; known are`,
		"int 3":                          "lacks a parenthesis behind int",
		"1..2":                           `has "1..2", which is no number`,
		"'a'":                            `has "'" where a number or a name is right`,
		strings.Repeat("(", 1000):        "is nested too deep",
		strings.Repeat("!", 49) + "true": "is nested too deep",
		strings.Repeat("1?1:", 1000):     "is nested too deep",
		strings.Repeat("int(", 100000):   "is nested too deep",
	} {
		if _, mistake := parse(text); !strings.HasPrefix(mistake, want) {
			t.Errorf("%.20q: got %q, want %q", text, mistake, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("has(usage.total_tokens) ? usage.total_tokens * 2 : -1")
	f.Fuzz(func(_ *testing.T, text string) {
		n, _ := parse(text)
		n.eval(&variables{usage: &openai.Usage{PromptTokens: 1}})
	})
}
