package jinja

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// rendered are templates with what transformers make of them, see testdata/render.py.
func rendered(t testing.TB) (context *Dict, cases [][2]json.RawMessage) {
	t.Helper()
	content, err := os.ReadFile("testdata/rendered.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Context json.RawMessage      `json:"context"`
		Cases   [][2]json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(content, &file); err != nil || len(file.Cases) < 400 {
		t.Fatalf("%d cases, %v", len(file.Cases), err)
	}
	v, err := Decode(file.Context)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*Dict), file.Cases
}

// TestAsTransformers: what is rendered is what transformers render, or a mistake; and few are mistakes.
func TestAsTransformers(t *testing.T) {
	context, cases := rendered(t)
	equal, unknown := 0, 0
	for _, c := range cases {
		var source, want string
		if err := json.Unmarshal(c[0], &source); err != nil {
			t.Fatal(err)
		}
		fails := json.Unmarshal(c[1], &want) != nil
		var got Result
		template, err := Parse(source)
		if err == nil {
			got, err = template.Render(context)
		}
		switch {
		case err != nil && fails, err == nil && !fails && got.Text == want:
			equal++
		case err != nil:
			unknown++
			t.Logf("%q: %v, want %q", source, err, want)
		default:
			t.Errorf("%q: got %q, want %s", source, got.Text, c[1])
		}
	}
	if unknown > 35 {
		t.Errorf("%d of %d templates are not known, want less", unknown, len(cases))
	}
}

// TestMistakes: where Jinja2 makes a text that is not known here, there is a mistake, and not another text.
func TestMistakes(t *testing.T) {
	for _, source := range []string{
		`{% set a = [1, 2] | map('string') %}{% for x in a %}{{ x }}{% break %}{% endfor %}{{ a | list }}`,
		`{{ '\é' }}`, `{{ 'aΣ'.title() }}`, `{{ 'aΣ'.capitalize() }}`, `{{ 'aΣ' | capitalize }}`,
		`{{ 'a' == ('a' | safe) }}`, `{{ ('a' | safe) in ['a'] }}`,
		`{% set ns = namespace(n=0) %}{% for x in [1, 2, 3] if ns.n < 2 %}{% set ns.n = ns.n + 1 %}{{ x }}{% endfor %}`,
		`{% set ns = namespace(n=0) %}{% for x in [1, 2] if ns.n == x - 1 %}{% set ns.n = x %}{{ x }}{% endfor %}`,
		`{{ -2 ** m }}`, `{{ (1 - 3) ** m }}`, `{{ [0.1, 0.2, 0.3] | sum }}`, `{{ [0.1, 0.2] | sum(start=1) }}`,
	} {
		var got Result
		template, err := Parse(source)
		if err == nil {
			got, err = template.Render(NewDict("m", int64(2)))
		}
		if err == nil {
			t.Errorf("%q: got %q, want a mistake", source, got.Text)
		}
	}
}

// TestBounds: no template and no input takes more than its share.
func TestBounds(t *testing.T) {
	for _, source := range []string{
		`{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`,
		`{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}`,
		`{{ 'a' * 1000000000 }}`, `{{ 10 ** 1000000000 }}`, `{{ range(1000000) | list }}`,
		`{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{{ ns.x }}
			{% endfor %}`,
		strings.Repeat("{% if 1 %}", 1000),
		"{{ " + strings.Repeat("(", 1000),
		"{{ " + strings.Repeat("-", 10000) + "1 }}",
	} {
		template, err := Parse(source)
		if err == nil {
			_, err = template.Render(NewDict())
		}
		if err == nil {
			t.Errorf("%.60s: no mistake", source)
		}
	}
	if _, err := Decode([]byte(strings.Repeat("[", 1_000_000))); err == nil {
		t.Error("no mistake for what nests too deep")
	}
	for _, more := range []string{"", `,{"a":[]}`} {
		document := `[` + strings.Repeat(`"",`, mostValues-2) + `0` + more + `]`
		if _, err := Decode([]byte(document)); (err != nil) != (more != "") {
			t.Errorf("as many values as there may be and %q more: got %v", more, err)
		}
	}
}

// TestDigits: a number has as many digits as Python reads, and no more.
func TestDigits(t *testing.T) {
	for _, tc := range []struct {
		name, number string
		refused      bool
	}{
		{"as many as there may be", strings.Repeat("9", 4300), false},
		{"one more", strings.Repeat("9", 4301), true},
		{"with a sign", "-" + strings.Repeat("9", 4300), false},
		{"one more, with a sign", "-" + strings.Repeat("9", 4301), true},
		{"a fraction", "0." + strings.Repeat("9", 5000), false},
	} {
		if _, err := Decode([]byte(`{"n":` + tc.number + `}`)); (err != nil) != tc.refused {
			t.Errorf("%s: got %v, want a mistake: %v", tc.name, err, tc.refused)
		}
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2026, 3, 4, 15, 6, 7, 0, time.UTC)
	for layout, want := range map[string]string{"%d %b %Y": "04 Mar 2026", "%B %-d, %A": "March 4, Wednesday",
		"%H:%M:%S %I%p %j %%": "15:06:07 03PM 063 %", "%F %T %y %m %a": "2026-03-04 15:06:07 26 03 Wed"} {
		if got := strftime(at, layout); got != want {
			t.Errorf("%s: got %s, want %s", layout, got, want)
		}
	}
	template, err := Parse(`{{ strftime_now("%Y") }}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := template.Render(NewDict()); err != nil || !got.Timed || len(got.Text) != 4 {
		t.Errorf("got %v and %v", got, err)
	}
}

// FuzzRender: whatever a template is, it is rendered or a mistake, and nothing else happens.
func FuzzRender(f *testing.F) {
	context, cases := rendered(f)
	for _, c := range cases[:100] {
		var source string
		_ = json.Unmarshal(c[0], &source)
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		template, err := Parse(source)
		if err != nil {
			return
		}
		if _, err := template.Render(context); err != nil && strings.HasPrefix(err.Error(), "cannot be rendered") {
			t.Errorf("%q: %v", source, err)
		}
		template.WantsParts()
	})
}
