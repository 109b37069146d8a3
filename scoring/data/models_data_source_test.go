package data_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestModelsDataSourceWarns: the operator is told of what the sidecar does otherwise.
func TestModelsDataSourceWarns(t *testing.T) {
	tests := []struct{ name, parameters, want string }{
		{"none", `{}`, ""},
		{"the same", `{"scheme": "http", "path": "/v1/models", "insecureSkipVerify": true}`, ""},
		{"another path", `{"path": "/models"}`, "models-data-source: path has no effect: the sidecar reads /v1/models"},
		{"https", `{"scheme": "https"}`, "models-data-source: scheme and insecureSkipVerify have no effect: " +
			"how the servers are reached stands in the sidecar's configuration"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "models-data-source", "parameters": `+tc.parameters+`}]}`,
				plantest.Neutral)
			if got := strings.Join(plan.Warnings(), "\n"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
