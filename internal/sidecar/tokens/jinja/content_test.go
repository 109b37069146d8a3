package jinja

import "testing"

// TestWantsParts: as vLLM 0.33's own function says of these templates.
func TestWantsParts(t *testing.T) {
	const inner = "{% for p in m.content %}{{ p }}{% endfor %}{% endfor %}"
	tests := []struct {
		name, template string
		want           bool
	}{
		{"a loop over messages", "{% for m in messages %}" + inner, true},
		{"texts", "{% for m in messages %}{{ m.content }}{% endfor %}", false},
		{"a variable", "{% set all = messages[1:] %}{% for m in all %}" + inner, true},
		{"a field that a namespace is made with",
			"{% set ns = namespace(rest=messages) %}{% for m in ns.rest %}" + inner, true},
		{"a field that is set",
			"{% set ns = namespace(rest=[]) %}{% set ns.rest = messages[1:] %}{% for m in ns.rest %}" + inner, true},
		{"a field of a field", "{% set ns = namespace(rest=messages) %}{% set other = namespace(list=ns.rest) %}" +
			"{% for m in other.list | list %}" + inner, true},
		{"a variable of a field",
			"{% set ns = namespace(rest=messages) %}{% set all = ns.rest %}{% for m in all %}" + inner, true},
		{"another field",
			"{% set ns = namespace(rest=messages, more=tools) %}{% for m in ns.more %}" + inner, false},
		{"a field of something else", "{% set ns = dict(rest=messages) %}{% for m in ns.rest %}" + inner, false},
		{"a field by its key", "{% set ns = namespace(rest=messages) %}{% for m in ns['rest'] %}" + inner, false},
		{"several names at once", "{% set a, b = messages %}{% for m in messages %}" + inner, true},
		{"content in a field", "{% set ns = namespace(c='') %}{% for m in messages %}{% set ns.c = m.content %}" +
			"{% for p in ns.c %}{{ p }}{% endfor %}{% endfor %}", false},
		{"a loop that takes messages apart",
			"{% set ns = namespace(rest=messages) %}{% for a, b in ns.rest %}" + inner, false},
		{"by a macro", "{% macro show(c) %}{% for p in c %}{{ p }}{% endfor %}{% endmacro %}" +
			"{% set ns = namespace(rest=messages) %}{% for m in ns.rest %}{{ show(m.content) }}{% endfor %}", true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			template, err := Parse(tc.template)
			if err != nil {
				t.Fatal(err)
			}
			if got := template.WantsParts(); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
