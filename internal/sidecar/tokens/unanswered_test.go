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
