package main

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/precise"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// BenchmarkAnswer is what the sidecar itself does for a prompt of 16 KB that a request waits for, without any way there
// and back.
func BenchmarkAnswer(b *testing.B) {
	random := rand.New(rand.NewPCG(15, 1))
	words := newLanguage(random, 150_000)
	path, err := words.train(vocabularySize).write(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	x := &scoring.PreciseIndex{BlockTokens: preciseBlock, Tokens: scoring.TokenBackend{Kind: scoring.TokensLocal,
		Model: preciseModel, Workers: 1, Files: []scoring.PreciseFile{{Model: preciseModel, Path: path}}}}
	made, err := tokens.NewPool(&x.Tokens, nil)
	if err != nil {
		b.Fatal(err)
	}
	blocks, err := kvindex.New(kvindex.Config{BlockTokens: preciseBlock, Model: preciseModel,
		InMemory: &kvindex.InMemoryConfig{Size: 1 << 20, PodCacheSize: 10}})
	if err != nil {
		b.Fatal(err)
	}
	s := &precise.Service{Index: x, Tokens: made, Blocks: blocks, Log: slog.New(slog.DiscardHandler),
		Token: func() string { return token }, Endpoints: func() []string { return []string{"a", "b", "c"} }}
	s.Start()
	for _, kind := range []string{"seen", "unseen"} {
		p := &prompts{random: random, words: words, bytes: 16 << 10, seen: kind == "seen"}
		var bodies [][]byte
		for range 4000 { // more than are asked for, as a whole prompt is never new again
			bodies = append(bodies, p.next())
		}
		at := 0
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, precise.Path, bytes.NewReader(bodies[at%len(bodies)]))
				at++
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("X-Pintle-Api", tokens.APIChat)
				w := httptest.NewRecorder()
				if s.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
