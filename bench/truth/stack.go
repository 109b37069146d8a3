package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/stack"
)

const (
	model  = "sim-model"
	prefix = "sim"
	token  = "bench-truth"
)

// start runs servers, Envoy and sidecar, and returns where requests go.
func (o *options) start(ctx context.Context, st *stack.Stack) (url string, err error) {
	s := &o.servers
	first, err := stack.FreePorts(s.Count + 4)
	if err != nil {
		return "", err
	}
	admin, ingest, sidecarAdmin, requests, servers := first, first+1, first+2, first+3, first+4
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	if _, err := st.Sims(ctx, "servers", prefix, servers, s.Count, "-speed", number(o.speed), "-max-num-seqs",
		strconv.Itoa(s.MaxRunning),
		"-num-blocks", strconv.Itoa(s.Blocks), "-block-size", strconv.Itoa(s.BlockTokens), "-prefill-tokens-per-second",
		number(s.PrefillTokensPerSecond), "-time-per-output-token", s.TimePerOutputToken.String(), "-batch-slowdown",
		number(s.BatchSlowdown),
		"-stream-interval", "50"); err != nil {
		return "", err
	}
	plugin := fmt.Sprintf(`{"ingest": {"port": %d, "token": %q}, "hold": "pause", "config": %s}`, ingest, token,
		shipped.JSON())
	text, err := stack.EnvoyConfig{
		AdminPort: admin, Hold: "pause", Module: "bin/pintle.wasm", Listeners: []stack.EnvoyListener{
			{Name: "requests", Port: requests, Plugin: plugin},
			{Name: "ingest", Port: ingest, Ingest: true, Plugin: plugin},
		},
	}.Text()
	if err != nil {
		return "", err
	}
	if _, err := st.Envoy(ctx, "envoy", text, admin); err != nil {
		return "", err
	}
	_, err = st.Sidecar(ctx, "sidecar", stack.Sidecar{
		IngestPorts: []int{ingest}, Token: token, AdminPort: sidecarAdmin,
		Endpoints: stack.Endpoints(prefix, servers, s.Count),
	})
	return "http://" + stack.Address(requests), err
}

// body is a request with a text that is equal to others' where the trace says that the prompts are.
func body(r *replay.Request) []byte {
	b := fmt.Appendf(nil,
		`{"model":%q,"max_tokens":%d,"stream":true,"stream_options":{"include_usage":true},"prompt":"`, model, r.Output)
	start := len(b)
	for _, block := range r.Prompt.Blocks {
		b = appendText(b, block, r.Prompt.UnitBytes)
	}
	b = appendText(b, uint64(len(b)), max(r.Prompt.Bytes-(len(b)-start), 0))
	return append(b[:start+r.Prompt.Bytes], `"}`...)
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

// madeUp are conversations that grow, and share system prompts: three requests a second.
func madeUp(seconds float64) (all []replay.Request) {
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
