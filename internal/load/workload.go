package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// Request is one request, ready to be sent. Several may share a body.
type Request struct {
	// Body is the JSON.
	Body []byte
	// Class names the kind of request and Group what shares a prefix, for the evaluation.
	Class string
	Group int
	// Header is added to the request. May be nil.
	Header http.Header
}

// tokenBytes is the length of a token in workloads and in package sim.
const tokenBytes = 4

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chat struct {
	Model         string         `json:"model"`
	Messages      []message      `json:"messages"`
	MaxTokens     int            `json:"max_tokens,omitempty"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
	User          string         `json:"user,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// body is a streaming chat request that asks for its usage.
func body(model string, maxTokens int, user string, messages ...message) []byte {
	b, err := json.Marshal(chat{model, messages, maxTokens, true, &streamOptions{IncludeUsage: true}, user})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return b
}

// Text is so many tokens of random words.
func Text(random *rand.Rand, tokens int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	var b strings.Builder
	b.Grow(tokens * tokenBytes)
	for range tokens {
		for range tokenBytes - 1 {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6c6f6164)) }

// Uniform is a workload of one body of a fixed size, for measuring overhead.
type Uniform struct {
	Model string
	// Bytes is the size of the body. What is below the size of an empty request gives that.
	Bytes     int
	MaxTokens int
}

// Requests returns one request.
func (u Uniform) Requests() []Request {
	empty := len(body(u.Model, u.MaxTokens, "", message{"user", ""}))
	content := strings.Repeat("abc ", u.Bytes/tokenBytes+1)[:max(u.Bytes-empty, 0)]
	return []Request{{Body: body(u.Model, u.MaxTokens, "", message{"user", content}), Class: "uniform"}}
}

// SharedPrefix is a workload of groups of users. A group shares a long system prompt, each user asks a question of
// their own. The published comparison of prefix-cache routing by llm-d uses 150 groups, 5 users, 6000, 1200 and 1000
// tokens.
type SharedPrefix struct {
	Model                                      string
	Groups, Users                              int
	SystemTokens, QuestionTokens, OutputTokens int
	// Count is the length of the list. The users take turns in random order, each round in another one.
	Count int
	Seed  uint64
}

// Requests builds Groups*Users bodies and returns Count requests that share them.
func (s SharedPrefix) Requests() []Request {
	random := newRandom(s.Seed)
	distinct := make([]Request, 0, s.Groups*s.Users)
	for group := range s.Groups {
		system := message{"system", Text(random, s.SystemTokens)}
		for user := range s.Users {
			question := message{"user", Text(random, s.QuestionTokens)}
			b := body(s.Model, s.OutputTokens, fmt.Sprintf("g%d-u%d", group, user), system, question)
			distinct = append(distinct, Request{Body: b, Class: "shared-prefix", Group: group})
		}
	}
	return rounds(random, distinct, s.Count)
}

func rounds(random *rand.Rand, distinct []Request, count int) []Request {
	requests := make([]Request, 0, count)
	for len(requests) < count && len(distinct) > 0 {
		random.Shuffle(len(distinct), func(i, j int) { distinct[i], distinct[j] = distinct[j], distinct[i] })
		requests = append(requests, distinct[:min(len(distinct), count-len(requests))]...)
	}
	return requests
}

// Mixed is a workload as a shared gateway sees it: half short chats, a quarter questions about long documents with
// shared system prompts, and a quarter sessions of several turns, each of which repeats what was said before.
type Mixed struct {
	Model string
	// Scale multiplies the lengths of prompts and answers. 0 is 1.
	Scale float64
	// Count is the length of the list.
	Count int
	Seed  uint64
}

const (
	mixedDocuments = 8
	mixedSessions  = 12
	mixedTurns     = 6
)

// Requests builds a list in which the turns of a session keep their order.
func (m Mixed) Requests() []Request {
	if m.Scale == 0 {
		m.Scale = 1
	}
	random := newRandom(m.Seed)
	documents := make([]message, mixedDocuments)
	for i := range documents {
		documents[i] = message{"system", Text(random, m.scaled(4000))}
	}
	sessions := make([][]message, mixedSessions)
	requests := make([]Request, m.Count)
	for i := range requests {
		switch random.IntN(4) {
		case 0:
			requests[i] = m.document(random, documents)
		case 1:
			requests[i] = m.turn(random, sessions)
		default:
			question := message{"user", Text(random, m.between(random, 20, 200))}
			requests[i] = Request{Body: body(m.Model, m.between(random, 20, 100), "", question), Class: "chat",
				Group: -1}
		}
	}
	return requests
}

func (m Mixed) scaled(tokens int) int { return max(int(float64(tokens)*m.Scale), 1) }

func (m Mixed) between(random *rand.Rand, low, high int) int {
	return m.scaled(low + random.IntN(high-low+1))
}

func (m Mixed) document(random *rand.Rand, documents []message) Request {
	group := random.IntN(len(documents))
	question := message{"user", Text(random, m.between(random, 50, 300))}
	return Request{Body: body(m.Model, m.between(random, 50, 200), "", documents[group], question), Class: "document",
		Group: group}
}

// turn appends a question, and an answer that stands for what the server will have said, to one session.
func (m Mixed) turn(random *rand.Rand, sessions [][]message) Request {
	group := random.IntN(len(sessions))
	if len(sessions[group]) >= 2*mixedTurns {
		sessions[group] = nil
	}
	sessions[group] = append(sessions[group], message{"user", Text(random, m.between(random, 50, 400))})
	b := body(m.Model, m.between(random, 50, 150), fmt.Sprintf("session-%d", group), sessions[group]...)
	sessions[group] = append(sessions[group], message{"assistant", Text(random, m.between(random, 50, 150))})
	return Request{Body: b, Class: "session", Group: group}
}
