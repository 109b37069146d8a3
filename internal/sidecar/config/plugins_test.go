package config

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness/pki"
)

// TestPathsOfTheDocument: relative paths in the filter's document start from its folder, all of them.
func TestPathsOfTheDocument(t *testing.T) {
	authority := pki.New(t)
	authority.Issue("client", &x509.Certificate{})
	folder := filepath.Dir(authority.File("ca.pem"))
	for name, text := range map[string]string{
		"list.yaml": "endpoints: []",
		"filter.yaml": `config:
  plugins:
  - {type: file-discovery, parameters: {path: list.yaml}}
  - {name: pages, type: metrics-data-source, parameters: {scheme: https, caCertPath: ca.pem,
      clientCertPath: client.pem, clientKeyPath: client.key}}
  - {type: core-metrics-extractor}
  - {name: lists, type: models-data-source, parameters: {scheme: https, caCertPath: ca.pem}}
  - {type: models-data-extractor}
  - type: precise-prefix-cache-scorer
    parameters: {indexerConfig: {tokenizersPoolConfig: {modelName: m,
      local: {autoDiscoveryDir: all, modelTokenizerMap: {m: t.json}}}}}
  dataLayer:
    discovery: {pluginRef: file-discovery}
    sources:
    - {pluginRef: pages, extractors: [{pluginRef: core-metrics-extractor}]}
    - {pluginRef: lists, extractors: [{pluginRef: models-data-extractor}]}
`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Parse("elsewhere/s.yaml",
		[]byte("envoy: {ingest: 'http://127.0.0.1:1/', token: x}\ndiscovery: {static: []}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ApplyPlugins(filepath.Join(folder, "filter.yaml")); err != nil {
		t.Fatal(err)
	}
	tokenizer := c.Prefix.Index.Tokens
	for _, tc := range []struct{ name, got, want string }{
		{"the list", c.EndpointsFile, "list.yaml"},
		{"the authority for metrics", c.Scrape.Access.CA, "ca.pem"},
		{"the certificate", c.Scrape.Access.Certificate, "client.pem"},
		{"its key", c.Scrape.Access.Key, "client.key"},
		{"the authority for models", c.Scrape.ModelsAccess.CA, "ca.pem"},
		{"the tokenizers", tokenizer.Dir, "all"},
		{"the model's tokenizer", tokenizer.Files[0].Path, "t.json"},
	} {
		if want := filepath.Join(folder, tc.want); tc.got != want {
			t.Errorf("%s: got %q, want %q", tc.name, tc.got, want)
		}
	}
}
