//go:build collectalways

package runtime

// collectAlways has collectBetweenCalls collect each time, so that what it frees wrongly shows at once. For tests.
const collectAlways = true
