package scoring_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/scoring/registry"
)

// TestEnvironment: how a variable is read that stands for a parameter. One that is empty is none, and one that is wrong
// changes nothing.
func TestEnvironment(t *testing.T) {
	const whole, large = "a whole number from 2 to 9", "a whole number from 0 to 18446744073709551615"
	const number, one = "a number from 0 to 1.5", "one of a, b"
	n, u, f, s := 5, uint64(5), 0.5, "b"
	readInt := func(b *scoring.Builder) any { b.EnvironmentInt("V", &n, 2, 9); return n }
	readUint64 := func(b *scoring.Builder) any { b.EnvironmentUint64("V", &u); return u }
	readFloat := func(b *scoring.Builder) any { b.EnvironmentFloat("V", &f, 1.5); return f }
	readOneOf := func(b *scoring.Builder) any { b.EnvironmentOneOf("V", &s, "a", "b"); return s }
	readText := func(b *scoring.Builder) any {
		text, ok := b.Environment("V")
		return map[bool]string{true: "=", false: "!"}[ok] + text
	}
	for _, tc := range []struct {
		name, value string
		read        func(*scoring.Builder) any
		want        any
		not         string // what it should have been
	}{
		{"text", " x y ", readText, "=x y", ""}, {"no text", "", readText, "!", ""},
		{"blanks", "  ", readText, "!", ""},
		{"no number", "", readInt, 5, ""}, {"the least", " 2 ", readInt, 2, ""}, {"the most", "9", readInt, 9, ""},
		{"too small", "1", readInt, 5, whole}, {"too large", "10", readInt, 5, whole},
		{"a half", "2.5", readInt, 5, whole},
		{"no seed", "", readUint64, uint64(5), ""}, {"a seed", "0", readUint64, uint64(0), ""},
		{"the largest", "18446744073709551615", readUint64, uint64(18446744073709551615), ""},
		{"larger", "18446744073709551616", readUint64, uint64(5), large},
		{"below 0", "-1", readUint64, uint64(5), large},
		{"no part", "", readFloat, 0.5, ""}, {"nothing", "0", readFloat, 0.0, ""}, {"all", "1.5", readFloat, 1.5, ""},
		{"more", "1.51", readFloat, 0.5, number}, {"less", "-0.1", readFloat, 0.5, number},
		{"not a number", "NaN", readFloat, 0.5, number}, {"a word", "x", readFloat, 0.5, number},
		{"no choice", "", readOneOf, "b", ""}, {"a choice", "a", readOneOf, "a", ""},
		{"another choice", "A", readOneOf, "b", one},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, u, f, s = 5, 5, 0.5, "b"
			var got any
			reader := scoring.Registration{Type: "reader", New: func(b *scoring.Builder) scoring.Plugin {
				got = tc.read(b)
				return struct{}{}
			}}
			const config = `{"plugins": [{"type": "reader"}, {"type": "queue-scorer"}]}`
			root, document := strictjson.Parse([]byte(config), "")
			all := append([]scoring.Registration{reader}, registry.Plugins...)
			scoring.Compile(root, all, scoring.Settings{Stale: plantest.Neutral,
				Environment: func(name string) (string, bool) { return tc.value, name == "V" }})
			mistake, want := "", ""
			if err := document.Err(); err != nil {
				mistake = err.Error()
			}
			if tc.not != "" {
				want = `plugins[0](reader).parameters: the environment variable V is "` + tc.value + `", not ` + tc.not
			}
			if got != tc.want || mistake != want {
				t.Errorf("got %v and %q, want %v and %q", got, mistake, tc.want, want)
			}
		})
	}
}
