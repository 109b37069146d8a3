package e2e

import (
	"net/http"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestTrailers: a body that ends with trailers is complete without a last frame. It decides like any other, and the
// trailers arrive.
func TestTrailers(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for _, http2 := range []bool{false, true} {
			for _, body := range []string{chatBody, longChat(300_000)} {
				f.prefer(t, "sim-2")
				request := harness.Request(t, http.MethodPost, f.URL("requests", chatPath), body, true)
				request.Trailer = http.Header{"X-Checksum": {"abc"}}
				wantServer(t, harness.Send(t, harness.Client(t, http2), request), "sim-2")
				f.wantBody(t, "sim-2", body)
				if !http2 && f.Cell.Buffer() {
					// Envoy's buffer filter gives the request a content-length, and HTTP/1.1 has no trailers then
					continue
				}
				if trailer := f.only(t, "sim-2").Trailers["x-checksum"]; !slices.Equal(trailer, []string{"abc"}) {
					t.Errorf("HTTP/2 %v: trailer x-checksum is %q, want abc", http2, trailer)
				}
			}
		}
	})
}

// TestTrailersWithoutBody: there is nothing to judge by, so any server will do.
func TestTrailersWithoutBody(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		c := harness.Dial(t, f.Address("requests"))
		c.Say(t, "POST "+chatPath+" HTTP/1.1\r\nhost: e2e\r\ntransfer-encoding: chunked\r\ntrailer: "+
			"x-checksum\r\n\r\n0\r\nx-checksum: abc\r\n\r\n")
		wantAnyServer(t, c.Hear(t, http.MethodPost))
	})
}
