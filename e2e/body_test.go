package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

func sha(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// wantBody checks that a server received exactly body, once.
func (f *fixture) wantBody(t testing.TB, server, body string) {
	t.Helper()
	if got := f.only(t, server); got.BodySHA256 != sha(body) || got.BodyBytes != len(body) {
		t.Fatalf("%s received %d bytes with SHA-256 %s, want %d with %s", server, got.BodyBytes, got.BodySHA256,
			len(body), sha(body))
	}
}

// longChat is a chat request of about size bytes.
func longChat(size int) string {
	text := strings.Repeat("all work and no play makes Jack a dull boy. ", size/44+1)[:size]
	return `{"model":"sim-model","max_tokens":2,"messages":[{"role":"user","content":"` + text + `"}]}`
}

// TestOneByteFrames: a body that comes byte by byte is read and passed on whole.
func TestOneByteFrames(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		t.Run("http1", func(t *testing.T) {
			f.prefer(t, "sim-2")
			c := harness.Dial(t, f.Address("requests"))
			c.Say(t, "POST "+chatPath+" HTTP/1.1\r\nhost: e2e\r\ntransfer-encoding: chunked\r\n\r\n")
			for i := range chatBody {
				c.Say(t, "1\r\n"+chatBody[i:i+1]+"\r\n")
				time.Sleep(100 * time.Microsecond)
			}
			c.Say(t, "0\r\n\r\n")
			wantServer(t, c.Hear(t, http.MethodPost), "sim-2")
			f.wantBody(t, "sim-2", chatBody)
		})
		t.Run("http2", func(t *testing.T) {
			f.prefer(t, "sim-3")
			reader, writer := io.Pipe()
			go func() {
				for i := range chatBody {
					_, _ = writer.Write([]byte{chatBody[i]})
				}
				_ = writer.Close()
			}()
			request, err := http.NewRequest(http.MethodPost, f.URL("requests", chatPath), reader)
			if err != nil {
				t.Fatal(err)
			}
			wantServer(t, harness.Send(t, harness.Client(t, true), request), "sim-3")
			f.wantBody(t, "sim-3", chatBody)
		})
	})
}

// TestLongBody: two megabytes arrive as they were sent.
func TestLongBody(t *testing.T) {
	body := longChat(2 << 20)
	inCells(t, func(t *testing.T, f *fixture) {
		for _, http2 := range []bool{false, true} {
			for _, chunked := range []bool{false, true} {
				f.prefer(t, "sim-1")
				request := harness.Request(t, http.MethodPost, f.URL("requests", chatPath), body, chunked)
				wantServer(t, harness.Send(t, harness.Client(t, http2), request), "sim-1")
				f.wantBody(t, "sim-1", body)
			}
		}
	})
}

// TestBodyTooLong: Envoy answers 413 beyond the limit and lets through what is below.
func TestBodyTooLong(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for _, http2 := range []bool{false, true} {
			for _, chunked := range []bool{false, true} {
				name := fmt.Sprintf("http2=%v chunked=%v", http2, chunked)
				f.prefer(t, "sim-1")
				client := harness.Client(t, http2)
				request := harness.Request(t, http.MethodPost, f.URL("small", chatPath), longChat(2*smallBody), chunked)
				if got := harness.Send(t, client, request); got.Status != http.StatusRequestEntityTooLarge {
					t.Errorf("%s: got %d from %q, want 413", name, got.Status, got.Server())
				}
				if got := f.received(""); len(got) != 0 {
					t.Errorf("%s: servers received %d requests, want none", name, len(got))
				}
				body := longChat(smallBody / 2)
				got := harness.Send(t, client,
					harness.Request(t, http.MethodPost, f.URL("small", chatPath), body, chunked))
				wantServer(t, got, "sim-1")
				f.wantBody(t, "sim-1", body)
			}
		}
	})
}

// TestExpectContinue: a client that waits for 100 Continue gets it, though the request is held.
func TestExpectContinue(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.prefer(t, "sim-1")
		continued := false
		trace := &httptrace.ClientTrace{Got100Continue: func() { continued = true }}
		request := harness.Request(t, http.MethodPost, f.URL("requests", chatPath), chatBody, false)
		request.Header.Set("Expect", "100-continue")
		request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
		wantServer(t, harness.Send(t, harness.Client(t, false), request), "sim-1")
		if !continued {
			t.Error("got no 100 Continue")
		}
	})
}

// TestOpaqueBody: bodies that Pintle does not read go to some server as they are.
func TestOpaqueBody(t *testing.T) {
	var zipped, form bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, longChat(10_000))
	_ = z.Close()
	m := multipart.NewWriter(&form)
	file, err := m.CreateFormFile("file", "speech.wav")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Write(bytes.Repeat([]byte{0, 1, 2, 0xff}, 50_000))
	_ = m.WriteField("model", "whisper")
	_ = m.Close()
	tests := []struct {
		name, path, kind, encoding, body string
	}{
		{"gzip", "/v1/audio/transcriptions", m.FormDataContentType(), "gzip", zipped.String()},
		{"multipart", "/v1/audio/transcriptions", m.FormDataContentType(), "", form.String()},
		{"unknown path", "/v2/something", "application/octet-stream", "", "\x00\x01\x02"},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for _, test := range tests {
			for _, http2 := range []bool{false, true} {
				f.forget(t)
				request := harness.Request(t, http.MethodPost, f.URL("requests", test.path), test.body, http2)
				request.Header.Set("Content-Type", test.kind)
				if test.encoding != "" {
					request.Header.Set("Content-Encoding", test.encoding)
				}
				got := harness.Send(t, harness.Client(t, http2), request)
				wantAnyServer(t, got)
				f.wantBody(t, got.Server(), test.body)
			}
		}
	})
}

// TestBodyUntouched: what Pintle reads arrives byte for byte: unknown fields, numbers beyond float64, white space,
// repeated keys.
func TestBodyUntouched(t *testing.T) {
	bodies := []string{
		`{"model":"sim-model","messages":[{"role":"user","content":"x"}],"seed":9007199254740993,"unknown":{"a":[1.10,1e400,-0]}}`,
		" {\n\t\"prompt\" : \"\\u00e9\\ud83d\\ude00 é😀\" ,\r\n \"model\":\"\\u0073im-model\", \"max_tokens\":1 } \n",
		`{"model":"other","n":1,"model":"sim-model","messages":[{"role":"user","content":"\/"}],"max_tokens":1}`,
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for _, body := range bodies {
			f.prefer(t, "sim-3")
			got := harness.Send(t, harness.Client(t, false),
				harness.Request(t, http.MethodPost, f.URL("requests", chatPath), body, false))
			if got.Server() != "sim-3" {
				t.Fatalf("got %d from %q for %s, want an answer of sim-3; %s", got.Status, got.Server(), body, got.Body)
			}
			if received := f.only(t, "sim-3"); received.Body != body {
				t.Errorf("received %q, want %q", received.Body, body)
			}
		}
	})
}
