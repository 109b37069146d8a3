package precise

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

type engine struct{ tokens.Server }

func (e engine) For(string, int) []tokens.Server { return []tokens.Server{e.Server} }

func (engine) SGLang(string) bool { return false }

// newService is a service whose servers say that every prompt is ten tokens.
func newService(t *testing.T, answer http.HandlerFunc) *Service {
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	x := &scoring.PreciseIndex{BlockTokens: 4, Speculative: true, Tokens: scoring.TokenBackend{Workers: 2}}
	made, err := tokens.NewPool(&x.Tokens, engine{tokens.Server{URL: server.URL, Client: server.Client()}})
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := kvindex.New(kvindex.Config{BlockTokens: 4, Model: "m", SpeculativeTTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{Index: x, Tokens: made, Blocks: blocks, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Token: func() string { return "secret-token" }, Endpoints: func() []string { return []string{"a", "b"} }}
	s.Start()
	return s
}

func tenTokens(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"tokens":[1,2,3,4,5,6,7,8,9,10]}`)
}

func (s *Service) ask(path, token, body string) *httptest.ResponseRecorder {
	return s.askOf(context.Background(), tokens.APICompletions, path, token, strings.NewReader(body))
}

func (s *Service) askOf(ctx context.Context, api, path, token string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, body)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Pintle-Api", api)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestAnswer: the answer tells who holds how much; what a server was sent counts for it from then on.
func TestAnswer(t *testing.T) {
	s := newService(t, tenTokens)
	prompt := kvindex.Prompt{Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}}
	keys := kvindex.Keys(nil, s.Blocks.Root("", "m"), 4, &prompt)
	publisher := kvindex.Publisher{Endpoint: "b"}
	if err := s.Blocks.Add(context.Background(), publisher, kvindex.CPU, []uint64{1}, keys[:1]); err != nil {
		t.Fatal(err)
	}
	read := func(body string) (m scoring.PreciseMatches) {
		t.Helper()
		if w := s.ask(Path, "secret-token", body); w.Code != 200 || !m.Read(w.Body.Bytes()) {
			t.Fatalf("got %d %q", w.Code, w.Body)
		}
		return m
	}
	m := read(`{"model":"m","prompt":"a"}`)
	want := scoring.PreciseHolder{ID: journal.HashName("b"), Blocks: 1, Tokens: 4, Score: 0.8}
	if m.Tokens != 10 || m.Blocks != 2 || m.BlockTokens != 4 || len(m.Holders) != 1 || m.Holders[0] != want {
		t.Errorf("got %+v, want %+v", m, want)
	}
	if salted := read(`{"model":"m","prompt":"a","cache_salt":"s"}`); len(salted.Holders) != 0 {
		t.Errorf("got %+v for another tenant", salted)
	}
	told := binary.LittleEndian.AppendUint64(nil, m.Lookup)
	told = binary.LittleEndian.AppendUint64(told, journal.HashName("a"))
	if w := s.ask(RoutedPath, "secret-token", string(told)); w.Code != 204 {
		t.Fatalf("got %d", w.Code)
	}
	want = scoring.PreciseHolder{ID: journal.HashName("a"), Blocks: 2, Tokens: 8, Score: 2}
	if m = read(`{"model":"m","prompt":"a"}`); m.Holder(want.ID) != want {
		t.Errorf("got %+v, want %+v where the request was sent", m, want)
	}
}

func TestAnswersWithoutTokens(t *testing.T) {
	broken := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
	for _, tc := range []struct {
		name, token, body string
		engine            http.HandlerFunc
		want              int
	}{
		{"another token", "wrong", `{"prompt":"a"}`, tenTokens, 401},
		{"several prompts", "secret-token", `{"prompt":["a","b"]}`, tenTokens, 204},
		{"a server that fails", "secret-token", `{"prompt":"a"}`, broken, 503},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if w := newService(t, tc.engine).ask(Path, tc.token, tc.body); w.Code != tc.want {
				t.Errorf("got %d, want %d", w.Code, tc.want)
			}
		})
	}
}
