package main

import (
	"slices"
	"strings"
	"testing"
)

func TestWide(t *testing.T) {
	long := strings.Repeat("a", 117)
	for _, test := range []struct {
		name, line string
		want       bool
	}{
		{"at the bound", "// " + long[:115] + " b", false},
		{"one beyond", "// " + long[:115] + " bc", true},
		{"tabs count", "\t// " + long[:112] + " b", true},
		{"characters count, not bytes", "// " + strings.Repeat("é", 115) + " b", false},
		{"one word", "// https://" + long, false},
		{"code in a comment", "//\tx := " + long, false},
		{"a statement", "var x = f(" + long + ", 1)", true},
		{"a raw string", "var x = f(`" + long + "`, 1)", false},
		{"amid a raw string", "var x = `\n" + long + " " + long + "`", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []int
			if test.want {
				want = []int{2}
			}
			if got := wide([]byte("package p\n" + test.line + "\n")); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
