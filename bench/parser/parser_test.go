package main

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/openai"
)

// TestCompare: some bodies of each kind are read alike.
func TestCompare(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	var out strings.Builder
	refused, differences, err := compare(t.Context(), options{bodies: 20_000, seed: 7}, &out)
	if err != nil || differences > 0 {
		t.Fatalf("%d differences, %v\n%s", differences, err, out.String())
	}
	if refused < 2000 || refused > 18_000 {
		t.Errorf("%d of 20000 bodies are refused, want some and not all", refused)
	}
	if _, _, err := compare(t.Context(), options{bodies: 1, seed: 7}, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestCompareEnds: a parser that differs in everything, and has more to say of it than anybody reads, ends the
// comparison.
func TestCompareEnds(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	real := script
	defer func() { script = real }()
	script = "refused = lambda read: ' ' * 1000 + 'null'\n" +
		strings.Replace(real, "json.dumps(read(", "refused(read(", 1)
	var out strings.Builder
	_, differences, err := compare(ctx, options{bodies: 10 * batch, seed: 7}, &out)
	if shown := strings.Count(out.String(), "Python refuses"); err != nil || differences < mostDifferences ||
		differences > batch || shown != mostDifferences {
		t.Errorf("got %d differences, %d of them shown, %v; want those of one batch, %d shown", differences, shown, err,
			mostDifferences)
	}
}

// TestJudge: every kind of difference is seen.
func TestJudge(t *testing.T) {
	const body = `{"model":"m","user":"u","stream":true,"messages":[{"role":"user","content":"ab"}],"prompt":[1,2]}`
	const read = `{"model":"m","user":"u","stream":true,"usage":false,"badModel":false,"chat":[2,2,1],"completion":[0,0,2]}`
	for _, test := range []struct{ name, body, line, want string }{
		{"none", body, read, ""},
		{"Python refuses", body, "null", "Python refuses"},
		{"Python accepts", "{", read, "Python accepts"},
		{"both refuse", "{", "null", ""},
		{"model", body, strings.Replace(read, `"m"`, `"n"`, 1), "model"},
		{"no model", `{"model":3}`, strings.Replace(read, `"badModel":false`, `"badModel":true`, 1), ""},
		{"model taken", body, strings.Replace(read, `"badModel":false`, `"badModel":true`, 1), "no string"},
		{"stream", body, strings.Replace(read, `"stream":true`, `"stream":false`, 1), "stream"},
		{"messages", body, strings.Replace(read, "[2,2,1]", "[2,2,2]", 1), "1 messages"},
		{"tokens", body, strings.Replace(read, "[0,0,2]", "[0,0,3]", 1), "2 token ids"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := judge(new(openai.Request), []byte(test.body), []byte(test.line))
			if err != nil || test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}
