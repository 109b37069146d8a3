//go:build !collectalways

package runtime

const collectAlways = false
