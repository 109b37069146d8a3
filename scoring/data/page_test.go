package data_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestIntervals: 0 leaves the interval to the sidecar, and no other is shorter than 50 ms.
func TestIntervals(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		want             time.Duration
	}{
		{"none", `{}`, 0},
		{"no time", `{"interval": "0s"}`, 0},
		{"an empty one", `{"interval": ""}`, 0},
		{"a short one", `{"interval": "1ms"}`, 50 * time.Millisecond},
		{"a long one", `{"interval": "2s"}`, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, paged("metrics-data-source", tc.parameters), plantest.Neutral)
			if got := plan.DataLayer().Metrics.Interval; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestCertificatesWithoutTLS: whoever gives certificates and leaves the scheme at http is told that they are of no
// use.
func TestCertificatesWithoutTLS(t *testing.T) {
	const (
		certificates = `"caCertPath": "a.pem", "clientCertPath": "c.pem", "clientKeyPath": "c.key"`
		why          = " has no effect: it is of no use with the scheme http; scheme: https is right"
	)
	for _, tc := range []struct{ name, parameters, want string }{
		{"http", certificates, "m: caCertPath" + why + "\nm: clientCertPath" + why + "\nm: clientKeyPath" + why},
		{"https", certificates + `, "scheme": "https"`, ""},
		{"neither", `"interval": "1s"`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"name": "m", "type": `+
				`"models-data-source", "parameters": {`+tc.parameters+`}}], "dataLayer": {"sources": [{"pluginRef": "m"}]}}`,
				"", strings.TrimPrefix(tc.want+"\ndataLayer: the sidecar has to read this document, too: "+
					"pintle sidecar -plugins FILE", "\n"))
		})
	}
}

// TestPages: what each source has the sidecar ask for, by default and by its parameters.
func TestPages(t *testing.T) {
	const (
		metrics, models, gpu = "metrics-data-source", "models-data-source", "dcgm-data-source"
		common               = `"scheme": "https", "path": "/p", "insecureSkipVerify": false, "interval": "2s"`
		certificates         = `"caCertPath": "a.pem", "clientCertPath": "c.pem", "clientKeyPath": "c.key"`
	)
	withCertificates := scoring.Page{HTTPS: true, Path: "/p", Interval: 2 * time.Second, CACert: "a.pem",
		ClientCert: "c.pem", ClientKey: "c.key"}
	withPort := withCertificates
	withPort.Port = 9000
	for _, tc := range []struct {
		name, source, parameters string
		want                     scoring.Page
	}{
		{"metrics", metrics, `{}`, scoring.Page{SkipVerify: true, Path: "/metrics"}},
		{"metrics, each parameter", metrics, `{` + common + `, ` + certificates + `, "port": 9000}`, withPort},
		{"models", models, `{}`, scoring.Page{SkipVerify: true, Path: "/v1/models"}},
		{"models, each parameter", models, `{` + common + `, ` + certificates + `}`, withCertificates},
		{"GPUs", gpu, `{}`, scoring.Page{SkipVerify: true, Path: "/metrics", Port: 9400}},
		{"GPUs, each parameter", gpu, `{` + common + `, "port": 9000, "useNodeAddress": true}`,
			scoring.Page{HTTPS: true, Path: "/p", Interval: 2 * time.Second, Port: 9000, NodeAddress: true}},
		{"the last port", gpu, `{"port": 65535}`, scoring.Page{SkipVerify: true, Path: "/metrics", Port: 65535}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := plantest.Plan(t, paged(tc.source, tc.parameters), plantest.Neutral).DataLayer()
			got := map[string]*scoring.Page{metrics: data.Metrics, models: data.Models, gpu: data.GPU}[tc.source]
			if got == nil || *got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestPageMistakes: what is wrong with a page is said by its key.
func TestPageMistakes(t *testing.T) {
	const both = "clientCertPath: one of clientCertPath and clientKeyPath is missing; both or none are right"
	for _, tc := range []struct{ name, source, parameters, want string }{
		{"a path without a slash", "metrics-data-source", `{"path": "metrics"}`,
			`path: "metrics" does not begin with a slash`},
		{"no port", "metrics-data-source", `{"port": 0}`, "port: 0 is not a whole number from 1 to 65535"},
		{"no port of GPUs", "dcgm-data-source", `{"port": 0}`, "port: 0 is not a whole number from 1 to 65535"},
		{"a port too many of GPUs", "dcgm-data-source", `{"port": 65536}`,
			"port: 65536 is not a whole number from 1 to 65535"},
		{"another scheme", "models-data-source", `{"scheme": "ftp"}`, `scheme: "ftp" is not one of http, https`},
		{"a time that is none", "models-data-source", `{"interval": "-1s"}`, `interval: "-1s" is not`},
		{"a certificate without a key", "models-data-source", `{"scheme": "https", "clientCertPath": "c"}`, both},
		{"a key without a certificate", "models-data-source", `{"scheme": "https", "clientKeyPath": "c"}`, both},
		{"authorities of GPUs", "dcgm-data-source", `{"caCertPath": "a"}`, `unknown key "caCertPath"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := strings.Replace("plugins[0]("+tc.source+").parameters."+tc.want, ".unknown key", ": unknown key", 1)
			if got := plantest.Mistakes(paged(tc.source, tc.parameters)); !strings.HasPrefix(got, want) ||
				strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// paged is a document with a source that fetches a page.
func paged(source, parameters string) string {
	return `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "` + source + `", "parameters": ` + parameters +
		`}], "dataLayer": {"sources": [{"pluginRef": "` + source + `"}]}}`
}
