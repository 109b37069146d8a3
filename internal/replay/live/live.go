// Package live makes real texts of the requests of traces, so that what was recorded can be asked of real servers.
package live

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/internal/replay"
)

// Text is a prompt of letters and digits that equals others where the trace says that the prompts do.
func Text(p *replay.Prompt) []byte {
	b := make([]byte, 0, p.Bytes+p.UnitBytes)
	for _, block := range p.Blocks {
		b = appendText(b, block, p.UnitBytes)
	}
	b = appendText(b, uint64(len(b)), max(p.Bytes-len(b), 0))
	return b[:p.Bytes]
}

// appendText appends so many letters and digits that follow from seed.
func appendText(b []byte, seed uint64, n int) []byte {
	end := len(b) + n
	var word [16]byte
	for i := uint64(0); len(b) < end; i++ {
		binary.LittleEndian.PutUint64(word[:], seed)
		binary.LittleEndian.PutUint64(word[8:], i)
		b = fmt.Appendf(b, "%016x", xxhash.Sum64(word[:]))
	}
	return b[:end]
}

// MadeUp are conversations that grow, and share system prompts: three requests a second.
func MadeUp(seconds float64) (all []replay.Request) {
	const unit, turns, rate = 512, 5, 0.6
	r := rand.New(rand.NewPCG(1, 2))
	next := uint64(1000)
	for at := 0.0; at < seconds; at += r.ExpFloat64() / rate {
		system := r.Uint64N(4)
		blocks := []uint64{10 * system, 10*system + 1, 10*system + 2, 10*system + 3}
		when := at
		for range turns {
			for range 1 + r.IntN(24) {
				next++
				blocks = append(blocks, next)
			}
			tokens := len(blocks)*unit - r.IntN(unit-1)
			all = append(all, replay.Request{
				At: when, Input: tokens, Output: 20 + r.IntN(400), Stream: true,
				Prompt: replay.Prompt{Bytes: tokens * 4, UnitBytes: unit * 4, Blocks: append([]uint64{}, blocks...)},
			})
			next++
			blocks[len(blocks)-1] = next // the answer, and what the user says to it
			when += 6 + r.ExpFloat64()*10
		}
	}
	return all
}
