package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAdaptersAreBounded(t *testing.T) {
	var names []string
	for i := range maxAdapters + 10 {
		names = append(names, strings.Repeat("a", 1+i%maxAdapterBytes)+string(rune('a'+i/maxAdapterBytes)))
	}
	longest := strings.Repeat("b", maxAdapterBytes)
	names = append([]string{longest + "b", longest}, names...)
	var s Sample
	page := `vllm:lora_requests_info{running_lora_adapters="` + strings.Join(names, ",") + `"} 1`
	NewParser(vllm).Parse([]byte(page), &s)
	if len(s.RunningLoRA) != maxAdapters || s.RunningLoRA[0] != longest {
		t.Errorf("got %d adapters, want %d with %s first", len(s.RunningLoRA), maxAdapters, longest)
	}
	for _, name := range s.RunningLoRA {
		if len(name) > maxAdapterBytes {
			t.Errorf("got a name of %d bytes, want at most %d", len(name), maxAdapterBytes)
		}
	}
}

// TestAdaptersAreReadInLinearTime: repetitions of the last of 1,023 names cost about what repetitions of one name cost.
// A busy machine may disturb one comparison, not each of several.
func TestAdaptersAreReadInLinearTime(t *testing.T) {
	work := func(names int) time.Duration {
		var text strings.Builder
		for i := range names {
			fmt.Fprintf(&text, "adapter-%04d,", i)
		}
		text.WriteString(strings.Repeat(fmt.Sprintf("adapter-%04d,", names-1), 100_000))
		best := time.Hour
		for range 3 {
			began := time.Now()
			var a adapters
			if got := a.update([]byte(text.String())); len(got) != names {
				t.Fatalf("got %d names, want %d", len(got), names)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	const attempts = 5
	for attempt := 1; ; attempt++ {
		one, many := work(1), work(maxAdapters-1)
		if many <= 15*one {
			return
		}
		if attempt == attempts {
			t.Fatalf("got %v with %d names and %v with one, want about the same", many, maxAdapters-1, one)
		}
	}
}

func TestSamplesHandedOutDoNotChange(t *testing.T) {
	p := NewParser(vllm)
	var s Sample
	p.Parse([]byte(`vllm:lora_requests_info{running_lora_adapters="a,b"} 1`), &s)
	kept := s
	p.Parse([]byte(`vllm:lora_requests_info{running_lora_adapters="c,d"} 2`), &s)
	if want := []string{"a", "b"}; !slices.Equal(kept.RunningLoRA, want) {
		t.Errorf("the first page's: got %q, want %q", kept.RunningLoRA, want)
	}
	if want := []string{"c", "d"}; !slices.Equal(s.RunningLoRA, want) {
		t.Errorf("the second page's: got %q, want %q", s.RunningLoRA, want)
	}
}
