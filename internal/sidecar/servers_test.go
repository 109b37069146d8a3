package sidecar

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness/pki"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/file"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestNewCertificatesForTokens: servers are asked for tokens with the certificates that there are now, and by the name
// that they are said to have.
func TestNewCertificatesForTokens(t *testing.T) {
	old, renewed := pki.New(t), pki.New(t)
	for _, a := range []*pki.Authority{old, renewed} {
		a.Issue("server", &x509.Certificate{DNSNames: []string{"vllm.internal"}})
	}
	var shown atomic.Pointer[tls.Certificate]
	show := func(a *pki.Authority) {
		pair := a.Pair("server")
		shown.Store(&pair)
	}
	show(old)
	hosts := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts <- r.Host
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, `{"tokens":[1,2,3]}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return shown.Load(), nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	p := pool.New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{&file.Discovery{}})
	p.Start = func(context.Context, *pool.Target) {}
	p.Update(t.Context(), 0, topology.Part{Endpoints: []topology.Endpoint{{
		Endpoint: snapshot.Endpoint{Name: "a", Address: server.Listener.Addr().String()},
		Access:   &topology.Access{HTTPS: true, CA: old.File("ca.pem"), ServerName: "vllm.internal"},
	}}}, nil)
	made, err := tokens.NewPool(&scoring.TokenBackend{Kind: scoring.TokensOfEngine}, &servers{pool: p})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) error {
		prompt, err := tokens.Read("completions", []byte(`{"model":"m","prompt":"`+text+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = made.Tokens(t.Context(), prompt)
		return err
	}
	if err := ask("with the first certificate"); err != nil {
		t.Fatal(err)
	}
	if host := <-hosts; host != "vllm.internal" {
		t.Errorf("asked for the host %q, want the name that the server has", host)
	}
	show(renewed)
	if err := ask("with one of nobody known"); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("got %v, want the certificate refused", err)
	}
	authority, err := os.ReadFile(renewed.File("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, old.File("ca.pem"), string(authority))
	if err := ask("with the new one"); err != nil {
		t.Errorf("with a new authority in the file: %v", err)
	}
	if err := os.Remove(old.File("ca.pem")); err != nil {
		t.Fatal(err)
	}
	if err := ask("with none"); err == nil || !strings.Contains(err.Error(), "tls.ca: ") {
		t.Errorf("got %v, want it said which file cannot be read", err)
	}
}

// TestServersThatAreAsked: no more servers are returned than are asked, each has its turn, and one whose credentials
// cannot be read is passed over.
func TestServersThatAreAsked(t *testing.T) {
	var all []topology.Endpoint
	for _, name := range []string{"1", "2", "3", "4"} {
		access := &topology.Access{TokenFile: t.TempDir() + "/token"}
		if name != "3" {
			writeFile(t, access.TokenFile, "secret")
		}
		all = append(all, topology.Endpoint{Endpoint: snapshot.Endpoint{Name: name, Address: "127.0.0.1:" + name},
			Access: access})
	}
	p := pool.New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{&file.Discovery{}})
	p.Start = func(context.Context, *pool.Target) {}
	p.Update(t.Context(), 0, topology.Part{Endpoints: all}, nil)
	s := &servers{pool: p}
	for i, want := range []string{"2 4", "4 1", "4 1", "1 2"} {
		var got []string
		for _, server := range s.For("m", 2) {
			got = append(got, strings.TrimPrefix(server.URL, "http://127.0.0.1:"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("question %d goes to %q, want %q", i+1, got, want)
		}
	}
}

// TestSGLangAmongServers: a model is rendered as SGLang does where one of its servers is known to be one, by what its
// page is read as.
func TestSGLangAmongServers(t *testing.T) {
	var all []topology.Endpoint
	for _, e := range []snapshot.Endpoint{
		{Name: "v", Address: "127.0.0.1:1", Models: []string{"a", "both"}, Engine: "vllm"},
		{Name: "s", Address: "127.0.0.1:2", Models: []string{"b", "both"}, Engine: "sglang"},
		{Name: "x", Address: "127.0.0.1:3", Models: []string{"c"}},
	} {
		all = append(all, topology.Endpoint{Endpoint: e})
	}
	p := pool.New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{&file.Discovery{}})
	p.Start = func(context.Context, *pool.Target) {}
	s := &servers{pool: p}
	if s.SGLang("b") {
		t.Error("a model is SGLang's before there is any server")
	}
	p.Update(t.Context(), 0, topology.Part{Endpoints: all}, nil)
	for model, want := range map[string]bool{"a": false, "b": true, "both": true, "c": false, "d": false} {
		if got := s.SGLang(model); got != want {
			t.Errorf("%s: got %v, want %v", model, got, want)
		}
	}
	for _, server := range s.For("both", 2) {
		if want := strings.HasSuffix(server.URL, ":2"); server.SGLang != want {
			t.Errorf("%s: got %v, want %v", server.URL, server.SGLang, want)
		}
	}
	p.Generation().Targets[2].Detected(engine.Known.ByName("sglang"))
	if !s.SGLang("c") {
		t.Error("a server whose page is SGLang's is not taken for one")
	}
}
