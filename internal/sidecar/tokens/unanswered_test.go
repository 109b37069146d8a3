package tokens

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestUnanswered: the error of a server that does not answer says why, in words that are not the server's.
func TestUnanswered(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for _, tc := range []struct {
		name, scheme string
		closed       bool
		answer       http.HandlerFunc
		want         string
		is           error
	}{
		{name: "nobody listens", scheme: "http", closed: true, want: "connect: connection refused"},
		{name: "no TLS", scheme: "https", answer: hang, want: "HTTP response to HTTPS", is: http.ErrSchemeMismatch},
		{name: "it hangs", scheme: "http", answer: hang, want: "deadline", is: context.DeadlineExceeded},
		{name: "it ends early", scheme: "http", want: "unexpected EOF", is: io.ErrUnexpectedEOF,
			answer: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9") }},
		{name: "no HTTP", scheme: "http", want: "the answer is not HTTP",
			answer: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Transfer-Encoding", "what it is") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(tc.answer)
			defer server.Close()
			if tc.closed {
				server.Close()
			}
			host := strings.TrimPrefix(server.URL, "http")
			wait := time.Minute
			if tc.is == context.DeadlineExceeded {
				wait = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(context.Background(), wait)
			defer cancel()
			s := Server{URL: tc.scheme + strings.Replace(host, "//", "//user:secret@", 1), Client: &http.Client{}}
			err := post(ctx, &s, "/tokenize", []byte("{}"), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "/tokenize: ") ||
				strings.Contains(err.Error(), "secret") || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestAnswersWithoutTokens: what is JSON and has no tokens is no answer. A prompt that makes none has an empty list.
func TestAnswersWithoutTokens(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		fails        bool
	}{
		{"something else", `{"error":{"message":"busy"}}`, true},
		{"null", `null`, true},
		{"tokens that are null", `{"tokens":null,"token_ids":null}`, true},
		{"no tokens", `{"tokens":[],"token_ids":[]}`, false},
	} {
		asked := newServer(t, 200, tc.answer)
		text := &Prompt{Model: "m", Body: []byte("{}")}
		chat := &Prompt{Model: "m", Chat: true, Messages: []byte("[]"), Body: []byte("{}")}
		e := &engines{servers: serversOf(asked)}
		renders := &renderer{server: e.servers.(fixed)[0], text: time.Minute}
		check := func(who string, backend Backend, p *Prompt) {
			t.Helper()
			if got, err := backend.Tokens(t.Context(), p); (err != nil) != tc.fails || isNone(err) {
				t.Errorf("%s, %s: got %v and %v, want a failure: %v", tc.name, who, got, err, tc.fails)
			}
		}
		check("engine", e, text)
		check("renderer of chats", renders, chat)
		asked.answer = "[" + tc.answer + "]"
		check("renderer of texts", renders, text)
	}
}

// TestRedirects: prompts and credentials go to nobody but the server that is asked.
func TestRedirects(t *testing.T) {
	elsewhere := newServer(t, 200, `{"tokens":[7]}`)
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		here := httptest.NewServer(http.RedirectHandler(elsewhere.URL, status))
		defer here.Close()
		e := &engines{servers: fixed{{URL: here.URL, Client: here.Client()}}}
		_, err := e.Tokens(context.Background(), &Prompt{Model: "m", Text: "a"})
		if err == nil || isNone(err) || len(elsewhere.asked) != 0 {
			t.Errorf("%d: got %v and %d requests elsewhere, want a failure and none", status, err, len(elsewhere.asked))
		}
	}
}
