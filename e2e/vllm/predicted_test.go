//go:build vllm && linux

package vllm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// learner predicts an engine's answers and learns from them, as Envoy's workers do by their journal.
type learner struct {
	sync.Mutex
	state  *state.State
	lease  uint32
	errors []float64 // |predicted - actual| / actual of times to first token, in the order of their answers
}

func newLearner() *learner {
	l := &learner{state: state.New(state.Options{InFlight: true, Begins: true, Speeds: true})}
	l.state.SetEndpoints([]uint64{1})
	return l
}

// decide notes a request and returns what is predicted for it, 0 where nothing can be.
func (l *learner) decide(words int) (decision journal.Event, predicted float64) {
	l.Lock()
	defer l.Unlock()
	now := time.Now().UnixNano()
	if seconds, ok := l.state.InFlight.TTFT(0, now, float64(words)); ok {
		predicted = seconds
	}
	l.lease++
	decision = journal.Event{Kind: journal.Decision, Time: now, Instance: 1, Lease: l.lease, Primary: 1,
		Streamed: true, PrimaryLoad: uint32(words), InputTokens: uint32(words)}
	l.state.Apply(&decision)
	return decision, predicted
}

// learn notes that the answer began or, with its tokens, that it ended.
func (l *learner) learn(decision *journal.Event, kind journal.Kind, first time.Duration, tokens uint32) {
	l.Lock()
	defer l.Unlock()
	e := journal.Event{Kind: kind, Time: time.Now().UnixNano(), Instance: 1, Lease: decision.Lease, Primary: 1,
		Status: http.StatusOK, TTFTMicros: uint32(first.Microseconds()), OutputTokens: tokens}
	e.DurationMicros = uint32((e.Time - decision.Time) / 1000)
	l.state.Apply(&e)
}

// ask streams an answer of some tokens to a prompt of so many words.
func (l *learner) ask(t *testing.T, e *engine, words int, tokens uint32, random *rand.Rand) {
	var prompt strings.Builder
	for range words {
		fmt.Fprintf(&prompt, "%x ", random.IntN(256))
	}
	decision, predicted := l.decide(words)
	began := time.Now()
	response := send(t, context.Background(), "http://"+e.address, chat(model, prompt.String(), int(tokens), true))
	defer response.Body.Close()
	body := bufio.NewReader(response.Body)
	if _, err := body.ReadString('\n'); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("a prompt of %d words: %s, %v", words, response.Status, err)
		return
	}
	first := time.Since(began)
	l.learn(&decision, journal.Began, first, 0)
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Error(err)
	}
	l.learn(&decision, journal.Completion, first, tokens)
	if predicted > 0 {
		l.Lock()
		l.errors = append(l.errors, math.Abs(predicted-first.Seconds())/first.Seconds())
		l.Unlock()
	}
}

// TestPredictedTimes tells how well the time to the first token of a real engine is predicted: new prompts of 10 to
// 2,000 words, up to three at once.
func TestPredictedTimes(t *testing.T) {
	const requests, clients = 300, 3
	l := newLearner()
	var running sync.WaitGroup
	for client := range uint64(clients) {
		running.Go(func() {
			random := rand.New(rand.NewPCG(client, 7))
			for range requests / clients {
				l.ask(t, engines[0], 10+random.IntN(1990), uint32(2+random.IntN(20)), random)
				time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
			}
		})
	}
	running.Wait()
	if len(l.errors) < requests/2 {
		t.Fatalf("%d of %d times were predicted, want most", len(l.errors), requests)
	}
	slices.Sort(l.errors)
	t.Logf("%d predictions: median error %.1f %%, nine of ten within %.1f %%", len(l.errors),
		100*l.errors[len(l.errors)/2], 100*l.errors[len(l.errors)*9/10])
}
