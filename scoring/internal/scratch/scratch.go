// Package scratch is for memory that is used again with each decision.
package scratch

// Resize returns s with n elements, in its own memory if there is enough. Elements hold what they held before.
func Resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
