package scoring_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
)

// TestHubNames: what becomes part of a path below a hub's address has the form of a model's name or a revision.
func TestHubNames(t *testing.T) {
	for _, tc := range []struct {
		name, tokenizer, revision string
		want                      string // the key of what is wrong
	}{
		{"a model", "org/name", "", ""}, {"no organisation", "name", "", ""},
		{"each kind of letter", "aZ0-_.9/z-A", "", ""},
		{"a revision", "name", "refs/pr/1", ""},
		{"nothing behind the slash", "org/", "", "tokenizer"}, {"nothing before it", "/name", "", "tokenizer"},
		{"two slashes", "a/b/c", "", "tokenizer"}, {"a dot in front", "org/.name", "", "tokenizer"},
		{"a blank", "a b", "", "tokenizer"},
		{"a colon", "a:b", "", "tokenizer"}, {"another letter", "é", "", "tokenizer"},
		{"a step up", "name", "..", "tokenizerRevision"}, {"a query", "name", "a?b", "tokenizerRevision"},
		{"nothing between slashes", "name", "a//b", "tokenizerRevision"},
	} {
		b := scoring.TokenBackend{Kind: scoring.TokensDownloaded, Name: tc.tokenizer, Revision: tc.revision}
		got := ""
		if b.Check(func(key, _ string) { got += key }); got != tc.want {
			t.Errorf("%s: %q is wrong, want %q", tc.name, got, tc.want)
		}
	}
}
