package data_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestFileDiscovery: the sidecar reads the file that is named, and looks again only where that is said.
func TestFileDiscovery(t *testing.T) {
	for _, tc := range []struct {
		name, parameters string
		want             scoring.EndpointsFile
		mistake          string
	}{
		{"once", `{"path": "/etc/servers.yaml"}`, scoring.EndpointsFile{Path: "/etc/servers.yaml"}, ""},
		{"watched", `{"path": "servers.yaml", "watchFile": true}`,
			scoring.EndpointsFile{Path: "servers.yaml", Watch: true}, ""},
		{"no file", `{}`, scoring.EndpointsFile{},
			"plugins[0](file-discovery).parameters.path: is missing; name the file that lists the servers"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			document := `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "file-discovery", "parameters": ` +
				tc.parameters + `}], "dataLayer": {"discovery": {"pluginRef": "file-discovery"}}}`
			if tc.mistake != "" {
				if got := plantest.Mistakes(document); strings.TrimSpace(got) != tc.mistake {
					t.Errorf("got  %s\nwant %s", got, tc.mistake)
				}
				return
			}
			got := plantest.Plan(t, document, plantest.Neutral).DataLayer().Endpoints
			if got == nil || *got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
