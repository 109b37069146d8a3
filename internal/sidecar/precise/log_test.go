package precise

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/scoring"
)

// TestPromptsAreNotLogged: whatever goes wrong with a prompt, none of its text is in the log, nor in an answer or a
// metric.
func TestPromptsAreNotLogged(t *testing.T) {
	const text = "unspeakable"
	echo := func(status int, before string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, before)
			_, _ = io.Copy(w, r.Body)
		}
	}
	engines := map[string]http.HandlerFunc{
		"tokens":              tenTokens,
		"a failure":           echo(500, ""),
		"a refusal":           echo(400, ""),
		"another status":      echo(302, ""),
		"no JSON":             echo(200, text),
		"tokens that are not": echo(200, `{"tokens":["`+text+`"],"said":`),
		"a broken connection": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.Copy(w, r.Body)
		},
	}
	bodies := []string{`{"model":"m","prompt":"` + text + `"}`, `{"model":"m","prompt":["` + text + `","b"]}`,
		`{"model":"m","prompt":"` + text, text, `{"` + text + `":1,"prompt":7}`,
		`{"model":"` + text + `","prompt":"a","cache_salt":"` + text + `"}`}
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			s := newService(t, engine)
			var log bytes.Buffer
			s.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			b := &Background{Index: s.Blocks.Index, Blocks: s.Blocks, Tokens: s.Tokens, Endpoints: s.Endpoints,
				Log: s.Log, Ingests: []config.Ingest{{Name: "nobody", URL: "http://127.0.0.1:1/snapshot"}}}
			b.Start()
			failed := false
			for _, body := range bodies {
				w := s.ask(Path, "secret-token", body)
				if strings.Contains(w.Body.String(), text) {
					t.Errorf("%s is answered with %q", body, w.Body)
				}
				failed = failed || w.Code == http.StatusServiceUnavailable
				p := scoring.PrecisePrompt{API: "completions", Blocks: []uint64{7}, TextBytes: len(body),
					Body: []byte(body)}
				b.Take(p.AppendTo(nil))
				if handed := <-b.waiting; len(handed.Body) != len(body) {
					t.Errorf("got %d bytes of a prompt, want %d", len(handed.Body), len(body))
				}
				b.learn(context.Background(), &p)
			}
			if got := log.String(); strings.Contains(got, text) || failed != (got != "") {
				t.Errorf("failed: %v, and logged is\n%s", failed, got)
			}
		})
	}
}
