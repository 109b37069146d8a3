// Package registry lists every plug-in that a configuration may name.
package registry

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/filters"
	"github.com/pintle-dev/pintle/scoring/handlers"
	"github.com/pintle-dev/pintle/scoring/pickers"
	"github.com/pintle-dev/pintle/scoring/scorers"
)

// Plugins are all plug-ins: profile handlers, filters, scorers, pickers, each group in alphabetical order.
var Plugins = []scoring.Registration{
	{Type: "single-profile-handler", New: handlers.NewSingleProfileHandler},

	{Type: "by-label", New: filters.NewByLabel},
	{Type: "decode-filter", New: filters.NewDecodeFilter},

	{Type: "kv-cache-utilization-scorer", New: scorers.NewKVCacheUtilizationScorer},
	{Type: "queue-scorer", New: scorers.NewQueueScorer},
	{Type: "running-requests-size-scorer", New: scorers.NewRunningRequestsSizeScorer},

	{Type: "max-score-picker", New: pickers.NewMaxScorePicker},
	{Type: "random-picker", New: pickers.NewRandomPicker},
}
