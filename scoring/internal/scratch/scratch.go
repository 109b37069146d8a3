// Package scratch is for memory that is used again with each decision.
package scratch

// Resize returns s with n elements, in its own memory if there is enough. Elements hold what they held before, also
// those behind the end of s: slices in them keep their memory, too.
func Resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return append(s[:cap(s)], make([]T, n-cap(s))...)
}
