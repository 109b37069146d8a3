package stack

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEnvoyConfig: every kind of Envoy is YAML, and has what belongs to it and nothing of the others.
func TestEnvoyConfig(t *testing.T) {
	requests := EnvoyListener{Name: "requests", Port: 11, Plugin: `{"a": "b: \"c\""}`, Carry: []string{"x-carried"},
		Environment: map[string]string{"N": "v"}}
	ingest := EnvoyListener{Name: "ingest", Socket: "/srv/in", Plugin: "{}", Ingest: true, MaxBodyBytes: 77}
	for _, test := range []struct {
		name   string
		config EnvoyConfig
		has    []string
		lacks  []string
	}{
		{"without Pintle", EnvoyConfig{Balance: "LEAST_REQUEST"},
			[]string{"lb_policy: LEAST_REQUEST", "port_value: 21}", "_limit_bytes: 33554432"},
			[]string{"wasm", "ORIGINAL_DST", "override_host", "trailers"}},
		{"another module", EnvoyConfig{Balance: "ROUND_ROBIN", InTheWay: "n.wasm"},
			[]string{"lb_policy: ROUND_ROBIN", `filename: "n.wasm"`}, []string{"m.wasm", "stop_iteration"}},
		{"pause", EnvoyConfig{Hold: "pause"},
			[]string{"ORIGINAL_DST", "use_http_header: true", "stop_iteration: true", "_limit_bytes: 77",
				"path: \"/srv/in\""},
			[]string{"port_value: 21}", "max_request_bytes", "override_host", "trailers", "x-carried"}},
		{"pause, ranked", EnvoyConfig{Hold: "pause", OverrideHost: true},
			[]string{"override_host", "port_value: 21}", "num_retries"}, []string{"ORIGINAL_DST"}},
		{"buffer", EnvoyConfig{Hold: "buffer"}, []string{"ORIGINAL_DST", "max_request_bytes: 77", "key: x-carried"},
			[]string{"stop_iteration", "http_header", "trailers"}},
		{"both versions", EnvoyConfig{Hold: "pause", BothVersions: true},
			[]string{"enable_trailers", "initial_stream_window_size: 77", "use_downstream"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := test.config
			c.AdminPort, c.Module, c.Hosts, c.Listeners = 13, "m.wasm", Loopback(21), []EnvoyListener{requests, ingest}
			text, err := c.Text()
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(text), new(map[string]any)); err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			for _, part := range test.has {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing in\n%s", part, text)
				}
			}
			for _, part := range test.lacks {
				if strings.Contains(text, part) {
					t.Errorf("%q is there, in\n%s", part, text)
				}
			}
		})
	}
}
