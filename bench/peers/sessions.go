package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pintle-dev/pintle/internal/load"
)

// spread is a distribution within bounds: normal, or lognormal by its own mean and deviation.
type spread struct {
	mean, deviation, least, most float64
	log                          bool
}

func (d spread) of(r *rand.Rand) float64 {
	v := d.mean + d.deviation*r.NormFloat64()
	if d.log {
		variance := math.Log(1 + d.deviation*d.deviation/d.mean/d.mean)
		v = math.Exp(math.Log(d.mean) - variance/2 + math.Sqrt(variance)*r.NormFloat64())
	}
	return min(max(v, d.least), d.most)
}

func (d spread) tokens(r *rand.Rand) int { return int(d.of(r)) }

// sessions are conversations that go on beside each other, each turn of which repeats what was said before. One that
// ends makes room for another.
type sessions struct {
	atOnce int
	// shared is what all have in common, in tokens; own is what the first prompt of one has beside.
	shared int
	own    spread
	turns  spread
	// input and output are the tokens of a turn, pause is what lies between an answer and the next turn, in seconds.
	input, output, pause spread
	// tools has the servers call tools, three of four turns being what a tool says.
	tools bool
}

// conversations are by the defaults of https://github.com/kubernetes-sigs/inference-perf, conversation_replay, and
// agents by llm-d's guide to agentic traffic, whose first prompts have 160,000 tokens in the mean.
var (
	conversations = sessions{atOnce: 30, shared: 8359, own: spread{14000, 15000, 5000, 45000, false},
		turns: spread{38, 6, 25, 57, false}, input: spread{1652, 3000, 64, 24000, true},
		output: spread{585, 400, 62, 3600, true}, pause: spread{8, 6, 1, 30, true}}
	agents = sessions{atOnce: 40, shared: 3000, own: spread{20000, 29200, 1250, 60000, true},
		turns: spread{20, 0, 20, 20, false}, input: spread{1500, 1200, 100, 10000, true},
		output: spread{425, 825, 50, 4000, true}, pause: spread{15, 55, 1, 100, true}, tools: true}
)

const (
	// sessionSeconds is how long sessions are watched.
	sessionSeconds = 170.0
	// answerPace is how long an answer is taken to need for a token, in seconds: turns come at the same time whoever
	// chooses the server.
	answerPace = 0.015
	toolCount  = 10
)

func (s *sessions) asks(o *options) (all []ask, madeUp bool, err error) {
	r := rand.New(rand.NewPCG(1+o.seed, 0x73657373))
	system, tools := load.Text(r, s.shared), []tool(nil)
	if s.tools {
		system, tools = load.Text(r, s.shared/4), someTools(r, s.shared*3/4/toolCount)
	}
	for n := range s.atOnce {
		at := math.Inf(-1) // the first one is under way
		for again := 0; at < sessionSeconds; again++ {
			var one []ask
			one, at = s.session(r, system, tools, fmt.Sprintf("user-%d-%d", n, again), at)
			all = append(all, one...)
		}
	}
	slices.SortStableFunc(all, func(a, b ask) int { return cmp.Compare(a.at, b.at) })
	return all, false, nil
}

// session is one conversation, of which what is due between 0 and the end is returned. One that begins before all times
// is anywhere in its course at 0.
func (s *sessions) session(r *rand.Rand, system string, tools []tool, user string, at float64) ([]ask, float64) {
	turns := s.turns.tokens(r)
	times, outputs, last := make([]float64, turns), make([]int, turns), 0.0
	for i := range turns {
		times[i], outputs[i] = last, s.output.tokens(r)
		last += float64(outputs[i])*answerPace + s.pause.of(r)
	}
	if math.IsInf(at, -1) {
		at = -r.Float64() * last
	}
	messages := []message{{Role: "system", Content: system + load.Text(r, s.own.tokens(r))}}
	var all []ask
	for i := range turns {
		said, call := load.Text(r, s.input.tokens(r)), fmt.Sprintf("call_%s_%d", user, i)
		if s.tools && i%4 != 0 {
			messages[len(messages)-1].ToolCalls = []toolCall{{ID: call, Type: "function",
				Function: function{Name: tools[i%len(tools)].Function.Name, Arguments: `{"path": "/src/main.go"}`}}}
			messages = append(messages, message{Role: "tool", Content: said, ToolCallID: call})
		} else {
			messages = append(messages, message{Role: "user", Content: said})
		}
		if due := at + times[i]; due >= 0 && due < sessionSeconds {
			all = append(all, ask{due, chat(tools, outputs[i], user, messages)})
		}
		messages = append(messages, message{Role: "assistant", Content: load.Text(r, outputs[i])})
	}
	return all, at + last
}

// someTools are tools whose descriptions have so many tokens each.
func someTools(r *rand.Rand, tokens int) (all []tool) {
	for i := range toolCount {
		all = append(all, tool{Type: "function", Function: function{Name: fmt.Sprintf("tool_%d", i),
			Description: load.Text(r, tokens),
			Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}})
	}
	return all
}
