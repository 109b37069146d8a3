package config

import (
	"crypto/x509"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness/pki"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// TestAccessBesideTheDocument: the document says how pages are asked for. Secrets and names, of which it says nothing,
// are those that the sidecar's configuration has for the endpoints. Engines are named by the document's label.
func TestAccessBesideTheDocument(t *testing.T) {
	authority := pki.New(t)
	folder := filepath.Dir(authority.File("ca.pem"))
	authority.Issue("client", &x509.Certificate{})
	authority.Issue("other", &x509.Certificate{})
	for _, name := range []string{"common", "own"} {
		writeFile(t, filepath.Join(folder, name), "a-secret")
	}
	secure := func(a topology.Access) topology.Access {
		a.HTTPS, a.CA = true, filepath.Join(folder, "ca.pem")
		return a
	}
	common := topology.Access{TokenFile: filepath.Join(folder, "common")}
	own := topology.Access{TokenFile: filepath.Join(folder, "own"), TokenHeader: "x-api-key"}
	const certificates = "tls: {ca: ca.pem, certificate: client.pem, key: client.key}"
	certified := secure(topology.Access{})
	certified.Certificate, certified.Key = filepath.Join(folder, "client.pem"), filepath.Join(folder, "client.key")
	anybody := secure(topology.Access{SkipVerify: true})
	named := common
	named.ServerName = "vllm.internal"
	for _, tc := range []struct {
		name, parameters, scrape, endpoint string
		want                               topology.Access
	}{
		{"nothing", "{}", "{}", "", topology.Access{}},
		{"HTTPS", "{scheme: https, caCertPath: ca.pem}", "{}", "", secure(topology.Access{})},
		{"a secret for all", "{scheme: https, caCertPath: ca.pem}", "{tokenFile: common}", "", secure(common)},
		{"a secret of its own", "{scheme: https, caCertPath: ca.pem}", "{tokenFile: common}",
			", tokenFile: own, tokenHeader: x-api-key", secure(own)},
		{"a secret of its own alone", "{}", "{}", ", tokenFile: own, tokenHeader: x-api-key", own},
		{"nobody who vouches", "{scheme: https}", "{}", "", topology.Access{HTTPS: true, SkipVerify: true}},
		{"nothing of certificates", "{scheme: https}", "{scheme: https, " + certificates + "}", "", certified},
		{"nothing of one's own certificates", "{scheme: https}", "{}", ", scheme: https, " + certificates, certified},
		{"one's own leave to be anybody", "{scheme: https}", "{scheme: https, tls: {ca: ca.pem}}",
			", tls: {insecureSkipVerify: true}", anybody},
		{"no such leave", "{scheme: https, insecureSkipVerify: false}", "{scheme: https, tls: {ca: ca.pem}}",
			", tls: {insecureSkipVerify: true}", secure(topology.Access{})},
		{"certificates in place of others", "{scheme: https, caCertPath: ca.pem, clientCertPath: client.pem, " +
			"clientKeyPath: client.key}", "{scheme: https, tls: {insecureSkipVerify: true, certificate: other.pem, " +
			"key: other.key}}", "", certified},
		{"a name of its own", "{scheme: https, caCertPath: ca.pem}", "{tokenFile: common}",
			", scheme: https, tls: {serverName: vllm.internal}", secure(named)},
		{"HTTP in the document", "{}", "{}", ", scheme: https", topology.Access{}},
		{"HTTP in the document, and TLS as all have it", "{}", "{scheme: https}", ", tls: {serverName: vllm.internal}",
			topology.Access{ServerName: "vllm.internal"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			document := filepath.Join(folder, "filter.yaml")
			writeFile(t, document, "config:\n  plugins:\n  - {type: metrics-data-source, parameters: "+tc.parameters+
				"}\n  - {type: core-metrics-extractor, parameters: {engineLabelKey: engine}}\n  dataLayer: {sources: "+
				"[{pluginRef: metrics-data-source, extractors: [{pluginRef: core-metrics-extractor}]}]}\n")
			c, err := Parse(filepath.Join(folder, "s.yaml"), []byte(envoyYAML+"scrape: "+tc.scrape+
				"\ndiscovery:\n  static: [{name: a, address: '10.0.0.1:1'"+tc.endpoint+"}]\n"+
				"  dns: [{name: a, port: 1"+tc.endpoint+"}]\n"+
				"  kubernetes: {pools: [{service: a"+tc.endpoint+"}]}\n"))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.ApplyPlugins(document); err != nil {
				t.Fatal(err)
			}
			c.EndpointsFile = filepath.Join(folder, "list.yaml")
			list, err := c.ParseEndpoints([]byte("endpoints: [{name: a, address: '10.0.0.1:1'" + tc.endpoint + "}]"))
			if err != nil {
				t.Fatal(err)
			}
			for at, got := range map[string]*topology.Access{"static": c.Static.Endpoints[0].Access,
				"file": list.Endpoints[0].Access, "dns": c.DNS[0].Access, "kubernetes": c.Kubernetes.Pools[0].Access} {
				if got == nil || *got != tc.want {
					t.Errorf("%s: got %+v, want %+v", at, got, tc.want)
				}
			}
			if got := c.Kubernetes.EngineLabel; got != "engine" {
				t.Errorf("got the label %q, want engine", got)
			}
		})
	}
}

// TestAuthoritiesForModels: who may vouch for the servers where models are listed is who the sidecar's configuration
// says it is, if the document does not, and not who it is where metrics are.
func TestAuthoritiesForModels(t *testing.T) {
	authority := pki.New(t)
	folder := filepath.Dir(authority.File("ca.pem"))
	document := filepath.Join(folder, "filter.yaml")
	writeFile(t, document, `config:
  plugins:
  - {name: pages, type: metrics-data-source, parameters: {scheme: https, caCertPath: ca.pem}}
  - {type: core-metrics-extractor}
  - {name: lists, type: models-data-source, parameters: {scheme: https}}
  - {type: models-data-extractor}
  dataLayer:
    sources:
    - {pluginRef: pages, extractors: [{pluginRef: core-metrics-extractor}]}
    - {pluginRef: lists, extractors: [{pluginRef: models-data-extractor}]}
`)
	authority.Issue("own", &x509.Certificate{})
	own := authority.File("own.pem")
	for _, tc := range []struct {
		name, scrape string
		want         topology.Access
	}{
		{"nobody", "{}", topology.Access{HTTPS: true, SkipVerify: true}},
		{"an authority", "{scheme: https, tls: {ca: own.pem}}", topology.Access{HTTPS: true, CA: own}},
	} {
		c, err := Parse(filepath.Join(folder, "s.yaml"),
			[]byte(envoyYAML+"scrape: "+tc.scrape+"\ndiscovery: {static: []}"))
		if err == nil {
			err = c.ApplyPlugins(document)
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		} else if *c.Scrape.ModelsAccess != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, *c.Scrape.ModelsAccess, tc.want)
		}
	}
}
