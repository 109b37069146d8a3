package engine

import (
	"bytes"
	"slices"

	"github.com/pintle-dev/pintle/internal/selector"
)

// gpuUse is what a DCGM exporter calls the used part of a GPU, in percent.
const gpuUse = "DCGM_FI_DEV_GPU_UTIL"

// GPUUse returns the used part of the busiest GPU on a page of a DCGM exporter, 0 to 1. Of series that say which pod
// has the GPU those of the pod count, which has one of the names. ok is false when there is none.
func GPUUse(page []byte, namespace string, names ...string) (use float64, ok bool) {
	var s series
	for line := range bytes.Lines(page) {
		line = skipBlanks(bytes.TrimRight(line, "\r\n"))
		if !begins(line, gpuUse) || selector.IsNameByte(line[len(gpuUse)]) || !s.read(line[len(gpuUse):]) {
			continue
		}
		if !s.isOf("pod", names...) || !s.isOf("namespace", namespace) || s.value < 0 {
			continue
		}
		use, ok = max(use, min(s.value/100, 1)), true
	}
	return use, ok
}

// isOf reports whether the series has one of the values in a label, or has no such label. Nothing is known of an empty
// value.
func (s *series) isOf(label string, values ...string) bool {
	given, ok := s.label(label)
	return !ok || slices.Contains(values, "") || slices.Contains(values, string(given))
}
