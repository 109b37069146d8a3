package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/replay"
)

// unit is the block of tokens by which prompts are alike or not, and the servers' block.
const unit = 256

// What sessions are like. Times are in seconds, lengths in tokens.
const (
	perSecond = 611.0
	// followUps is the share of sessions with a second turn: 823 requests come in a second.
	followUps    = 823.0/611 - 1
	think        = 3.0
	sharedTokens = 2048
	addedTokens  = 512
	bytesInToken = 4
)

// step is a point of a distribution function, which is straight between two of them.
type step struct{ tokens, share float64 }

var (
	prompts = []step{{0, 0}, {5000, 0.216}, {10000, 0.530}, {20000, 0.994}, {24576, 1}}
	answers = []step{{0, 0}, {1000, 0.351}, {2000, 0.513}, {5000, 0.998}, {6144, 1}}
)

// draw draws a length, in whole units.
func draw(of []step, random *rand.Rand) (units int) {
	x := random.Float64()
	i := 1
	for of[i].share < x {
		i++
	}
	a, b := of[i-1], of[i]
	tokens := a.tokens + (b.tokens-a.tokens)*(x-a.share)/(b.share-a.share)
	return max(int(math.Round(tokens/unit)), 1)
}

// servers are a part of those of the published run.
func servers(part float64) replay.Servers {
	return replay.Servers{Count: int(math.Round(240 * part)), MaxRunning: 80, BlockTokens: unit,
		Blocks: 1_200_000 / unit, PrefillTokensPerSecond: 80_000, TimePerOutputToken: 4300 * time.Microsecond}
}

// sessions are those that begin within so many seconds, at a part of the published rate. Of each request the second
// list says whether it is a follow-up.
func sessions(seconds, part float64, seed uint64) (all []replay.Request, follows []bool) {
	random := rand.New(rand.NewPCG(seed, 1))
	type turn struct {
		replay.Request
		follows bool
	}
	var turns []turn
	s := servers(part)
	block := uint64(sharedTokens / unit)
	for at := 0.0; at < seconds; at += random.ExpFloat64() / (perSecond * part) {
		prompt, answer := max(draw(prompts, random), sharedTokens/unit+1), draw(answers, random)
		blocks := make([]uint64, prompt+answer+addedTokens/unit)
		for i := range blocks {
			if blocks[i] = uint64(i); i >= sharedTokens/unit {
				blocks[i], block = block, block+1
			}
		}
		first := request(at, blocks[:prompt], answer, blocks[prompt:prompt+answer])
		turns = append(turns, turn{first, false})
		if random.Float64() >= followUps {
			continue
		}
		whole := float64(prompt*unit)/s.PrefillTokensPerSecond + float64(answer*unit)*s.TimePerOutputToken.Seconds()
		turns = append(turns, turn{request(at+whole+think, blocks, draw(answers, random), nil), true})
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.At, b.At) })
	for _, t := range turns {
		all, follows = append(all, t.Request), append(follows, t.follows)
	}
	return all, follows
}

func request(at float64, blocks []uint64, answer int, added []uint64) replay.Request {
	return replay.Request{At: at, Model: "model", Input: len(blocks) * unit, Output: answer * unit, Stream: true,
		Prompt: replay.Prompt{Bytes: len(blocks) * unit * bytesInToken, UnitBytes: unit * bytesInToken, Blocks: blocks},
		Answer: added}
}
