package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestDisguisedInference: however a client writes the path, and whatever encodings it names that are none, the request
// is judged by its body.
func TestDisguisedInference(t *testing.T) {
	tests := []struct{ name, path, header string }{
		{"an encoded letter", "/v1/%63hat/completions", ""},
		{"an encoded slash", "/v1/chat%2fcompletions", ""},
		{"a slash at the end", chatPath + "/", ""},
		{"double slashes", "//v1//chat/completions", ""},
		{"dots", "/x/../v1/./chat/completions?a=b", ""},
		{"an empty encoding", chatPath, "content-encoding:"},
		{"identity twice", chatPath, "content-encoding: identity, Identity"},
		{"identity in two lines", chatPath, "content-encoding: identity\r\ncontent-encoding: identity"},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		f.prefer(t, "sim-2")
		for _, test := range tests {
			for range 4 {
				f.forget(t)
				c := harness.Dial(t, f.Address("requests"))
				var headers []string
				if test.header != "" {
					headers = append(headers, test.header)
				}
				c.Say(t, post(test.path, chatBody, headers...))
				got := c.Hear(t, http.MethodPost)
				if best, all := len(f.received("sim-2")), len(f.received("")); best != 1 || all != 1 {
					t.Errorf("%s: got %d from %q; %d requests arrived, %d of them at sim-2, want one, there; %s",
						test.name, got.Status, got.Server(), all, best, got.Body)
				}
			}
		}
	})
}

// TestClosedDoor: what cannot be read, what manages servers, and CONNECT have an answer in the envelope, and reach no
// server.
func TestClosedDoor(t *testing.T) {
	tests := []struct {
		name, text, method string
		status             int
		reason             string
	}{
		{"gzip", post(chatPath, "\x1f\x8b\x00", "content-encoding: gzip"), "POST", 415, "encoded_body"},
		{"an invented encoding", post(chatPath, chatBody, "content-encoding: x"), "POST", 415, "encoded_body"},
		{"a second encoding", post(chatPath, chatBody, "content-encoding: identity", "content-encoding: br"), "POST",
			415, "encoded_body"},
		{"an adapter", post("/v1/load_lora_adapter", `{"lora_name":"a","lora_path":"/etc"}`), "POST", 403,
			"management_path"},
		{"sleep, disguised", post("//x/..//%73leep/?level=2", ""), "POST", 403, "management_path"},
		{"server info", "GET /server_info HTTP/1.1\r\nhost: e2e\r\n\r\n", "GET", 403, "management_path"},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		f.forget(t)
		for _, test := range tests {
			c := harness.Dial(t, f.Address("requests"))
			c.Say(t, test.text)
			got := c.Hear(t, test.method)
			if got.Status != test.status || got.Header.Get("X-Pintle-Reason") != test.reason ||
				!strings.Contains(got.Body, `"code":"`+test.reason+`"`) {
				t.Errorf("%s: got %d %q %s, want %d %s", test.name, got.Status, got.Header.Get("X-Pintle-Reason"),
					got.Body, test.status, test.reason)
			}
		}
		c := harness.Dial(t, f.Address("requests"))
		c.Say(t, "CONNECT 6.6.6.6:6 HTTP/1.1\r\nhost: 6.6.6.6:6\r\n\r\nhello")
		if got := c.Hear(t, http.MethodConnect); got.Status < 400 {
			t.Errorf("CONNECT: got %d, want an error", got.Status)
		}
		if got := f.received(""); len(got) != 0 {
			t.Errorf("servers received %d requests, want none", len(got))
		}
	})
}

// decompressors stand in front of Pintle and hand it bodies as they were before they were compressed.
const decompressors = `
          - name: envoy.filters.http.decompressor
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.decompressor.v3.Decompressor
              decompressor_library:
                name: gzip
                typed_config: {"@type": type.googleapis.com/envoy.extensions.compression.gzip.decompressor.v3.Gzip}
              request_direction_config: {common_config: {enabled: {default_value: true, runtime_key: d}, ignore_no_transform_header: true}}
              response_direction_config: {common_config: {enabled: {default_value: false, runtime_key: r}}}`

// TestDecompressor is the chain of docs/configuration.md for compressed bodies: read within the bounds that hold for
// all.
func TestDecompressor(t *testing.T) {
	t.Parallel()
	s := loadShipped(t, "envoy.yaml")
	s.text = strings.Replace(s.text, "          http_filters:\n          - &pintle",
		"          http_filters:"+decompressors+"\n          - &pintle", 1)
	envoy, err := harness.StartText(s.text, s.admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	var endpoints []harness.Endpoint
	for i, server := range s.servers {
		endpoints = append(endpoints,
			harness.Endpoint{Name: server.Name, Address: server.Address, Waiting: uint32(9 - i)})
	}
	s.publish(t, endpoints)
	send := func(body string) harness.Answer {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		_, _ = io.WriteString(z, body)
		_ = z.Close()
		request := harness.Request(t, http.MethodPost, "http://"+s.requests+chatPath, zipped.String(), false)
		request.Header.Set("Content-Encoding", "gzip")
		return harness.Send(t, harness.Client(t, false), request)
	}
	for range 4 {
		if got := send(longChat(1000)); got.Server() != "sim-2" || got.Status != http.StatusOK {
			t.Errorf("got %d from %q, want 200 from the best server, sim-2: %s", got.Status, got.Server(), got.Body)
		}
	}
	// What comes again only behind gzip's window is hardly shorter compressed.
	noise := make([]byte, 1<<16)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	dense := strings.Replace(chatBody, "hello", strings.Repeat(hex.EncodeToString(noise), 40<<20/(2*len(noise))), 1)
	if got := send(dense); got.Status != http.StatusRequestEntityTooLarge || got.Server() != "" {
		t.Errorf("40 MiB, compressed: got %d from %q, want 413 of Envoy", got.Status, got.Server())
	}
	// Envoy hands on no more than a hundred times what came.
	wantError(t, send(longChat(40<<20)), http.StatusBadRequest, "invalid_body")
	if got := send(fmt.Sprintf("{%q:", "cut off")); got.Status != http.StatusBadRequest {
		t.Errorf("broken JSON, compressed: got %d, want 400", got.Status)
	}
}
