package e2e

import (
	"testing"
)

// TestCapacityIsLearnt: a server that tells of room for a fifth of a prompt, and reports again and again that it had
// all of it, is believed.
func TestCapacityIsLearnt(t *testing.T) {
	const blockTokens, tries, learnt = 64, 100, 0.85
	inCells(t, func(t *testing.T, f *fixture) {
		endpoints := f.pool("sim-0")[:1]
		endpoints[0].Blocks = 4 * blockTokens / 16
		f.Publish(t, endpoints...)
		body := "{\"model\":\"sim-model\",\"max_tokens\":1,\"prompt\":\"" + capacityPrompt(20*blockTokens*4) + "\"}"
		score := 0.0
		for range tries {
			got, _ := f.sendTo(t, "prefix", "/v1/completions", body, false)
			wantServer(t, got, "sim-0")
			if lines := explained(t, got).Scores; len(lines) > 0 && len(lines[0]) > 3 {
				score, _ = lines[0][3].(float64)
			}
			if score >= learnt {
				return
			}
		}
		t.Errorf("after %d requests the score is %.2f, want %.2f or more", tries, score, learnt)
	})
}

// capacityPrompt is text of so many bytes that no other test sends.
func capacityPrompt(bytes int) string {
	text := make([]byte, bytes)
	for i := range text {
		text[i] = "capacity of caches "[i*7%19]
	}
	return string(text)
}
