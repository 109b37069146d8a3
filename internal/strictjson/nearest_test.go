package strictjson

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"queue-scorer", "random-picker", "nonCachedTokens", "max", "port", "hold"}
	tests := []struct{ name, mistyped, want string }{
		{"a letter missing", "queue-scorr", "queue-scorer"},
		{"a letter too many", "queue-scorerr", "queue-scorer"},
		{"another letter", "quaue-scorer", "queue-scorer"},
		{"two exchanged", "quuee-scorer", "queue-scorer"},
		{"exchanged in a short one", "prot", "port"},
		{"three wrong", "qxxxe-scorer", "queue-scorer"},
		{"four wrong", "qxxxx-scorer", ""},
		{"case", "NONCACHEDTOKENS", "nonCachedTokens"},
		{"an underscore for a hyphen", "random_picker", "random-picker"},
		{"a short one", "holt", "hold"},
		{"too short", "ma", ""},
		{"the half of it", "queue", ""},
		{"empty", "", ""},
		{"nothing like it", "threshold", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := Nearest(tc.mistyped, names); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
