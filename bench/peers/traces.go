package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/internal/replay/live"
)

// traced are the first requests, with a seed later ones, of the trace whose file's name has all words, in any case.
// Without a folder of traces they are made up.
func traced(count int, words ...string) func(*options) ([]ask, bool, error) {
	return func(o *options) ([]ask, bool, error) {
		if o.traces == "" {
			made := live.MadeUp(float64(count) / 3)
			slices.SortStableFunc(made, byTime)
			return asksOf(made[:min(count, len(made))]), true, nil
		}
		requests, err := readTrace(o.traces, words)
		if err != nil {
			return nil, false, err
		}
		first := int(o.seed) * count % max(len(requests)-count, 1)
		return asksOf(requests[first:min(first+count, len(requests))]), false, nil
	}
}

// spreadOut has requests of one moment come evenly until the next moment: the clock of a trace may tick so slowly that
// dozens come at once, and that in whatever order they arrive decides more than who chooses servers.
func spreadOut(read func(*options) ([]ask, bool, error)) func(*options) ([]ask, bool, error) {
	return func(o *options) ([]ask, bool, error) {
		all, madeUp, err := read(o)
		tick := 0.0
		for first, next := 0, 0; first < len(all); first = next {
			for next = first; next < len(all) && all[next].at == all[first].at; next++ {
			}
			if next < len(all) {
				tick = all[next].at - all[first].at
			}
			for i := range all[first:next] {
				all[first+i].at += tick * float64(i) / float64(next-first)
			}
		}
		return all, madeUp, err
	}
}

func byTime(a, b replay.Request) int { return cmp.Compare(a.At, b.At) }

// errNoTrace is a trace that is not in the folder.
var errNoTrace = errors.New("is not in the folder of -traces")

func readTrace(folder string, words []string) ([]replay.Request, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		if e.IsDir() || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(name, w) }) {
			continue
		}
		file, err := os.Open(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		trace, err := replay.Read(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		slices.SortStableFunc(trace.Requests, byTime)
		return trace.Requests, nil
	}
	return nil, fmt.Errorf("a file named with %s %w", strings.Join(words, " and "), errNoTrace)
}

// message is one of a chat.
type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Arguments   string          `json:"arguments,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// chat is a streamed chat request that asks for its usage.
func chat(tools []tool, tokens int, user string, messages []message) load.Request {
	body, err := json.Marshal(struct {
		Model         string          `json:"model"`
		Messages      []message       `json:"messages"`
		Tools         []tool          `json:"tools,omitempty"`
		MaxTokens     int             `json:"max_tokens"`
		Stream        bool            `json:"stream"`
		StreamOptions map[string]bool `json:"stream_options"`
		User          string          `json:"user,omitempty"`
	}{model, messages, tools, tokens, true, map[string]bool{"include_usage": true}, user})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return load.Request{Body: body}
}

func asksOf(requests []replay.Request) (all []ask) {
	for i := range requests {
		r := &requests[i]
		text := string(live.Text(&r.Prompt))
		all = append(all, ask{r.At - requests[0].At, chat(nil, max(r.Output, 1), "",
			[]message{{Role: "user", Content: text}})})
	}
	return all
}
