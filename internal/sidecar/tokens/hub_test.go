package tokens

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// newHub serves one model as the Hub does: a branch by the name of its commit, and the files from elsewhere. It notes
// what it was asked.
func newHub(t *testing.T, asked *[]string, more map[string]string) *httptest.Server {
	t.Helper()
	file, err := os.ReadFile("bpe/testdata/llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"tokenizer.json": string(file), "tokenizer_config.json": `{"bos_token":"<|begin|>"}`,
		"chat_template.jinja": "{{ bos_token }}{{ messages[0].content }}"}
	maps.Copy(files, more)
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token is shown to others")
		}
		_, _ = w.Write([]byte(files[strings.TrimPrefix(r.URL.Path, "/")]))
	}))
	t.Cleanup(store.Close)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.URL.Path)
		repo, path, _ := strings.Cut(r.URL.Path, "/resolve/")
		revision, name, _ := strings.Cut(path, "/")
		_, known := files[name]
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		case repo == "/org/broken":
			w.WriteHeader(http.StatusBadGateway)
		case repo != "/org/m" || revision != "main" && revision != commit || !known:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("X-Repo-Commit", commit)
			w.Header().Set("ETag", `"1"`)
			// The tests' store has another port, not another name: with one name Go shows the token again.
			http.Redirect(w, r, strings.Replace(store.URL, "127.0.0.1", "localhost", 1)+"/"+name, http.StatusFound)
		}
	}))
	t.Cleanup(served.Close)
	return served
}

// TestHub: files are downloaded once for a commit, and serve when the Hub is gone. What a sidecar has left that was
// killed while it downloaded is removed, unless another one may be at it.
func TestHub(t *testing.T) {
	var asked []string
	hub, dir := newHub(t, &asked, nil), t.TempDir()
	t.Setenv("HF_ENDPOINT", hub.URL)
	t.Setenv("HF_TOKEN", "secret")
	tokensOf := func() {
		t.Helper()
		c := &scoring.TokenBackend{Kind: scoring.TokensDownloaded, Model: "org/m", Dir: dir}
		pool, err := NewPool(c, fixed(nil))
		if err != nil {
			t.Fatal(err)
		}
		p, _ := Read(APIChat, []byte(`{"messages":[{"role":"user","content":"a"}]}`))
		got, err := pool.Tokens(context.Background(), p)
		if err != nil || !slices.Equal(got.Tokens, []uint32{0, 69}) {
			t.Errorf("got %v and %v, note %q", got.Tokens, err, pool.Note())
		}
	}
	snapshots := filepath.Join(dir, "models--org--m", "snapshots")
	for name, age := range map[string]time.Duration{".partial-1": time.Hour, ".partial-2": time.Minute} {
		path, then := filepath.Join(snapshots, name), time.Now().Add(-age)
		if os.MkdirAll(path, 0o755) != nil || os.Chtimes(path, then, then) != nil {
			t.Fatal("cannot make a folder")
		}
	}
	tokensOf()
	const resolve = "/org/m/resolve/"
	if want := []string{"HEAD " + resolve + "main/tokenizer.json", "GET " + resolve + commit + "/tokenizer.json",
		"GET " + resolve + commit + "/config.json", "GET " + resolve + commit + "/tokenizer_config.json",
		"GET " + resolve + commit + "/chat_template.jinja",
		"GET " + resolve + commit + "/chat_template.json",
		"GET " + resolve + commit + "/additional_chat_templates/tool_use.jinja"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	asked = nil
	if tokensOf(); len(asked) != 1 {
		t.Errorf("asked for %v again, want no more than the commit", asked)
	}
	hub.Close()
	tokensOf()
	found, _ := filepath.Glob(filepath.Join(snapshots, "*"))
	if len(found) != 2 || filepath.Base(found[0]) != ".partial-2" || filepath.Base(found[1]) != commit {
		t.Errorf("snapshots %v, want the one and what another sidecar may be at", found)
	}
}

// TestHubMistakes: what cannot be had is refused with its key and value.
func TestHubMistakes(t *testing.T) {
	var asked []string
	t.Setenv("HF_ENDPOINT", newHub(t, &asked, nil).URL)
	t.Setenv("HF_TOKEN", "wrong")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		c    scoring.TokenBackend
		want string
	}{
		{scoring.TokenBackend{Model: "../m"}, `tokenizer: "../m" is no model's name`},
		{scoring.TokenBackend{Model: "org/m", Revision: "../x"}, `tokenizerRevision: "../x"`},
		{scoring.TokenBackend{Model: "org/m"}, "401 Unauthorized; huggingFaceToken or HF_TOKEN"},
		{scoring.TokenBackend{Model: "org/m", Name: "org/x", Token: "secret"}, `tokenizer: "org/x" cannot be downloaded`},
		{scoring.TokenBackend{Model: "org/m", Revision: "dev", Token: "secret"}, "/resolve/dev/tokenizer.json answers"},
		{scoring.TokenBackend{Model: "org/m", Token: "secret", Dir: file}, "tokenizersCacheDir: "},
	} {
		tc.c.Kind, tc.c.At = scoring.TokensDownloaded, "s"
		if tc.c.Dir == "" {
			tc.c.Dir = t.TempDir()
		}
		_, err := NewPool(&tc.c, fixed(nil))
		if err == nil || !strings.HasPrefix(err.Error(), "s: tokenizersPoolConfig.hf: ") ||
			!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
}

// TestHubLater: a Hub that cannot be reached, or is not well, keeps nothing from starting. Nothing sure is said of
// prompts until it can.
func TestHubLater(t *testing.T) {
	var asked []string
	hub := newHub(t, &asked, nil)
	var away atomic.Bool
	away.Store(true)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		hub.Config.Handler.ServeHTTP(w, r)
	}))
	defer door.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	t.Setenv("HF_TOKEN", "secret")
	p, err := Read(APIChat, []byte(`{"messages":[{"role":"user","content":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for address, why := range map[string]string{door.URL: "502 Bad Gateway", gone.URL: "refused"} {
		t.Setenv("HF_ENDPOINT", address)
		pool, err := NewPool(&scoring.TokenBackend{Kind: scoring.TokensDownloaded, Model: "org/m", Dir: t.TempDir()},
			fixed(nil))
		if err != nil || !strings.Contains(pool.Note(), "no tokenizer yet") || !strings.Contains(pool.Note(), why) ||
			strings.Contains(pool.Note(), "secret") {
			t.Fatalf("%s: got %v, want to know of %q", address, err, why)
		}
		if _, err := pool.Tokens(t.Context(), p); !isNone(err) {
			t.Errorf("%s: got %v, want nothing to be said", address, err)
		}
		if address != door.URL {
			continue
		}
		pool.backend.(*later).least = time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			pool.Run(ctx, slog.New(slog.DiscardHandler))
		}()
		away.Store(false)
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatal("there is no tokenizer though the Hub is there")
		}
		cancel()
		if got, err := pool.Tokens(t.Context(), p); err != nil || !slices.Equal(got.Tokens, []uint32{0, 69}) {
			t.Errorf("later got %v and %v", got.Tokens, err)
		}
	}
}

// TestHubBounds: a file that is too long is refused, whether its length is said or not; none of it is kept.
func TestHubBounds(t *testing.T) {
	const most = 100
	for _, tt := range []struct {
		name    string
		bytes   int
		said    bool
		refused bool
	}{
		{"as long as may be", most, true, false}, {"the same, length unsaid", most, false, false},
		{"longer", most + 1, true, true}, {"the same, length unsaid", most + 1, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.said {
					w.Header().Set("Content-Length", strconv.Itoa(tt.bytes))
				}
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				_, _ = w.Write(bytes.Repeat([]byte("x"), tt.bytes))
			}))
			defer server.Close()
			h := &hub{endpoint: server.URL, model: "org/m", dir: t.TempDir(), client: server.Client(), most: most}
			dir := filepath.Join(h.home(), "snapshots", commit)
			err := h.download(context.Background(), commit, dir)
			if tt.refused != (err != nil) || tt.refused && !strings.Contains(err.Error(), "more than 100 bytes") {
				t.Errorf("got %v", err)
			}
			if kept, _ := filepath.Glob(filepath.Join(h.home(), "snapshots", "*")); (len(kept) == 0) != tt.refused {
				t.Errorf("%v is there", kept)
			}
		})
	}
}
