package load

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tidwall/gjson"
)

func TestInterpolate(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []time.Duration
		p      float64
		want   time.Duration
	}{
		{"none", nil, 50, 0},
		{"one", []time.Duration{7}, 99, 7},
		{"median of two", []time.Duration{10, 20}, 50, 15},
		{"lowest", []time.Duration{10, 20, 30}, 0, 10},
		{"highest", []time.Duration{10, 20, 30}, 100, 30},
		{"beyond", []time.Duration{10, 20, 30}, 400, 30},
		{"p90 of eleven", []time.Duration{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, 90, 90},
		{"p99 of eleven", []time.Duration{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, 99, 99},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := interpolate(test.values, test.p); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestResultParts(t *testing.T) {
	r := &Result{Elapsed: 10 * time.Second, Samples: []Sample{
		{Class: "a", Start: 0, Latency: 1, Server: "x", Status: 200},
		{Class: "b", Start: 5 * time.Second, Latency: 2, Server: "y", Status: 200, PromptTokens: 8,
			CachedTokens: 4, OutputTokens: 2},
		{Class: "a", Start: 6 * time.Second, Latency: 3, Status: 503, Err: "503", PromptTokens: 8, OutputTokens: 1},
	}}
	if a := r.Class("a"); len(a.Samples) != 2 || a.Succeeded() != 1 || a.Failed() != 1 {
		t.Errorf("class a: got %+v", a)
	}
	late := r.After(5 * time.Second)
	if len(late.Samples) != 2 || late.Elapsed != 5*time.Second || late.RequestsPerSecond() != 0.2 {
		t.Errorf("after 5 s: got %+v, %v requests/s", late, late.RequestsPerSecond())
	}
	if r.Dropped = 7; r.After(5*time.Second).Dropped != 7 {
		t.Errorf("after 5 s: got %d dropped, want the 7 of all", r.After(5*time.Second).Dropped)
	}
	r.Samples[1].TPOT = 9
	if got := r.Percentiles(TPOT, 0, 100); got[0] != 9 || got[1] != 9 {
		t.Errorf("time per token: got %v, want 9 only: an answer without one does not count", got)
	}
	if got := r.Percentiles(Latency, 100)[0]; got != 2 {
		t.Errorf("highest latency: got %d, want 2: failures do not count", got)
	}
	if prompt, cached, output := r.Tokens(); prompt != 8 || cached != 4 || output != 2 {
		t.Errorf("got %d tokens in, %d cached and %d out, want 8, 4 and 2: failures do not count", prompt, cached,
			output)
	}
	if got := r.String(); !strings.Contains(got, "2 answers, 1 failed") ||
		!strings.Contains(got, "servers  x: 1  y: 1") || !strings.Contains(got, "errors  503: 1") {
		t.Errorf("summary: got %s", got)
	}
}

const (
	roleEvent    = `data: {"choices":[{"delta":{"role":"assistant","content":""}}]}` + "\n\n"
	contentEvent = `data: {"choices":[{"delta":{"content":"a \"b\""}}]}` + "\n\n"
	usageEvent   = `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n"
	doneMark     = "data: [DONE]\n\n"
)

func TestReadStream(t *testing.T) {
	for _, test := range []struct {
		name, stream string
		outputs      int
		first        bool
		err          string
	}{
		{"whole", roleEvent + contentEvent + contentEvent + doneMark, 2, true, ""},
		{"usage counts", roleEvent + contentEvent + usageEvent + doneMark, 7, true, ""},
		{"role only", roleEvent + doneMark, 0, false, ""},
		{"completion", `data: {"choices":[{"text":"a"}]}` + "\n\n" + doneMark, 1, true, ""},
		{"tool call", `data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}` + "\n\n" + doneMark, 1, true, ""},
		{"comment and event lines", ": ping\nevent: x\n" + contentEvent + doneMark, 1, true, ""},
		{"carriage returns", strings.ReplaceAll(contentEvent+doneMark, "\n", "\r\n"), 1, true, ""},
		{"long line", `data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 100<<10) + `"}}]}` + "\n\n" +
			doneMark, 1, true, ""},
		{"no end", roleEvent + contentEvent, 1, true, "stream ended without [DONE]"},
		{"empty", "", 0, false, "stream ended without [DONE]"},
		{"an error in it", roleEvent + contentEvent + `data: {"error": {"message": "x", "code": 500}}` + "\n\n" + doneMark,
			1, true, "stream has an error event"},
		{"no error", `data: {"error":null,"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + doneMark, 1, true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Sample
			s.readStream(iotest.OneByteReader(strings.NewReader(test.stream)), time.Now().Add(-time.Second))
			if s.OutputTokens != test.outputs || (s.TTFT >= time.Second) != test.first || s.Err != test.err {
				t.Errorf("got %+v", s)
			}
		})
	}
	var s Sample
	s.readStream(io.MultiReader(strings.NewReader(contentEvent), iotest.ErrReader(io.ErrUnexpectedEOF)), time.Now())
	if s.Err != "unexpected EOF" {
		t.Errorf("error of a broken stream: got %q", s.Err)
	}
}

func FuzzReadStream(f *testing.F) {
	f.Add([]byte(roleEvent + contentEvent + usageEvent + doneMark))
	f.Add([]byte("data: \"usage\":{\ndata: [DONE]"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var s Sample
		s.readStream(bytes.NewReader(stream), time.Now())
		if s.OK() && !bytes.Contains(stream, doneEvent) {
			t.Error("a stream without an end counts as whole")
		}
	})
}

func TestUniformSize(t *testing.T) {
	for _, size := range []int{0, 200, 2048, 400 << 10} {
		q := Uniform{Model: "m", Bytes: size, MaxTokens: 1}.Requests()[0]
		if !gjson.ValidBytes(q.Body) || (size > 0 && len(q.Body) != size) {
			t.Errorf("body of %d bytes: got %d bytes, valid JSON %v", size, len(q.Body), gjson.ValidBytes(q.Body))
		}
	}
}

func TestSharedPrefix(t *testing.T) {
	w := SharedPrefix{Model: "m", Groups: 3, Users: 2, SystemTokens: 100, QuestionTokens: 10, OutputTokens: 5,
		Count: 20, Seed: 1}
	requests := w.Requests()
	systems, bodies := map[int]string{}, map[string]int{}
	for _, q := range requests {
		system := gjson.GetBytes(q.Body, "messages.0.content").String()
		if known, ok := systems[q.Group]; ok && known != system {
			t.Errorf("group %d: its users have different system prompts", q.Group)
		}
		systems[q.Group] = system
		bodies[string(q.Body)]++
		if len(system) != 400 {
			t.Errorf("system prompt: got %d bytes, want 400", len(system))
		}
	}
	if len(requests) != 20 || len(systems) != 3 || len(bodies) != 6 {
		t.Errorf("got %d requests, %d system prompts, %d bodies, want 20, 3, 6", len(requests), len(systems),
			len(bodies))
	}
	for body, n := range bodies {
		if n < 3 || n > 4 {
			t.Errorf("body %.60s... is sent %d times, want 3 or 4", body, n)
		}
	}
	same := func(a, b Request) bool { return bytes.Equal(a.Body, b.Body) }
	if !slices.EqualFunc(requests, w.Requests(), same) {
		t.Error("same seed, other requests")
	}
	w.Seed = 2
	if slices.EqualFunc(requests, w.Requests(), same) {
		t.Error("other seed, same requests")
	}
}

func TestMixed(t *testing.T) {
	requests := Mixed{Model: "m", Scale: 0.1, Count: 2000, Seed: 1}.Requests()
	classes, turns, longest := map[string]int{}, map[int]string{}, int64(0)
	for _, q := range requests {
		classes[q.Class]++
		if !gjson.GetBytes(q.Body, "stream").Bool() {
			t.Fatalf("body %s does not stream", q.Body)
		}
		messages := gjson.GetBytes(q.Body, "messages").Raw
		if q.Class != "session" {
			continue
		}
		before := strings.TrimSuffix(turns[q.Group], "]")
		if n := gjson.Get(messages, "#").Int(); n > 1 && !strings.HasPrefix(messages, before) {
			t.Errorf("session %d: a turn of %d messages does not go on from the one before", q.Group, n)
		}
		turns[q.Group] = messages
		longest = max(longest, gjson.Get(messages, "#").Int())
	}
	if longest != 2*mixedTurns-1 {
		t.Errorf("got up to %d messages in a session, want the %d of %d turns", longest, 2*mixedTurns-1, mixedTurns)
	}
	for class, share := range map[string]int{"chat": 1000, "document": 500, "session": 500} {
		if n := classes[class]; n < share*8/10 || n > share*12/10 {
			t.Errorf("class %s: got %d of 2000, want about %d", class, n, share)
		}
	}
}
