package topology

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAccessFiles: files of certificates and secrets that cannot be used are named, with what is wrong and without what
// is in them.
func TestAccessFiles(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	none, text := filepath.Join(folder, "none"), file("text", "hunter2\n")
	for _, test := range []struct {
		name   string
		access Access
		want   string
	}{
		{"nothing", Access{}, ""},
		{"HTTPS by the system's authorities", Access{HTTPS: true}, ""},
		{"files of TLS without it", Access{CA: none, Certificate: none, Key: none}, ""},
		{"no authorities", Access{HTTPS: true, CA: none}, "tls.ca: open " + none},
		{"authorities that are none", Access{HTTPS: true, CA: text}, "tls.ca: " + text + " has no certificate in PEM"},
		{"no certificate", Access{HTTPS: true, Certificate: none, Key: text},
			"tls.certificate: " + none + " with key " + text + ": open " + none},
		{"a certificate that is none", Access{HTTPS: true, Certificate: text, Key: text},
			"tls.certificate: " + text + " with key " + text + ": tls: "},
		{"a secret", Access{TokenFile: text}, ""},
		{"no secret", Access{TokenFile: none}, "tokenFile: open " + none},
		{"an empty secret", Access{TokenFile: file("empty", " \n")},
			"tokenFile: " + filepath.Join(folder, "empty") + ": the token is empty"},
		{"one of two words", Access{TokenFile: file("words", "hunter2 hunter3")},
			"tokenFile: " + filepath.Join(folder, "words") + ": the token has a character that no header can carry"},
		{"one beyond ASCII", Access{TokenFile: file("beyond", "hünter2")},
			"tokenFile: " + filepath.Join(folder, "beyond") + ": the token has a character that no header can carry"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := test.access.Check(); err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") ||
				strings.Contains(got, "nter2") {
				t.Errorf("got %q, want %q...", got, test.want)
			}
		})
	}
}

// TestAccessForAnEndpoint: who is asked in another way than before is still called as it was, and wants the same
// secret.
func TestAccessForAnEndpoint(t *testing.T) {
	lists := Access{HTTPS: true, CA: "ca", ServerName: "lists", TokenFile: "common", TokenHeader: "x-common"}
	for _, test := range []struct {
		name string
		own  *Access
		want Access
	}{
		{"nothing of its own", nil, Access{HTTPS: true, CA: "ca"}},
		{"a name", &Access{ServerName: "vllm", CA: "other"}, Access{HTTPS: true, CA: "ca", ServerName: "vllm"}},
		{"a secret", &Access{TokenFile: "own"}, Access{HTTPS: true, CA: "ca", TokenFile: "own"}},
		{"a secret in a header", &Access{TokenFile: "own", TokenHeader: "x-own"},
			Access{HTTPS: true, CA: "ca", TokenFile: "own", TokenHeader: "x-own"}},
	} {
		before := lists
		if got := lists.For(test.own); *got != test.want || lists != before {
			t.Errorf("%s: got %+v, want %+v, and what holds for all as it was", test.name, *got, test.want)
		}
	}
}

// TestCheckToken: a secret is what a header can carry, to the first and the last character.
func TestCheckToken(t *testing.T) {
	for token, right := range map[string]bool{"": false, "a": true, "!~": true, "a b": false, "a\t": false,
		"a\x7f": false, "\x00": false, "é": false} {
		if err := CheckToken(token); (err == nil) != right {
			t.Errorf("%q: got %v, want it to be right: %v", token, err, right)
		}
	}
}
