package engine

import (
	"strings"
	"testing"
)

func TestGPUUse(t *testing.T) {
	const (
		bare = `# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL 30
DCGM_FI_DEV_GPU_UTIL{gpu="1"} 55 1700000000000
`
		pods = `DCGM_FI_DEV_GPU_UTIL{pod="a",namespace="n"} 10
DCGM_FI_DEV_GPU_UTIL{pod="b",namespace="n"} 90
DCGM_FI_DEV_GPU_UTIL{pod="a",namespace="o"} 80
DCGM_FI_DEV_GPU_UTIL{pod="",namespace=""} 70
`
	)
	tests := []struct {
		name, page, namespace, pod string
		want                       float64
		ok                         bool
	}{
		{"nothing", "", "n", "a", 0, false},
		{"the busiest", bare, "n", "a", 0.55, true},
		{"its own pod's", pods, "n", "a", 0.1, true},
		{"of another namespace", pods, "o", "a", 0.8, true},
		{"of any namespace", pods, "", "a", 0.8, true},
		{"of no pod here", pods, "n", "c", 0, false},
		{"of a pod by another name", pods, "n", "a-rank-1", 0.1, true},
		{"idle", "DCGM_FI_DEV_GPU_UTIL 0", "", "a", 0, true},
		{"beyond", "DCGM_FI_DEV_GPU_UTIL 140", "", "a", 1, true},
		{"a busy one before an idle one", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 55\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 30", "",
			"a", 0.55, true},
		{"with CRLF", "DCGM_FI_DEV_GPU_UTIL 40\r\n", "", "a", 0.4, true},
		{"cut off", "DCGM_FI_DEV_GPU_UTIL", "", "a", 0, false},
		{"none", "DCGM_FI_DEV_GPU_UTIL NaN", "", "a", 0, false},
		{"a longer name", "DCGM_FI_DEV_GPU_UTIL_RATIO 40", "", "a", 0, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			use, ok := GPUUse([]byte(tc.page), tc.namespace, tc.pod, strings.TrimSuffix(tc.pod, "-rank-1"))
			if use != tc.want || ok != tc.ok {
				t.Errorf("got %v, %v, want %v, %v", use, ok, tc.want, tc.ok)
			}
		})
	}
}
