package scrape

import "testing"

func TestPodOf(t *testing.T) {
	for name, want := range map[string][2]string{
		"ns/pod": {"ns", "pod"}, "ns/pod-rank-3": {"ns", "pod"}, "ns/pod-rank-x": {"ns", "pod-rank-x"},
		"pod": {"", "pod"},
	} {
		if namespace, pod := podOf(name); namespace != want[0] || pod != want[1] {
			t.Errorf("%s: got %q, %q, want %v", name, namespace, pod, want)
		}
	}
}
