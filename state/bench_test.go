package state

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
)

func BenchmarkBlocks(b *testing.B) {
	for name, text := range map[string]string{"plain": fox, "line-ends": strings.ReplaceAll(fox, ". ", ".\n")} {
		b.Run(name, func(b *testing.B) {
			body, _ := json.Marshal(
				map[string]any{"messages": []any{map[string]any{"role": "user", "content": strings.Repeat(text, 50)}}})
			r := scanned(b, openai.APIChat, string(body))
			var h Hasher
			blocks := h.Blocks(nil, "m", r, body, 16, 256)
			b.SetBytes(int64(len(blocks)) * 64)
			b.ReportAllocs()
			for b.Loop() {
				blocks = h.Blocks(blocks[:0], "m", r, body, 16, 256)
			}
		})
	}
}

// benchPrefix is a full index of a million entries, in which each of 32 endpoints has some of each of 100 prompts.
func benchPrefix() (p *Prefix, prompts [][]uint64, indexes []uint16) {
	p = fullPrefix(32, DefaultPrefixCapacity)
	for i := range uint16(32) {
		indexes = append(indexes, i)
	}
	for n := range uint64(100) {
		blocks := make([]uint64, 256)
		for i := range blocks {
			blocks[i] = splitMix(n<<48 + uint64(i))
		}
		for i := range 32 {
			p.Add(i, blocks[:1+splitMix(n<<8+uint64(i))%255])
		}
		prompts = append(prompts, blocks)
	}
	return p, prompts, indexes
}

func BenchmarkMatchAll(b *testing.B) {
	p, prompts, indexes := benchPrefix()
	matched := make([]int32, len(indexes))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.MatchAll(prompts[i%len(prompts)], indexes, matched, nil)
	}
}

func BenchmarkAdd(b *testing.B) {
	p, prompts, indexes := benchPrefix()
	b.Run("touch", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			p.Add(int(indexes[i%3]), prompts[i%len(prompts)])
		}
	})
	b.Run("evict", func(b *testing.B) {
		h := uint64(1 << 60)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			blocks := prompts[0]
			for j := range blocks {
				h++
				blocks[j] = splitMix(h)
			}
			p.Add(i%len(indexes), blocks)
		}
	})
}

// BenchmarkNewPrompts is a decision about a prompt that nobody has seen and the end of its answer, with so many blocks
// in the index.
func BenchmarkNewPrompts(b *testing.B) {
	for _, kept := range []int{50_000, 1_500_000} {
		b.Run(strconv.Itoa(kept), func(b *testing.B) {
			s, ids := New(Options{Prefix: true}), make([]uint64, 16)
			for i := range ids {
				ids[i] = uint64(i + 1)
			}
			s.SetEndpoints(ids)
			s.Expire(0)
			for i := range ids {
				s.Prefix.SetCapacity(i, kept/len(ids))
			}
			blocks, h, lease := make([]uint64, 144), uint64(0), uint32(0)
			request := func() {
				for i := range blocks {
					h++
					blocks[i] = splitMix(h)
				}
				lease++
				primary := ids[lease%uint32(len(ids))]
				s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: lease, Primary: primary,
					Chains: chains(blocks)})
				end := ended(lease)
				end.Primary = primary
				s.Apply(&end)
			}
			for int(h) < kept {
				request()
			}
			b.ReportAllocs()
			for b.Loop() {
				request()
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	s := New(Options{InFlight: true, Latency: true, ModelLatency: true, Failures: true})
	s.SetEndpoints([]uint64{1, 2, 3, 4, 5, 6, 7, 8})
	b.ReportAllocs()
	for i := uint32(0); b.Loop(); i++ {
		at := int64(i) * 1e5
		s.Expire(at)
		s.Apply(&journal.Event{Kind: journal.Decision, Time: at, Lease: i, Primary: uint64(1 + i%8)})
		s.Apply(&journal.Event{
			Kind: journal.Completion, Time: at, Lease: i - 1000, Primary: uint64(1 + i%8), Model: 1,
			Status: 200, TTFTMicros: 1 + i%977, DurationMicros: 100_000, OutputTokens: 100,
		})
	}
}
