package tokens

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
)

// TestHubThatIsNotWell: an answer that is another one later keeps no sidecar from starting, with the files that it has
// or without. One that stays is a mistake.
func TestHubThatIsNotWell(t *testing.T) {
	t.Setenv("HF_TOKEN", "secret")
	p, err := Read(APIChat, []byte(`{"messages":[{"role":"user","content":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		status int
		later  bool
	}{
		{"it fails", http.StatusInternalServerError, true},
		{"it is overloaded", http.StatusServiceUnavailable, true},
		{"it was asked too often", http.StatusTooManyRequests, true},
		{"it has waited for too long", http.StatusRequestTimeout, true},
		{"it has no such model", http.StatusNotFound, false},
		{"it lets nobody in", http.StatusForbidden, false},
		{"the model is gone for good", http.StatusGone, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked []string
			well, dir := newHub(t, &asked, nil), t.TempDir()
			hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
			}))
			defer hub.Close()
			open := func(address, dir string) (*Pool, error) {
				t.Setenv("HF_ENDPOINT", address)
				return NewPool(&scoring.TokenBackend{Kind: scoring.TokensDownloaded, Model: "org/m", Dir: dir},
					fixed(nil))
			}
			pool, err := open(hub.URL, t.TempDir())
			if (err == nil) != test.later {
				t.Errorf("without files: got %v, want a start: %v", err, test.later)
			}
			if err == nil && !strings.Contains(pool.Note(), "no tokenizer yet") {
				t.Errorf("without files: got the note %q, want that there is no tokenizer yet", pool.Note())
			}
			if _, err := open(well.URL, dir); err != nil {
				t.Fatal(err)
			}
			pool, err = open(hub.URL, dir)
			if (err == nil) != test.later {
				t.Fatalf("with files: got %v, want a start: %v", err, test.later)
			}
			if err != nil {
				return
			}
			if got, err := pool.Tokens(t.Context(), p); err != nil || !slices.Equal(got.Tokens, []uint32{0, 69}) {
				t.Errorf("with files: got %v and %v, want the tokens", got.Tokens, err)
			}
		})
	}
}

// TestHubByCommit: the files of a commit never change, so that nobody is asked for those that are there.
func TestHubByCommit(t *testing.T) {
	var asked []string
	hub, dir := newHub(t, &asked, nil), t.TempDir()
	t.Setenv("HF_ENDPOINT", hub.URL)
	t.Setenv("HF_TOKEN", "secret")
	open := func() {
		t.Helper()
		c := &scoring.TokenBackend{Kind: scoring.TokensDownloaded, Model: "org/m", Revision: commit, Dir: dir}
		if pool, err := NewPool(c, fixed(nil)); err != nil || pool.Note() != "" {
			t.Fatalf("got %v, note %q, want a tokenizer", err, pool.Note())
		}
	}
	open()
	first := len(asked)
	if open(); first == 0 || len(asked) != first {
		t.Errorf("asked for %q, want nothing for the second start", asked[first:])
	}
	if err := os.RemoveAll(filepath.Join(dir, "models--org--m", "snapshots", commit)); err != nil {
		t.Fatal(err)
	}
	if open(); len(asked) != 2*first {
		t.Errorf("asked for %q once the files are gone, want all of them again", asked[first:])
	}
}

// TestHubWithoutCommits: a Hub that does not say which commit a branch is has nothing that could be kept.
func TestHubWithoutCommits(t *testing.T) {
	for name, commit := range map[string]string{"none": "", "a text": "../x"} {
		hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Repo-Commit", commit)
		}))
		t.Setenv("HF_ENDPOINT", hub.URL)
		_, err := NewPool(&scoring.TokenBackend{Kind: scoring.TokensDownloaded, Model: "org/m", Dir: t.TempDir()},
			fixed(nil))
		if want := `tokenizer: "org/m": ` + hub.URL + ` does not say which commit main is`; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
		hub.Close()
	}
}

// TestHubTemplates: of a model that has another template for tools none is taken, as the engine would choose.
func TestHubTemplates(t *testing.T) {
	var asked []string
	t.Setenv("HF_ENDPOINT", newHub(t, &asked, map[string]string{"additional_chat_templates/tool_use.jinja": "x"}).URL)
	t.Setenv("HF_TOKEN", "secret")
	pool, err := NewPool(&scoring.TokenBackend{Kind: scoring.TokensDownloaded, Model: "org/m", Dir: t.TempDir()},
		fixed(nil))
	if err != nil {
		t.Fatal(err)
	}
	if note := pool.Note(); !strings.Contains(note, "additional_chat_templates: is not known here") {
		t.Errorf("got the note %q, want that chats are left to the model servers", note)
	}
}

// TestHubNamesAgain: files that are there already, by the name of another branch or from before the branch moved back,
// serve by each name where the Hub cannot be reached.
func TestHubNamesAgain(t *testing.T) {
	var asked []string
	t.Setenv("HF_TOKEN", "secret")
	p, err := Read(APIChat, []byte(`{"messages":[{"role":"user","content":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, ref string }{
		{"the branch has no name yet", ""},
		{"the branch was another commit", strings.Repeat("f", 40)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hub, dir := newHub(t, &asked, nil), t.TempDir()
			open := func() *Pool {
				t.Helper()
				pool, err := NewPool(&scoring.TokenBackend{Kind: scoring.TokensDownloaded, Model: "org/m", Dir: dir},
					fixed(nil))
				if err != nil {
					t.Fatal(err)
				}
				return pool
			}
			t.Setenv("HF_ENDPOINT", hub.URL)
			open()
			ref := filepath.Join(dir, "models--org--m", "refs", "main")
			if err := os.Remove(ref); err != nil {
				t.Fatal(err)
			}
			if tc.ref != "" && os.WriteFile(ref, []byte(tc.ref), 0o600) != nil {
				t.Fatal("cannot write")
			}
			open() // the Hub says which commit it is, whose files are there
			hub.Close()
			if got, err := open().Tokens(t.Context(), p); err != nil || !slices.Equal(got.Tokens, []uint32{0, 69}) {
				t.Errorf("got %v and %v, want the tokens by the files that are there", got.Tokens, err)
			}
		})
	}
}
