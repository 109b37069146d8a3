package tokens

import (
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
)

// TestRendererWithoutProxy: prompts go to the renderer itself, whatever proxy the environment has for the Hub.
func TestRendererWithoutProxy(t *testing.T) {
	r := newRenderer(&scoring.TokenBackend{URL: "http://render:8000", Workers: 5})
	transport, ok := r.server.Client.Transport.(*http.Transport)
	if !ok || transport.Proxy != nil || transport.MaxIdleConnsPerHost != 5 {
		t.Errorf("got %+v, want a transport without a proxy that keeps 5 connections", r.server.Client.Transport)
	}
}
