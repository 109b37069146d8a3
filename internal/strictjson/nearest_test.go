package strictjson

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"queue-scorer", "random-picker", "nonCachedTokens", "max", "mux", "port", "hold",
		"interval"}
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
		{"the beginning missing", "ueue-scorer", "queue-scorer"},
		{"three more before it", "my-queue-scorer", "queue-scorer"},
		{"four more before it", "our-queue-scorer", ""},
		{"two names are as near", "mix", "max"},
		{"two wrong in a short one", "hxxd", ""},
		{"a quarter wrong", "intxxval", "interval"},
		{"more than a quarter", "intrvxl", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := Nearest(tc.mistyped, names); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestHint(t *testing.T) {
	names := []string{"port", "hold"}
	for _, tc := range []struct{ name, mistyped, want string }{
		{"one is near", "holt", "; did you mean hold? known are port, hold"},
		{"none is near", "destination", "; known are port, hold"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Hint(tc.mistyped, names, "known are"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 9, 0},
		{"", "abc", 9, 3},
		{"abc", "", 9, 3},
		{"abc", "abc", 9, 0},
		{"abc", "xabc", 9, 1},
		{"xyabc", "abc", 9, 2},
		{"abc", "acb", 9, 1},
		{"ab", "ba", 9, 1},
		{"kitten", "sitting", 9, 3},
		{"abcd", "badc", 9, 2},
		{"abcdef", "uvwxyz", 9, 6},
		{"abcdef", "uvwxyz", 4, 4},
		{"ab", "abcd", 2, 2},
		{"abcd", "ab", 3, 2},
	}
	for _, tc := range tests {
		t.Run(tc.a+" "+tc.b, func(t *testing.T) {
			if got := distance(tc.a, tc.b, tc.limit); got != tc.want {
				t.Errorf("up to %d: got %d, want %d", tc.limit, got, tc.want)
			}
		})
	}
}
