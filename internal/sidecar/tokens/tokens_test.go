package tokens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

func TestRead(t *testing.T) {
	no := false
	tests := []struct {
		name, api, body string
		want            Prompt
		err             error
	}{
		{"text", APICompletions, `{"model":"m","prompt":"a","cache_salt":"s","add_special_tokens":false}`,
			Prompt{Model: "m", Text: "a", Salt: "s", AddSpecial: &no}, nil},
		{"one text of a list", APICompletions, `{"prompt":["a"]}`, Prompt{Text: "a"}, nil},
		{"tokens", APICompletions, `{"prompt":[1,2]}`, Prompt{IDs: []uint32{1, 2}}, nil},
		{"a list of tokens", APICompletions, `{"prompt":[[1,2]]}`, Prompt{IDs: []uint32{1, 2}}, nil},
		{"several", APICompletions, `{"prompt":["a","b"]}`, Prompt{}, ErrNone("several prompts")},
		{"several of tokens", APICompletions, `{"prompt":[[1],[2]]}`, Prompt{}, ErrNone("several prompts")},
		{"a suffix", APICompletions, `{"prompt":"a","suffix":"b"}`, Prompt{}, ErrNone("suffix")},
		{"truncated", APICompletions, `{"prompt":"a","truncate_prompt_tokens":4}`, Prompt{}, ErrNone("truncated")},
		{"an extra key", APICompletions, `{"prompt":"a","extra_key":"t"}`, Prompt{}, ErrNone("extra key")},
		{"an adapter beside the model", APICompletions, `{"prompt":"a","lora_path":"l"}`, Prompt{}, ErrNone("lora path")},
		{"no adapter beside the model", APICompletions, `{"prompt":"a","lora_path":null}`,
			Prompt{Text: "a", Body: []byte(`{"prompt":"a","lora_path":null}`)}, nil},
		{"no extra key", APICompletions, `{"prompt":"a","extra_key":null}`,
			Prompt{Text: "a", Body: []byte(`{"prompt":"a","extra_key":null}`)}, nil},
		{"embeddings", APICompletions, `{"prompt_embeds":"a"}`, Prompt{}, ErrNone("embeddings")},
		{"a chat", APIChat, `{"messages":[1],"tools":[2],"documents":null,"continue_final_message":true,
			"add_generation_prompt":false}`,
			Prompt{Chat: true, Messages: json.RawMessage("[1]"), Tools: json.RawMessage("[2]"), Continue: true}, nil},
		{"effort", APIChat, `{"messages":[1],"reasoning_effort":"low","chat_template_kwargs":{"a":1}}`,
			Prompt{Chat: true, Messages: json.RawMessage("[1]"), AddGeneration: true, Effort: json.RawMessage(`"low"`),
				TemplateValues: map[string]json.RawMessage{"reasoning_effort": json.RawMessage(`"low"`),
					"enable_thinking": json.RawMessage("true"), "a": json.RawMessage("1")}}, nil},
		{"values twice", APIChat, `{"messages":[1],"chat_template_kwargs":{"a":1},"chat_template_kwargs":{"b":2}}`,
			Prompt{Chat: true, Messages: json.RawMessage("[1]"), AddGeneration: true,
				TemplateValues: map[string]json.RawMessage{"b": json.RawMessage("2")}}, nil},
		{"no values", APIChat, `{"messages":[1],"chat_template_kwargs":null}`,
			Prompt{Chat: true, Messages: json.RawMessage("[1]"), AddGeneration: true}, nil},
		{"values that are none", APIChat, `{"messages":[1],"chat_template_kwargs":[1]}`, Prompt{},
			ErrNone("unreadable")},
		{"too many values", APIChat, `{"messages":[1],"chat_template_kwargs":` + manyValues(mostTemplateValues+1) + `}`,
			Prompt{}, ErrNone("unreadable")},
		{"no messages", APIChat, `{"prompt":"a"}`, Prompt{}, ErrNone("no messages")},
		{"another API", "embeddings", `{"input":"a"}`, Prompt{}, ErrNone("api")},
		{"no JSON", APIChat, `{`, Prompt{}, ErrNone("unreadable")},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Read(tc.api, []byte(tc.body))
			if !errors.Is(err, tc.err) {
				t.Fatalf("got %v, want %v", err, tc.err)
			}
			if err == nil {
				tc.want.Body = []byte(tc.body)
				if !reflect.DeepEqual(*got, tc.want) {
					t.Errorf("got  %+v\nwant %+v", *got, tc.want)
				}
			}
		})
	}
}

// manyValues is an object with so many keys.
func manyValues(n int) string {
	text := "{"
	for i := range n {
		text += fmt.Sprintf(`"k%d":0,`, i)
	}
	return strings.TrimSuffix(text, ",") + "}"
}

func TestMedia(t *testing.T) {
	for messages, want := range map[string]bool{
		`[{"role":"user","content":"\"type\": image_url"}]`:                                  false,
		`[{"role":"user","content":[{"type":"text","text":"a"}]}]`:                           false,
		`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]}]`:      true,
		`[{"role":"assistant","content":null,"tool_calls":[{"type":"function"}]}]`:           false,
		`[{"role":"user","content":[{"type":7}]}]`:                                           true,
		`[{"role":"user","content":[{"image_url":"http://i"}]}]`:                             true,
		`[{"role":"user","content":["a",{"type":"text","text":"b"},"c"]}]`:                   false,
		`[{"role":"user","content":["a",null]}]`:                                             true,
		`[{"role":"user","content":"a"},{"role":"user","content":[{"type":"input_audio"}]}]`: true,
	} {
		p := Prompt{Chat: true, Messages: json.RawMessage(messages)}
		if got := p.HasMedia(); got != want {
			t.Errorf("%s: got %v, want %v", messages, got, want)
		}
	}
}

// server is a model server that keeps what it was asked.
type server struct {
	*httptest.Server
	status int
	answer string
	asked  []map[string]any
	paths  []string
}

func newServer(t *testing.T, status int, answer string) *server {
	s := &server{status: status, answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		var question map[string]any
		_ = json.Unmarshal(content, &question)
		s.asked, s.paths = append(s.asked, question), append(s.paths, r.URL.Path)
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.answer)
	}))
	t.Cleanup(s.Close)
	return s
}

type fixed []Server

func (f fixed) For(_ string, most int) []Server { return f[:min(most, len(f))] }

func (f fixed) SGLang(string) bool {
	return slices.ContainsFunc(f, func(s Server) bool { return s.SGLang })
}

func serversOf(all ...*server) (list fixed) {
	for _, s := range all {
		list = append(list, Server{URL: s.URL, Client: s.Client()})
	}
	return list
}

// TestEngines: a server is asked as a client would ask it, and another one when it fails.
func TestEngines(t *testing.T) {
	broken, good := newServer(t, 500, ""), newServer(t, 200, `{"count":2,"tokens":[7,8]}`)
	e := &engines{servers: serversOf(broken, good)}
	p, err := Read(APIChat, []byte(`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[1],"documents":[2],
		"chat_template_kwargs":{"k":3}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Tokens(context.Background(), p)
	if err != nil || !slices.Equal(got.Tokens, []uint32{7, 8}) {
		t.Fatalf("got %v and %v, want 7 and 8", got, err)
	}
	want := map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": "a"}},
		"continue_final_message": false, "tools": []any{1.0},
		"chat_template_kwargs": map[string]any{"k": 3.0, "documents": []any{2.0}}}
	if len(broken.asked) != 1 || good.paths[0] != "/tokenize" || !reflect.DeepEqual(good.asked[0], want) {
		t.Errorf("asked %v, want %v", good.asked, want)
	}
	bare, _ := Read(APIChat, []byte(`{"model":"m","messages":[{"role":"user","content":"a"}],
		"add_generation_prompt":false}`))
	e.servers = serversOf(good)
	if _, err := e.Tokens(context.Background(), bare); err != nil || good.asked[1]["add_generation_prompt"] != false {
		t.Errorf("asked %v and got %v, want a chat without a generation prompt", good.asked[1], err)
	}
	refusing := newServer(t, 400, "")
	e.servers = serversOf(refusing, good)
	if _, err := e.Tokens(context.Background(), p); !isNone(err) || len(good.asked) != 2 {
		t.Errorf("got %v, want no tokens of a prompt that a server refuses", err)
	}
	harmonious := newServer(t, 200, `{"tokens":[200006,17360,200008,7]}`)
	e.servers = serversOf(harmonious)
	if got, err := e.Tokens(context.Background(), p); !isNone(err) {
		t.Errorf("got %v and %v, want no tokens of a chat that the engine makes otherwise than it says", got, err)
	}
	text, _ := Read(APICompletions, []byte(`{"model":"m","prompt":"a"}`))
	if got, err := e.Tokens(context.Background(), text); err != nil || len(got.Tokens) != 4 {
		t.Errorf("got %v and %v, want the 4 tokens of a text", got, err)
	}
	e.servers = fixed(nil)
	if _, err := e.Tokens(context.Background(), p); !isNone(err) {
		t.Errorf("got %v, want no tokens without a server", err)
	}
}

func TestRenderer(t *testing.T) {
	s := newServer(t, 200, `{"token_ids":[1,2,3],"features":{"mm_hashes":{"image":["h2","h1"]},
		"mm_placeholders":{"image":[{"offset":2,"length":1},{"offset":0,"length":2}]}}}`)
	r := newRenderer(&scoring.TokenBackend{URL: s.URL + "/", Model: "base", Timeout: time.Minute,
		MediaTimeout: time.Minute})
	p, _ := Read(APIChat, []byte(`{"model":"m","stream":true,"messages":[{"content":[{"type":"image_url"}]}]}`))
	got, err := r.Tokens(context.Background(), p)
	want := Encoded{Tokens: []uint32{1, 2, 3}, Media: []Media{{"h1", 0, 2}, {"h2", 2, 1}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v and %v, want %v", got, err, want)
	}
	if q := s.asked[0]; s.paths[0] != "/v1/chat/completions/render" || q["model"] != "base" || q["stream"] != nil {
		t.Errorf("asked %s %v", s.paths[0], q)
	}
	s.answer = `[{"token_ids":[4]}]`
	p, _ = Read(APICompletions, []byte(`{"model":"m","prompt":"a"}`))
	if got, err := r.Tokens(context.Background(), p); err != nil || !slices.Equal(got.Tokens, []uint32{4}) ||
		s.paths[1] != "/v1/completions/render" {
		t.Errorf("got %v and %v at %s, want 4", got, err, s.paths[1])
	}
}

// counting makes a token of each byte.
type counting struct {
	calls atomic.Int32
	hold  chan struct{}
}

func (c *counting) Tokens(_ context.Context, p *Prompt) (Encoded, error) {
	c.calls.Add(1)
	if c.hold != nil {
		<-c.hold
	}
	return Encoded{Tokens: make([]uint32, len(p.Text)), Timed: p.Text == "now"}, nil
}

// TestPool: what was made is not made again, also when nobody waited for it any more.
func TestPool(t *testing.T) {
	b := &counting{}
	p := newPool(b, 1)
	text := func(s string) *Prompt { return &Prompt{Model: "m", Text: s} }
	for _, s := range []string{"a", "a", "b", "now", "now"} {
		if e, err := p.Tokens(context.Background(), text(s)); err != nil || len(e.Tokens) != len(s) {
			t.Fatal(e, err)
		}
	}
	if e, err := p.Tokens(context.Background(), &Prompt{IDs: []uint32{1, 2}}); err != nil || len(e.Tokens) != 2 {
		t.Error("tokens that a client sends are not taken as they are")
	}
	if n := b.calls.Load(); n != 4 { // what tells the time is made each time
		t.Errorf("%d calls, want 4", n)
	}
	b.hold = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := p.Tokens(ctx, text("late"))
		done <- err
	}()
	for b.calls.Load() != 5 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of waiting", err)
	}
	if _, err := p.Tokens(ctx, text("no worker")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of waiting for a worker", err)
	}
	close(b.hold)
	if e, err := p.Tokens(context.Background(), text("late")); err != nil || len(e.Tokens) != 4 || b.calls.Load() > 6 {
		t.Error(e, err)
	}
	p.workers <- struct{}{} // the one that was given up has ended
	if _, ok := p.cache.get(text("late").key()); !ok {
		t.Error("what was made too late is not kept")
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache(10_000)
	for i := range 100 {
		c.put(cacheKey{uint64(i)}, Encoded{Tokens: make([]uint32, 100)})
		c.get(cacheKey{0})
	}
	c.put(cacheKey{200}, Encoded{Tokens: make([]uint32, 10_000)})
	c.put(cacheKey{201}, Encoded{Tokens: make([]uint32, 1, 10_000)})
	if c.bytes > 10_000 || len(c.byKey) != c.order.Len() || len(c.byKey) == 0 {
		t.Errorf("%d bytes in %d entries", c.bytes, len(c.byKey))
	}
	for key, want := range map[uint64]bool{0: true, 99: true, 1: false, 200: false, 201: false} {
		if _, ok := c.get(cacheKey{key}); ok != want {
			t.Errorf("entry %d: %v, want %v", key, ok, want)
		}
	}
}

// TestKeysDiffer: whatever the tokens depend on makes another key.
func TestKeysDiffer(t *testing.T) {
	seen := map[cacheKey]string{}
	for _, body := range []string{
		`{"messages":[1]}`, `{"messages":[2]}`, `{"messages":[1],"tools":[1]}`, `{"messages":[1],"documents":[1]}`,
		`{"messages":[1],"model":"m"}`, `{"messages":[1],"chat_template":"t"}`, `{"messages":[1],"add_special_tokens":true}`,
		`{"messages":[1],"add_special_tokens":false}`, `{"messages":[1],"add_generation_prompt":false}`,
		`{"messages":[1],"continue_final_message":true}`, `{"messages":[1],"chat_template_kwargs":{"a":1}}`,
		`{"messages":[1],"tools":[1],"tool_choice":"none"}`, `{"messages":[1],"mm_processor_kwargs":{"a":1}}`,
		`{"messages":[1],"media_io_kwargs":{"a":1}}`, `{"messages":[1],"reasoning":{"effort":"low"}}`,
		`{"messages":[1],"task":"title"}`, `{"messages":[1],"input_ids":[1]}`, `{"messages":[1],"reasoning_effort":"low"}`,
		`{"messages":[1],"chat_template_kwargs":{"reasoning_effort":"low","enable_thinking":true}}`,
		`{"messages":[1],"response_format":{"type":"json_object"}}`,
	} {
		p, err := Read(APIChat, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if other, known := seen[p.key()]; known {
			t.Errorf("%s has the key of %s", body, other)
		}
		seen[p.key()] = body
	}
	// A salt is part of the blocks' keys, and changes no token.
	p, _ := Read(APIChat, []byte(`{"messages":[1],"cache_salt":"s"}`))
	if seen[p.key()] == "" {
		t.Error("a salt makes another key")
	}
}
