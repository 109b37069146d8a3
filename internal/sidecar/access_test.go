package sidecar

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness/pki"
)

// guarded is a model server that asks for TLS, a client's certificate or a key, as tests have it.
type guarded struct {
	address string

	mu    sync.Mutex
	names map[string]bool // SNI
	hosts map[string]bool
	asked map[string]bool // paths that were answered
}

// serveTLS starts a server with that certificate; need has it ask for one of the client's, and key for one in a header
// "NAME: VALUE".
func serveTLS(t *testing.T, a *pki.Authority, cert string, need bool, key string) *guarded {
	t.Helper()
	g := &guarded{names: map[string]bool{}, hosts: map[string]bool{}, asked: map[string]bool{}}
	header, value, _ := strings.Cut(key, ": ")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if header != "" && r.Header.Get(header) != value {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		g.mu.Lock()
		g.names[r.TLS.ServerName], g.hosts[r.Host], g.asked[r.URL.Path] = true, true, true
		g.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path == "/v1/models" {
			_, _ = io.WriteString(w, `{"data": [{"id": "m"}]}`)
			return
		}
		_, _ = io.WriteString(w,
			"vllm:num_requests_waiting 3\nvllm:num_requests_running 2\nvllm:kv_cache_usage_perc 0.5\n"+
				"vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\"} 1\n")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{a.Pair(cert)}}
	if need {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		server.TLS.ClientCAs.AddCert(a.Cert)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	g.address = server.Listener.Addr().String()
	return g
}

func (g *guarded) saw(set func(g *guarded) map[string]bool, what string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return set(g)[what]
}

func TestTLS(t *testing.T) {
	t.Parallel()
	a := pki.New(t)
	a.Issue("ip", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	a.Issue("named", &x509.Certificate{DNSNames: []string{"vllm.internal"}})
	a.Issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	writeFile(t, a.File("key"), "a-key\n")
	ca := "ca: " + a.File("ca.pem")
	client := fmt.Sprintf(", certificate: %s, key: %s", a.File("client.pem"), a.File("client.key"))
	tests := []struct {
		name   string
		server *guarded
		tls    string
		more   string
		fails  string // in lastError; empty is no failure
	}{
		{"authority", serveTLS(t, a, "ip", false, ""), ca, "", ""},
		{"server-name", serveTLS(t, a, "named", false, ""), ca + ", serverName: vllm.internal", "", ""},
		{"other-name", serveTLS(t, a, "named", false, ""), ca + ", serverName: other.internal", "",
			"certificate is valid for vllm.internal, not other.internal"},
		{"no-name", serveTLS(t, a, "named", false, ""), ca, "", "cannot validate certificate for 127.0.0.1"},
		{"unknown-authority", serveTLS(t, a, "ip", false, ""), "", "", "certificate signed by unknown authority"},
		{"no-verification", serveTLS(t, a, "named", false, ""), "insecureSkipVerify: true", "", ""},
		{"client-certificate", serveTLS(t, a, "ip", true, ""), ca + client, "", ""},
		{"no-client-certificate", serveTLS(t, a, "ip", true, ""), ca, "", "certificate required"},
		{"key", serveTLS(t, a, "ip", false, "Authorization: Bearer a-key"), ca, ", tokenFile: " + a.File("key"), ""},
		{"key-in-a-header", serveTLS(t, a, "ip", false, "X-Api-Key: a-key"), ca,
			", tokenHeader: x-api-key, tokenFile: " + a.File("key"), ""},
		{"no-key", serveTLS(t, a, "ip", false, "Authorization: Bearer a-key"), ca, "",
			"answered 401 Unauthorized; tokenFile with the server's API key is right"},
		{"other-key", serveTLS(t, a, "ip", false, "Authorization: Bearer other"), ca, ", tokenFile: " + a.File("key"),
			"answered 401 Unauthorized; the server's API key in"},
	}
	plain := newModelServer(t, 3)
	list := "{name: plain, address: '" + plain.address() + "'}"
	for _, test := range tests {
		list += fmt.Sprintf(", {name: %s, address: '%s', scheme: https, tls: {%s}%s}", test.name, test.server.address,
			test.tls, test.more)
	}
	in, url := newIngest(t)
	r := startWith(t, func(admin string) string {
		config := configYAML(admin, url, "{static: ["+list+"]}")
		return strings.Replace(config, "timeout: 30s", "timeout: 30s, models: 1s", 1)
	})
	in.await("a sample of the plain server", func(r *received) bool { return r.waiting("plain") == 3 })
	for _, test := range tests {
		if test.fails != "" {
			eventually(t, test.name+" fails with "+test.fails, func() bool {
				_, body := r.get("/endpoints")
				return strings.Contains(body, test.fails)
			})
			continue
		}
		in.await(test.name, func(r *received) bool { return r.waiting(test.name) == 3 })
		eventually(t, "the models of "+test.name, func() bool {
			return test.server.saw(func(g *guarded) map[string]bool { return g.asked }, "/v1/models")
		})
	}
	named := tests[1].server
	if !named.saw(func(g *guarded) map[string]bool { return g.names }, "vllm.internal") ||
		!named.saw(func(g *guarded) map[string]bool { return g.hosts }, "vllm.internal") {
		t.Errorf("server name: got SNI %v and hosts %v, want vllm.internal", named.names, named.hosts)
	}
	_, health := r.get("/healthz")
	for _, want := range []string{"scrape: 2 of 13 endpoints refuse to be read, such as no-key: https://",
		"models: 7 of 13 endpoints do not say which they serve"} {
		eventually(t, want, func() bool {
			_, health = r.get("/healthz")
			return strings.Contains(health, want)
		})
	}
	eventually(t, "the refusals counted", func() bool {
		_, metrics := r.get("/metrics")
		return strings.Contains(metrics,
			`pintle_sidecar_model_lists_total{endpoint="no-key",result="unauthorized"}`) &&
			strings.Contains(metrics, `pintle_sidecar_scrapes_total{endpoint="no-key",result="unauthorized"}`)
	})
	const line = `msg="the endpoint does not say which models it serves" endpoint=no-key result=unauthorized`
	eventually(t, "a log line on the models of no-key", func() bool { return strings.Contains(r.log.String(), line) })
	if n := strings.Count(r.log.String(), line); n != 1 {
		t.Errorf("got %d log lines on the models of no-key, want 1", n)
	}
	if strings.Contains(r.log.String()+health, "a-key") {
		t.Error("got the key in the log or in /healthz")
	}
}

// A key and certificates are replaced while the sidecar runs, and what a section says holds for all endpoints that say
// nothing else.
func TestCredentialsAreReadAgain(t *testing.T) {
	t.Parallel()
	a := pki.New(t)
	a.Issue("ip", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	server := serveTLS(t, a, "ip", false, "Authorization: Bearer new-key")
	writeFile(t, a.File("key"), "old-key")
	in, url := newIngest(t)
	r := startWith(t, func(admin string) string {
		config := configYAML(admin, url, "{static: [{name: a, address: '"+server.address+"'}]}")
		return strings.Replace(config, "timeout: 30s",
			fmt.Sprintf("timeout: 30s, scheme: https, tls: {ca: %s}, tokenFile: %s", a.File("ca.pem"), a.File("key")),
			1)
	})
	eventually(t, "the old key is refused",
		func() bool { return strings.Contains(r.log.String(), "result=unauthorized") })
	writeFile(t, a.File("key"), "new-key")
	in.await("a sample with the new key", func(r *received) bool { return r.waiting("a") == 3 })
}

// Metrics are asked for by name where the engine's page can be; a server that answers otherwise gives the whole page.
func TestAsksForTheNeededMetrics(t *testing.T) {
	t.Parallel()
	const whole = "vllm:num_requests_waiting 3\nvllm:num_requests_running 2\nvllm:kv_cache_usage_perc 0.5\n" +
		"vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\"} 1\n"
	answers := map[string]func(w http.ResponseWriter){
		"filters":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, whole) },
		"not-found": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"redirects": func(w http.ResponseWriter) {
			w.Header().Set("Location", "/metrics")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"empty": func(w http.ResponseWriter) {},
		"lacks": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "vllm:num_requests_waiting 9\n") },
	}
	var mu sync.Mutex
	filtered, plain := map[string]int{}, map[string]int{}
	var pairs []string
	queries := map[string]string{}
	for name, answer := range answers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			mu.Lock()
			defer mu.Unlock()
			if r.URL.Path == "/metrics/" {
				filtered[name]++
				queries[name] = strings.Join(r.URL.Query()["name[]"], " ")
				answer(w)
				return
			}
			plain[name]++
			_, _ = io.WriteString(w, whole)
		}))
		t.Cleanup(server.Close)
		pairs = append(pairs, name, server.Listener.Addr().String())
	}
	in, url := newIngest(t)
	r := start(t, url, "{static: "+staticYAML(pairs...)+"}")
	for name := range answers {
		in.await("a sample of "+name, func(r *received) bool { return r.waiting(name) == 3 })
		eventually(t, "twenty pages of "+name, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return filtered[name]+plain[name] >= 20
		})
	}
	mu.Lock()
	defer mu.Unlock()
	for name := range answers {
		switch {
		case name == "filters" && plain[name] != 1:
			t.Errorf("%s: got %d whole pages, want the one that tells the engine", name, plain[name])
		case name != "filters" && filtered[name] != 1:
			t.Errorf("%s: got %d pages asked for by name, want one try", name, filtered[name])
		}
	}
	const want = "vllm:num_requests_waiting vllm:num_requests_running vllm:kv_cache_usage_perc " +
		"vllm:gpu_cache_usage_perc vllm:cache_config_info vllm:lora_requests_info " +
		"vllm:prompt_tokens_total process_start_time_seconds"
	if queries["filters"] != want {
		t.Errorf("got names %q, want %q", queries["filters"], want)
	}
	if log := r.log.String(); strings.Contains(log, "scrape failed") || strings.Contains(log, "msg=\"metric ") {
		t.Errorf("got a failure in the log, want the whole page without a word:\n%s", log)
	}
}
