//go:build collectalways

package runtime

// collectAlways has the collector run at every allocation, but for the first ones, before the runtime has begun. So
// what it frees too early shows at once and each time. For tests: nothing is fast with it.
const collectAlways = true
