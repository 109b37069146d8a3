package tokens

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
)

// TestLocal: texts are made tokens of by the file, chats by the template beside it; what that is not sure of is left to
// the model servers.
func TestLocal(t *testing.T) {
	engine := newServer(t, 200, `{"tokens":[7]}`)
	file, err := os.ReadFile("bpe/testdata/llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	const config = `{"bos_token":"<|begin|>","chat_template":` +
		`"{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"}`
	withTemplate, without := t.TempDir(), t.TempDir()
	for _, path := range []string{withTemplate, without} {
		if err := os.WriteFile(filepath.Join(path, "tokenizer.json"), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(withTemplate, "tokenizer_config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	open := func(dir string) *Pool {
		pool, err := NewPool(&scoring.TokenBackend{Kind: scoring.TokensLocal, Model: "m",
			Files: []scoring.PreciseFile{{Model: "m", Path: filepath.Join(dir, "tokenizer.json")}}}, serversOf(engine))
		if err != nil {
			t.Fatal(err)
		}
		return pool
	}
	pool, plain := open(withTemplate), open(without)
	if pool.Note() != "" || !strings.Contains(plain.Note(), "there is no chat template") {
		t.Errorf("notes %q and %q", pool.Note(), plain.Note())
	}
	const hello = `{"messages":[{"role":"user","content":"a"}]`
	for _, tc := range []struct {
		pool      *Pool
		api, body string
		want      []uint32
	}{
		{pool, APICompletions, `{"prompt":"a"}`, []uint32{0, 69}}, // with the token that begins a text
		{pool, APICompletions, `{"prompt":"a","add_special_tokens":false}`, []uint32{69}},
		{pool, APIChat, hello + "}", []uint32{0, 69}},
		{pool, APIChat, hello + `,"add_special_tokens":true}`, []uint32{0, 0, 69}},
		{pool, APIChat, hello + `,"chat_template":"x"}`, []uint32{7}},
		{pool, APIChat, `{"messages":[{"role":"critic","content":"a"}]}`, []uint32{7}},
		{plain, APIChat, hello + "}", []uint32{7}},
	} {
		p, err := Read(tc.api, []byte(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tc.pool.Tokens(context.Background(), p); err != nil || !slices.Equal(got.Tokens, tc.want) {
			t.Errorf("%s: got %v and %v, want %v", tc.body, got.Tokens, err, tc.want)
		}
	}
	if len(engine.asked) != 3 {
		t.Errorf("the model servers were asked %d times, want 3", len(engine.asked))
	}
}

func TestFindFile(t *testing.T) {
	dir := t.TempDir()
	write := func(path string) string {
		path = filepath.Join(dir, path)
		if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, []byte("{}"), 0o644) != nil {
			t.Fatal("cannot write")
		}
		return path
	}
	plain := write("org/a/tokenizer.json")
	cached := write("hub/models--org--b/snapshots/1234/tokenizer.json")
	mapped := write("mapped.json")
	alone := write("alone/only/tokenizer.json")
	for _, tc := range []struct {
		name    string
		backend scoring.TokenBackend
		want    string
		err     string
	}{
		{"in a folder of its name", scoring.TokenBackend{Dir: dir, File: "tokenizer.json", Model: "org/a"}, plain, ""},
		{"in a cache of the hub", scoring.TokenBackend{Dir: dir, File: "tokenizer.json", Model: "org/b"}, cached, ""},
		{"another name", scoring.TokenBackend{Dir: dir, File: "tokenizer.json", Model: "x", Name: "org/b"}, cached, ""},
		{"the only one", scoring.TokenBackend{Dir: filepath.Join(dir, "alone"), File: "tokenizer.json", Model: "x"},
			alone, ""},
		{"by the map", scoring.TokenBackend{Model: "x", File: "tokenizer.json",
			Files: []scoring.PreciseFile{{Model: "x", Path: mapped}}}, mapped, ""},
		{"a folder by the map", scoring.TokenBackend{Model: "x", File: "tokenizer.json",
			Files: []scoring.PreciseFile{{Model: "x", Path: filepath.Dir(plain)}}}, plain, ""},
		{"none of several", scoring.TokenBackend{Dir: dir, File: "tokenizer.json", Model: "x"}, "",
			`has 3 files tokenizer.json, and none for "x"`},
		{"an empty folder's name", scoring.TokenBackend{File: "tokenizer.json", Model: "x"}, "", `"" cannot be searched`},
		{"no folder", scoring.TokenBackend{Dir: filepath.Join(dir, "gone"), Model: "x"}, "", "autoDiscoveryDir"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := findFile(&tc.backend)
			said := fmt.Sprint(err)
			if got != tc.want || (tc.err == "") != (err == nil) || !strings.Contains(said, tc.err) {
				t.Errorf("got %q and %v, want %q and %q", got, err, tc.want, tc.err)
			}
		})
	}
}

// TestFindFileOfSeveralCommits: in a cache of the hub's that holds more than one, the file is of the one that the
// branch is.
func TestFindFileOfSeveralCommits(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	for path, content := range map[string]string{
		"models--org--a/snapshots/1111/tokenizer.json":       "{}",
		"models--org--a/snapshots/2222/tokenizer.json":       "{}",
		"models--org--a/refs/main":                           "2222",
		"models--org--b/snapshots/.partial-1/tokenizer.json": "{",
		"models--org--b/snapshots/3333/tokenizer.json":       "{}",
		"models--org--b/snapshots/4444/tokenizer.json":       "{}",
	} {
		path = filepath.Join(dir, path)
		if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, []byte(content), 0o644) != nil {
			t.Fatal("cannot write")
		}
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, dir, model, want string }{
		{"a branch", dir, "org/a", "2222"},
		{"none, where any is as good", dir, "org/b", "3333"},
		{"a folder that is a link", link, "org/a", "2222"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := findFile(&scoring.TokenBackend{Dir: tc.dir, File: "tokenizer.json", Model: tc.model})
			if want := filepath.Join("snapshots", tc.want, "tokenizer.json"); !strings.HasSuffix(got, want) {
				t.Errorf("got %q and %v, want one that ends in %q", got, err, want)
			}
		})
	}
}
