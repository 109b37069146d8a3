package kvevents

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestMonitoringNamesMetrics keeps the dashboard and the alerts true.
func TestMonitoringNamesMetrics(t *testing.T) {
	harness.CheckMonitoring(t, "pintle_kv_", &Subscriber{})
}
