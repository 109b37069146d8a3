package e2e

import (
	"fmt"
	"strings"
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
			if score = scores(t, got)["sim-0"]; score >= learnt {
				return
			}
		}
		t.Errorf("after %d requests the score is %.2f, want %.2f or more", tries, score, learnt)
	})
}

// TestUsedAgainStays: of a cache that is full, what was asked for again is believed to be there longer than what came
// after it and was not.
func TestUsedAgainStays(t *testing.T) {
	const blockTokens, blocks = 64, 20
	prompt := func(number int) string {
		line := fmt.Sprintf("what was used %02d ", number)
		return `{"model":"sim-model","max_tokens":1,"prompt":"` +
			strings.Repeat(line, blocks*blockTokens*4/len(line)) + `"}`
	}
	inCells(t, func(t *testing.T, f *fixture) {
		endpoints := f.pool("sim-0")[:1]
		endpoints[0].Blocks = 4 * blocks * blockTokens / 16
		f.Publish(t, endpoints...)
		for _, number := range []int{0, 1, 2, 3, 0, 1, 4} {
			got, _ := f.sendTo(t, "prefix", "/v1/completions", prompt(number), false)
			wantServer(t, got, "sim-0")
		}
		for _, test := range []struct {
			prompt      int
			least, most float64
		}{{0, 0.9, 1}, {3, 0.8, 1}, {2, 0, 0.7}} { // what is only remembered counts half
			got, _ := f.sendTo(t, "prefix", "/v1/completions", prompt(test.prompt), false)
			if score := scores(t, got)["sim-0"]; score < test.least || score > test.most {
				t.Errorf("prompt %d scores %.2f, want %.2f to %.2f", test.prompt, score, test.least, test.most)
			}
		}
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
