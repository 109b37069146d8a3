package main

import (
	"fmt"
	"strconv"
	"strings"
)

// ports are where one side of the comparison listens.
type ports struct{ requests, ingest, envoy, sidecar, firstSim int }

// shippedPorts stand in envoy.yaml.
var shippedPorts = ports{requests: 10000, ingest: 15099, envoy: 9901}

// envoyConfig is envoy.yaml on other ports and, for the control, with another picker; nothing else differs.
func envoyConfig(shipped string, p ports, picker string) (string, error) {
	// Whole texts with what stands around the numbers, so that none is replaced by chance.
	replacements := []struct {
		old, new string
		count    int
	}{
		{portValue(shippedPorts.requests), portValue(p.requests), 1},
		{portValue(shippedPorts.ingest), portValue(p.ingest), 1},
		{portValue(shippedPorts.envoy), portValue(p.envoy), 1},
		{fmt.Sprintf(`"port": %d,`, shippedPorts.ingest), fmt.Sprintf(`"port": %d,`, p.ingest), 1},
		{`"max-score-picker"`, strconv.Quote(picker), 2},
	}
	// In two steps, as one of the new ports may be one of the old ones.
	config := shipped
	for i, r := range replacements {
		if got := strings.Count(shipped, r.old); got != r.count {
			return "", fmt.Errorf("envoy.yaml: %s is there %d times; the demo replaces it in %d places", r.old, got,
				r.count)
		}
		config = strings.ReplaceAll(config, r.old, placeholder(i))
	}
	for i, r := range replacements {
		config = strings.ReplaceAll(config, placeholder(i), r.new)
	}
	return config, nil
}

func portValue(port int) string { return fmt.Sprintf("port_value: %d}", port) }

func placeholder(i int) string { return fmt.Sprintf("\x00%d\x00", i) }
