package sim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func FuzzRequest(f *testing.F) {
	f.Add("/v1/chat/completions", []byte(chatBody("hi", `,"stream":true,"tools":[{}],"tool_choice":"any"`)))
	f.Add("/v1/completions", []byte(`{"prompt":[[1,2]],"max_tokens":1e400}`))
	f.Add("/v1/embeddings", []byte(`{"input":["a",1],"dimensions":4096}`))
	f.Add("/v1/responses", []byte(`{"input":[{"content":[{"type":"input_image","image_url":"x"}]}]}`))
	f.Add("/v1/messages", []byte(`{"messages":[{"role":5,"content":{"a":1}}],"max_tokens":2}`))
	f.Add("/tokenize", []byte(`{"messages":7}`))
	s, err := New(Config{TimePerOutputToken: -1, Speed: 1e9, OutputTokens: 3, Blocks: 64})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		if !strings.HasPrefix(path, "/v1/") && path != "/tokenize" {
			path = "/v1/chat/completions"
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sim"+path, bytes.NewReader(body))
		if err != nil {
			t.Skip()
		}
		w := &discardWriter{header: http.Header{}}
		s.ServeHTTP(w, r)
		if w.status >= 500 {
			t.Errorf("status %d", w.status)
		}
		if w.header.Get("Content-Type") == "application/json" && !json.Valid(w.body) {
			t.Errorf("answer is not JSON: %s", w.body)
		}
	})
}

type discardWriter struct {
	header http.Header
	status int
	body   []byte
}

func (w *discardWriter) Header() http.Header { return w.header }
func (w *discardWriter) WriteHeader(status int) {
	w.status = status
}
func (w *discardWriter) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}
func (w *discardWriter) Flush() {}
