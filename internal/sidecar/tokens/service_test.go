package tokens

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/pintle-dev/pintle/scoring"
)

func servicePool(t *testing.T, c scoring.TokenBackend, servers Servers) *Pool {
	t.Helper()
	c.Kind, c.At, c.Workers = scoring.TokensOfService, "s", 4
	pool, err := NewPool(&c, servers)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// TestService: what prompts ask for arrives at the service in its own messages, by a socket and by TCP; what they
// cannot say is asked of the model servers.
func TestService(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	byFile, _ := startService(t, "unix", socket)
	byTCP, address := startService(t, "tcp", "127.0.0.1:0")
	engine := newServer(t, 200, `{"tokens":[9]}`)
	for _, to := range []struct {
		name    string
		service *tokenizerService
		backend scoring.TokenBackend
		model   string
	}{
		{"a socket", byFile, scoring.TokenBackend{Socket: socket, Model: "m"}, "m"},
		{"TCP and a folder", byTCP, scoring.TokenBackend{Socket: address, TCP: true, Model: "m",
			Files: []scoring.PreciseFile{{Model: "m", Path: "/models/m/tokenizer.json"}}}, "/models/m"},
	} {
		t.Run(to.name, func(t *testing.T) {
			pool := servicePool(t, to.backend, serversOf(engine))
			load := fmt.Sprintf(`InitializeTokenizer model_name:%q add_generation_prompt:true`, to.model)
			for i, tc := range serviceCases {
				p, err := Read(tc.api, []byte(tc.body))
				if err != nil {
					t.Fatal(err)
				}
				got, err := pool.Tokens(t.Context(), p)
				if err != nil || !slices.Equal(got.Tokens, tc.tokens) {
					t.Errorf("%s: got %v and %v, want %v", tc.body, got.Tokens, err, tc.tokens)
				}
				var want []string
				if i == 0 {
					want = []string{load}
				}
				if tc.asked != "" {
					want = append(want, strings.ReplaceAll(tc.asked, "MODEL", fmt.Sprintf("model_name:%q", to.model)))
				}
				if asked := to.service.take(); !slices.Equal(asked, want) {
					t.Errorf("%s: asked\n%q, want\n%q", tc.body, asked, want)
				}
			}
		})
	}
}

// serviceCases are requests with what the service is asked for them; nothing is asked of it when the model servers are.
var serviceCases = []struct {
	api, body, asked string
	tokens           []uint32
}{
	{APICompletions, `{"prompt":"a \u00e9"}`, `RenderCompletion MODEL prompt:"a é"`, []uint32{1, 2, 300}},
	{APICompletions, `{"prompt":"a","add_special_tokens":false}`, ``, []uint32{9}},
	{APIChat, `{"messages":[{"role":"user","content":"a"}]}`,
		`RenderChatCompletion MODEL messages:{role:"user" content:"a"} add_generation_prompt:true`, []uint32{4, 5}},
	{APIChat, `{"messages":[{"role":"system","content":""},{"role":"user","content":[{"type":"text","text":"a"},
		{"type":"text","text":"b"}]},{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"1"}]}],
		"tools":[{"x":1}],"chat_template":"t","chat_template_kwargs":{"k":1},"documents":[{"y":2}],
		"reasoning_effort":"none","add_generation_prompt":false,"continue_final_message":true}`,
		`RenderChatCompletion MODEL messages:{role:"system" content:""} messages:{role:"user" ` +
			`content_parts:{type:"text" text:"a"} content_parts:{type:"text" text:"b"}} messages:{role:"assistant" ` +
			`tool_calls_json:"[{\"id\":\"1\"}]"} tools_json:"[{\"x\":1}]" chat_template:"t" ` +
			`add_generation_prompt:false continue_final_message:true chat_template_kwargs:"{\"documents\":` +
			`[{\"y\":2}],\"enable_thinking\":false,\"k\":1,\"reasoning_effort\":\"none\"}"`, []uint32{4, 5}},
	{APIChat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}]}`,
		`RenderChatCompletion MODEL messages:{role:"user" content_parts:{type:"image_url" image_url:{url:"u"}}} ` +
			`add_generation_prompt:true`, []uint32{4, 5}},
	{APIChat, `{"messages":[{"role":"tool","content":"a","tool_call_id":"1"}]}`, ``, []uint32{9}},
	{APIChat, `{"messages":[{"role":"user","content":"a","name":"n"}]}`, ``, []uint32{9}},
	{APIChat, `{"messages":[{"role":"assistant","content":"a","reasoning":"r"}]}`, ``, []uint32{9}},
	{APIChat, `{"messages":[{"role":"user","content":[{"type":"text","text":"a","x":1}]}]}`, ``, []uint32{9}},
	{APIChat, `{"messages":[{"role":"user","content":[]}]}`, ``, []uint32{9}},
	{APIChat, `{"messages":[{"content":"a"}]}`, ``, []uint32{9}},
}

// TestServiceMedia: images are where the service says.
func TestServiceMedia(t *testing.T) {
	s, address := startService(t, "tcp", "127.0.0.1:0")
	s.says("RenderChatCompletion", `success: true token_ids: [1, 7, 7, 2, 8, 3] features {
		mm_hashes { key: "image" value { values: ["h1", "h2"] } }
		mm_placeholders { key: "image" value { ranges { offset: 1 length: 2 } ranges { offset: 4 length: 1 } } } }`)
	pool := servicePool(t, scoring.TokenBackend{Socket: address, TCP: true, Model: "m"}, fixed(nil))
	ask := func(more string) (Encoded, error) {
		p, err := Read(APIChat, []byte(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}},
			{"type":"image_url","image_url":{"url":"v"}}]}]`+more+`}`))
		if err != nil {
			t.Fatal(err)
		}
		return pool.Tokens(t.Context(), p)
	}
	got, err := ask("")
	if want := []Media{{"h1", 1, 2}, {"h2", 4, 1}}; err != nil || !slices.Equal(got.Media, want) {
		t.Errorf("got %v and %v, want %v", got.Media, err, want)
	}
	s.take()
	for _, more := range []string{`,"mm_processor_kwargs":{"k":1}`, `,"media_io_kwargs":{"image":{"k":1}}`} {
		if got, err := ask(more); !isNone(err) || len(s.take()) != 0 {
			t.Errorf("%s: got %v and %v, want no tokens: the protocol cannot say it", more, got, err)
		}
	}
}

// TestServiceFailures: a service that was started anew is asked to load the model again; a prompt that it does not take
// has no tokens; what it does not know is asked of the model servers; all else is a failure.
func TestServiceFailures(t *testing.T) {
	s, address := startService(t, "tcp", "127.0.0.1:0")
	engine := newServer(t, 200, `{"tokens":[9]}`)
	pool := servicePool(t, scoring.TokenBackend{Socket: address, TCP: true, Model: "m"}, serversOf(engine))
	n := 0
	ask := func() (Encoded, error) {
		n++ // no prompt is asked for twice
		return pool.Tokens(t.Context(), &Prompt{Text: fmt.Sprint("prompt ", n)})
	}
	for _, tc := range []struct {
		name, method, answer string
		calls                int
		tokens               []uint32
		err                  string
	}{
		{"it cannot load the model", "InitializeTokenizer", `error_message: "no such model"`, 1, nil,
			`tokenizer service: "m": no such model`},
		{"it can", "InitializeTokenizer", `success: true`, 2, []uint32{1, 2, 300}, ""},
		{"it has been started anew", "", "", 3, []uint32{1, 2, 300}, ""},
		{"it does not take the prompt", "RenderCompletion", "13 too long", 3, nil, "refused"},
		{"it is busy", "RenderCompletion", "8 too many", 1, nil, "gRPC status 8"},
		{"it fails", "RenderCompletion", `error_message: "oh"`, 1, nil, "tokenizer service: it failed"},
		{"it is old", "RenderCompletion", "12 what?", 1, []uint32{9}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.method == "" {
				s.restart()
			} else {
				s.says(tc.method, tc.answer)
			}
			got, err := ask()
			if calls := s.take(); len(calls) != tc.calls {
				t.Errorf("got %d calls, want %d: %q", len(calls), tc.calls, calls)
			}
			if !slices.Equal(got.Tokens, tc.tokens) || (err == nil) != (tc.err == "") ||
				err != nil && err.Error() != tc.err {
				t.Errorf("got %v and %v, want %v and %q", got.Tokens, err, tc.tokens, tc.err)
			}
			if isNone(err) != (tc.err == "refused") {
				t.Errorf("got %v: is it nothing wrong?", err)
			}
		})
	}
	nobody := servicePool(t, scoring.TokenBackend{Socket: filepath.Join(t.TempDir(), "none"), Model: "m"}, nil)
	if _, err := nobody.Tokens(t.Context(), &Prompt{Text: "a"}); err == nil || isNone(err) {
		t.Errorf("without a service: got %v, want a failure", err)
	}
}

// TestTimeouts: a backend that may take longer than others is given the time.
func TestTimeouts(t *testing.T) {
	for want, c := range map[time.Duration]scoring.TokenBackend{
		backendTimeout:      {Kind: scoring.TokensOfEngine},
		serviceMediaTimeout: {Kind: scoring.TokensOfService},
		time.Minute:         {Kind: scoring.TokensRendered, Timeout: time.Second, MediaTimeout: time.Minute},
	} {
		pool, err := NewPool(&c, nil)
		if err != nil || pool.timeout != want {
			t.Errorf("kind %d: got %v and %v, want %v", c.Kind, pool.timeout, err, want)
		}
	}
}

// FuzzService: no answer of a service does harm, and what the library writes is read as it is.
func FuzzService(f *testing.F) {
	for _, text := range []string{`success: true token_ids: [1, 4000000000]`,
		`features { mm_hashes { key: "image" value { values: "h" } } mm_placeholders { key: "image" ` +
			`value { ranges { offset: 1 length: 2 } } } } success: true error_message: "e"`} {
		m := serviceMessage("RenderChatCompletionResponse")
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := readRendered(message, true)
		_, _ = readRendered(message, false)
		_ = readLoaded(message)
		m := serviceMessage("RenderChatCompletionResponse").(*dynamicpb.Message)
		if proto.Unmarshal(message, m) != nil || err != nil {
			return
		}
		list := m.Get(m.Descriptor().Fields().ByName("token_ids")).List()
		if list.Len() != len(got.Tokens) {
			t.Fatalf("got %d tokens, want %d", len(got.Tokens), list.Len())
		}
		for i, token := range got.Tokens {
			if want := uint32(list.Get(i).Uint()); token != want {
				t.Errorf("token %d: got %d, want %d", i, token, want)
			}
		}
	})
}
