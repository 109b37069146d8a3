package data_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestUnreadPages: in Heimdall's dialect the operator is told of what a page says and the sidecar does otherwise.
func TestUnreadPages(t *testing.T) {
	const (
		metrics, models = "metrics-data-source", "models-data-source"
		instead         = " no effect: how the servers are reached stands in the sidecar's configuration"
	)
	tests := []struct{ name, kind, parameters, want string }{
		{"none", models, `{}`, ""},
		{"the same", models, `{"scheme": "http", "path": "/v1/models", "insecureSkipVerify": true, "interval": "0s"}`, ""},
		{"another path", models, `{"path": "/models"}`, "path has no effect: the sidecar reads /v1/models"},
		{"https", models, `{"scheme": "https"}`, "scheme and insecureSkipVerify have" + instead},
		{"authorities", models, `{"caCertPath": "a.pem"}`, "caCertPath has" + instead},
		{"a client's certificate", models, `{"clientCertPath": "c.pem", "clientKeyPath": "c.key"}`,
			"clientCertPath has" + instead + "|clientKeyPath has" + instead},
		{"how often", models, `{"interval": "1m"}`, "interval has" + instead},
		{"no metrics", metrics, `{}`, ""},
		{"the same metrics", metrics, `{"scheme": "http", "path": "/metrics", "insecureSkipVerify": true}`, ""},
		{"metrics elsewhere", metrics, `{"path": "/stats", "port": 9000}`,
			"path has no effect: where the metrics are stands in the sidecar's configuration|port has" + instead},
		{"metrics by https", metrics, `{"scheme": "https", "insecureSkipVerify": false}`,
			"scheme and insecureSkipVerify have" + instead},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			want := ""
			if tc.want != "" {
				want = tc.kind + ": " + strings.ReplaceAll(tc.want, "|", "\n"+tc.kind+": ")
			}
			plantest.CheckTold(t, `{"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "featureGates": ["dataLayer"],
				"plugins": [{"type": "`+tc.kind+`", "parameters": `+tc.parameters+`}],
				"data": {"sources": [{"pluginRef": "`+tc.kind+`"}]}}`, "", want)
		})
	}
}
