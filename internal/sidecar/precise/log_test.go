package precise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// unspeakable is the text of prompts that nobody may tell.
const unspeakable = "unspeakable"

// listen has a service log everything.
func listen(s *Service, log *harness.Log) {
	s.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// echo answers with the request behind something.
func echo(status int, before string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, before)
		_, _ = io.Copy(w, r.Body)
	}
}

// raw answers with bytes, whatever HTTP is.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if hijacker, ok := w.(http.Hijacker); ok {
			if connection, _, err := hijacker.Hijack(); err == nil {
				_, _ = io.WriteString(connection, answer)
				_ = connection.Close()
			}
		}
	}
}

// wrong are servers that answer questions for tokens in all ways but the right one.
var wrong = map[string]http.HandlerFunc{
	"a failure":           echo(500, ""),
	"a refusal":           echo(400, ""),
	"another status":      echo(302, ""),
	"no JSON":             echo(200, unspeakable),
	"tokens that are not": echo(200, `{"tokens":["`+unspeakable+`"],"said":`),
	"a broken connection": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.Copy(w, r.Body)
	},
	"a reason":    raw("HTTP/1.1 500 " + unspeakable + "\r\n\r\n"),
	"no HTTP":     raw(unspeakable + "\r\n\r\n"),
	"no status":   raw("HTTP/1.1 " + unspeakable + " no\r\n\r\n"),
	"no header":   raw("HTTP/1.1 200 OK\r\n" + unspeakable + "\r\n\r\n"),
	"no length":   raw("HTTP/1.1 200 OK\r\nContent-Length: " + unspeakable + "\r\n\r\n"),
	"no encoding": raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: " + unspeakable + "\r\n\r\n"),
	"no trailer":  raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + unspeakable + "\r\n\r\n"),
	"a redirect": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Redirect(w, r, "http://127.0.0.1:1/"+unspeakable, http.StatusTemporaryRedirect)
	},
	"no redirect at all": raw("HTTP/1.1 307 No\r\nLocation: http://%" + unspeakable + "\r\n\r\n"),
	"a gRPC status":      grpc("2", ""),
	"a gRPC failure":     grpc("0", "\x00\x00\x00\x00\x1a\x22\x0b"+unspeakable+"\x2a\x0b"+unspeakable),
}

// grpc is a tokenizer service that has its model, and answers with a status and a message.
func grpc(status, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		if strings.HasSuffix(r.URL.Path, "/InitializeTokenizer") {
			_, _ = io.WriteString(w, "\x00\x00\x00\x00\x02\x08\x01")
			w.Header().Set("Grpc-Status", "0")
			return
		}
		_, _ = io.WriteString(w, message)
		w.Header().Set("Grpc-Status", status)
		w.Header().Set("Grpc-Message", unspeakable)
	}
}

// speaksBoth answers as a server of HTTP/1 and of gRPC.
func speaksBoth(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	server := httptest.NewUnstartedServer(answer)
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

type servers []tokens.Server

func (s servers) For(string, int) []tokens.Server { return s }

func (servers) SGLang(string) bool { return false }

// backends are all makers of tokens, which ask a server.
func backends(t *testing.T, server *httptest.Server) map[string]*tokens.Pool {
	dir := t.TempDir()
	content, err := os.ReadFile("../tokens/bpe/testdata/llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	template := `{"chat_template":"{{ raise_exception(messages[0].content) }}"}`
	for name, content := range map[string]string{"tokenizer.json": string(content), "tokenizer_config.json": template} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]*tokens.Pool{}
	for name, c := range map[string]scoring.TokenBackend{
		"engine":   {Kind: scoring.TokensOfEngine},
		"renderer": {Kind: scoring.TokensRendered, URL: server.URL, Timeout: limit, MediaTimeout: limit},
		"template": {Kind: scoring.TokensLocal, Model: "m",
			Files: []scoring.PreciseFile{{Model: "m", Path: filepath.Join(dir, "tokenizer.json")}}},
		"service": {Kind: scoring.TokensOfService, Model: "m", TCP: true, Socket: server.Listener.Addr().String()},
	} {
		c.Workers = 2
		if all[name], err = tokens.NewPool(&c, servers{{URL: server.URL, Client: server.Client()}}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// unspeakables are requests whose text is in all places, some of which cannot be read.
func unspeakables() map[string][]string {
	message := `{"role":"user","content":"` + unspeakable + `"}`
	return map[string][]string{
		tokens.APICompletions: {`{"model":"m","prompt":"` + unspeakable + `"}`,
			`{"model":"m","prompt":["` + unspeakable + `","b"]}`, `{"model":"m","prompt":"` + unspeakable, unspeakable,
			`{"` + unspeakable + `":1,"prompt":7}`, `{"model":7,"prompt":"` + unspeakable + `"}`,
			`{"model":"` + unspeakable + `","prompt":"a","cache_salt":"` + unspeakable + `"}`},
		tokens.APIChat: {`{"model":"m","messages":[` + message + `]}`, `{"model":"m","messages":[` + message,
			`{"model":"m","messages":"` + unspeakable + `"}`, `{"model":"m","messages":[{"role":"` + unspeakable + `"}]}`,
			`{"model":"m","messages":[` + message + `],"tools":["` + unspeakable + `"],"chat_template":"{% ` +
				unspeakable + `"}`},
	}
}

// TestPromptsAreNotLogged: whatever goes wrong with a prompt, none of its text is in the log, nor in an answer.
func TestPromptsAreNotLogged(t *testing.T) {
	for name, answer := range wrong {
		server := speaksBoth(t, answer)
		for backend, pool := range backends(t, server) {
			t.Run(name+", "+backend, func(t *testing.T) {
				s := newService(t, tenTokens)
				s.Tokens = pool
				var log harness.Log
				listen(s, &log)
				b := inBackground(s, config.Ingest{Name: "nobody", URL: "http://127.0.0.1:1/snapshot"})
				failed := false
				for api, bodies := range unspeakables() {
					for _, body := range bodies {
						failed = s.askAndHand(t, b, api, body) || failed
					}
				}
				if got := log.String(); strings.Contains(got, unspeakable) || failed != (got != "") {
					t.Errorf("failed: %v, and logged is\n%s", failed, got)
				}
			})
		}
	}
}

// askAndHand has a request asked for and handed over. It reports whether the question failed.
func (s *Service) askAndHand(t *testing.T, b *Background, api, body string) (failed bool) {
	t.Helper()
	w := s.askOf(context.Background(), api, Path, "secret-token", strings.NewReader(body))
	if strings.Contains(fmt.Sprint(w.Body, w.Header()), unspeakable) {
		t.Errorf("%s is answered with %v %q", body, w.Header(), w.Body)
	}
	p := fourBlocks()
	p.API, p.Body = api, []byte(body)
	b.Take(p.AppendTo(nil))
	handed := wait(t, "a prompt", b.waiting)
	if string(handed.Body) != body {
		t.Errorf("got %q, want %q handed over", handed.Body, body)
	}
	_ = b.learn(context.Background(), &handed)
	return w.Code == http.StatusServiceUnavailable
}

// broken is the rest of a request that does not come.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("gone after " + unspeakable) }

// TestPromptsAreNotLoggedWhenBusy: nor is a prompt that nobody has time for, that does not come to its end, or whose
// blocks no Envoy can be told of.
func TestPromptsAreNotLoggedWhenBusy(t *testing.T) {
	asked, end := make(chan struct{}, 100), make(chan struct{})
	s := newService(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-end
		tenTokens(w, r)
	})
	var log harness.Log
	listen(s, &log)
	b := inBackground(s, config.Ingest{Name: "nobody", URL: "http://127.0.0.1:1/snapshot"})
	ctx, cancel := context.WithCancel(context.Background())
	ask := func(prompt string, rest ...io.Reader) {
		body := io.MultiReader(append([]io.Reader{strings.NewReader(prompt)}, rest...)...)
		s.askOf(ctx, tokens.APICompletions, Path, "secret-token", body)
	}
	var late sync.WaitGroup
	for i := range 3 { // which is one more than there are workers
		late.Go(func() { ask(fmt.Sprintf(`{"model":"m","prompt":"%s %d"}`, unspeakable, i)) })
	}
	for range 2 {
		wait(t, "a server to be asked", asked)
	}
	cancel()
	late.Wait()
	close(end)
	ask(`{"model":"m","prompt":"`+unspeakable, broken{})
	p := fourBlocks()
	p.Body = []byte(`{"model":"m","prompt":"` + unspeakable + `"}`)
	handed := p.AppendTo(nil)
	for range mostWaiting + 1 {
		b.Take(handed)
	}
	b.Take(handed[:len(handed)-1])
	b.tell("a", p.Chain, p.Blocks, 1)
	running, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		b.Run(running)
		close(ended)
	}()
	harness.WaitFor(t, limit, "the log to say that an Envoy was not told", func() (bool, string) {
		return strings.Contains(log.String(), "an Envoy was not told"), log.String()
	})
	stop()
	wait(t, "the end", ended)
	if got := log.String(); strings.Contains(got, unspeakable) {
		t.Errorf("logged is\n%s", got)
	}
}
