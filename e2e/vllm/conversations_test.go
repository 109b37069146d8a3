//go:build vllm && linux

package vllm

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The workload: conversations of some turns, of which some share a system prompt. Each request repeats all that was
// said before, as clients do. What the model is to have answered is fixed, so that every run sends the same bytes.
const (
	systemPrompts = 8
	conversations = 24
	turns         = 5
	// Lengths in words, of which most are one token.
	systemWords, questionWords, answerWords = 900, 120, 120
	// clients are conversations that go on at once.
	clients = 8
)

// talk is the request bodies of a conversation in their order.
type talk []string

var words = strings.Fields(
	`the a of to in is and for if not that with as be are this it by an on or from which can when value name
	function returns string list file object type default given used error class number time data read write line set get call code
	module method argument key item sequence result first last new same other each all only any than then else before after while`)

// talks are all conversations. Those of a seed are the same each time.
func talks(seed uint64) []talk {
	random := rand.New(rand.NewPCG(seed, 1))
	systems := make([]message, systemPrompts)
	for i := range systems {
		systems[i] = message{"system", sentence(random, systemWords)}
	}
	all := make([]talk, conversations)
	for i := range all {
		said := []message{systems[random.IntN(systemPrompts)]}
		for range turns {
			said = append(said, message{"user", sentence(random, questionWords)})
			all[i] = append(all[i], request(said))
			said = append(said, message{"assistant", sentence(random, answerWords)})
		}
	}
	return all
}

func sentence(random *rand.Rand, n int) string {
	text := make([]string, n)
	for i := range text {
		text[i] = words[random.IntN(len(words))]
	}
	return strings.Join(text, " ")
}

func request(said []message) string {
	body, err := json.Marshal(map[string]any{"model": model, "messages": said, "max_tokens": 8, "temperature": 0,
		"ignore_eos": true})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return string(body)
}

// route says where a turn of a conversation is sent.
type route func(conversation, turn int) (base string)

// hold has the conversations, some at once, and returns which part of the prompts' tokens the engines had cached, by
// their own counters.
func hold(t *testing.T, all []talk, to route) float64 {
	t.Helper()
	return holdSome(t, all, clients, to)
}

// holdSome is hold with so many conversations at once.
func holdSome(t *testing.T, all []talk, clients int, to route) float64 {
	t.Helper()
	for _, e := range engines {
		e.wantRequests(t, 0)
		e.post(t, "/reset_prefix_cache", "")
	}
	looked, hits := cacheCounters(t)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var held sync.WaitGroup
	for range clients {
		held.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				for turn, body := range all[i] {
					if err := ask(client, to(i, turn), body); err != nil {
						t.Errorf("conversation %d, turn %d: %v", i, turn, err)
						return
					}
				}
			}
		})
	}
	held.Wait()
	lookedAfter, hitsAfter := cacheCounters(t)
	if lookedAfter == looked {
		t.Fatal("the engines looked nothing up")
	}
	return (hitsAfter - hits) / (lookedAfter - looked)
}

func cacheCounters(t *testing.T) (looked, hits float64) {
	t.Helper()
	for _, e := range engines {
		p := e.page(t, "/metrics")
		looked += p.Sum(t, "vllm:prefix_cache_queries_total")
		hits += p.Sum(t, "vllm:prefix_cache_hits_total")
	}
	return looked, hits
}

// ask sends a chat request, which must be answered with 200.
func ask(client *http.Client, base, body string) error {
	response, err := client.Post(base+chatPath, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %.200s", response.Status, text)
	}
	return err
}
