package main_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestOlderEnvoy warns where Envoy cannot be told the address of a request that has waited, and nowhere else.
func TestOlderEnvoy(t *testing.T) {
	const version = "xds.node.user_agent_build_version.version."
	tests := []struct {
		name         string
		mode         mode
		major, minor int64
		want         bool
	}{
		{"1.36", modes[0], 1, 36, true},
		{"1.37", modes[0], 1, 37, false},
		{"2.0", modes[0], 2, 0, false},
		{"1.36, by header_mutation", modes[1], 1, 36, false},
		{"1.36, by header", modes[2], 1, 36, false},
		{"1.36, by pause and override-host", modes[3], 1, 36, false},
		{"not told", modes[0], 0, 0, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			options := tc.mode.options(wazerohost.NewClock(startTime))
			if tc.major > 0 {
				options.Properties = map[string][]byte{version + "major_number": wazerohost.Int64(tc.major),
					version + "minor_number": wazerohost.Int64(tc.minor)}
			}
			host := newHost(t, options)
			w, err := host.Worker()
			if err != nil {
				t.Fatalf("Worker: %v", err)
			}
			startPlugin(t, w, wazerohost.PluginConfig{Configuration: tc.mode.configuration(byQueue, ""),
				Listener: requestListener})
			warned := 0
			for _, line := range host.Logs(wazerohost.Warn) {
				if strings.Contains(line.Text, "older than 1.37") {
					warned++
				}
			}
			if (warned == 1) != tc.want || warned > 1 {
				t.Errorf("warnings: got %d, want %v", warned, tc.want)
			}
		})
	}
}
