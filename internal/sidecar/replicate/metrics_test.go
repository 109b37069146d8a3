package replicate

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestMonitoringNamesMetrics keeps the dashboard, the alerts and the documentation true.
func TestMonitoringNamesMetrics(t *testing.T) {
	harness.CheckMonitoring(t, "pintle_replication_", newMetrics())
}
