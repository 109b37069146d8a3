package config

import (
	"runtime"
	"strings"
	"testing"
)

// TestNamesKeepNoDocument: the names of endpoints that left are remembered, and not all that stood beside them.
func TestNamesKeepNoDocument(t *testing.T) {
	const documents, bytes = 32, 1 << 18
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	text := []byte("endpoints: [{name: a, address: '10.0.0.1:1', labels: {x: " + strings.Repeat("x", bytes) + "}}]")
	before := heap()
	var names []string
	for range documents {
		part, err := (&Config{}).ParseEndpoints(text)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, part.Endpoints[0].Name)
	}
	if after := heap(); after > before+documents*bytes/2 {
		t.Errorf("%d names keep %d bytes, want less than half of their documents' %d", len(names), after-before,
			documents*bytes)
	}
	runtime.KeepAlive(text)
	runtime.KeepAlive(names)
}
