package data_test

import (
	"strings"
	"testing"
	"time"

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
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
				{"type": "metrics-data-source", "parameters": `+tc.parameters+`}],
				"dataLayer": {"sources": [{"pluginRef": "metrics-data-source"}]}}`, plantest.Neutral)
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
