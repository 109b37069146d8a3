package tokens

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// Server is a model server that can be asked.
type Server struct {
	// URL has no path, Client is how it is reached, Header what goes with every request. Host is the name that it is
	// asked by; empty is the URL's.
	URL    string
	Host   string
	Client *http.Client
	Header http.Header
	// SGLang is set when it is known to be one, and no vLLM.
	SGLang bool
}

// Servers knows the model servers.
type Servers interface {
	// For returns servers of a model, at most so many, the one to be asked first in front.
	For(model string, most int) []Server
	// SGLang reports whether any server of a model is known to be SGLang, which renders chats in ways of its own.
	SGLang(model string) bool
}

// engines asks the model servers themselves, by the endpoint /tokenize that vLLM and SGLang have.
type engines struct{ servers Servers }

// mostAnswer bounds the answer of a server.
const mostAnswer = 32 << 20

// mostAsked bounds how many servers are asked for one prompt.
const mostAsked = 2

// harmony are the tokens <|start|>system<|message|> of gpt-oss. vLLM's /tokenize answers chats by the model's template,
// while their prompts are made by the library of the format, and differ: behind instructions, in tools and their calls.
var harmony = []uint32{200006, 17360, 200008}

// answering is what a server says. Without tokens it is none: a prompt that makes none has an empty list of them.
type answering interface{ hasTokens() bool }

// tokenized is the answer to /tokenize.
type tokenized struct {
	Tokens []uint32 `json:"tokens"`
}

func (a *tokenized) hasTokens() bool { return a.Tokens != nil }

// Tokens implements Backend.
func (b *engines) Tokens(ctx context.Context, p *Prompt) (Encoded, error) {
	if p.HasMedia() {
		return Encoded{}, ErrNone("media")
	}
	servers := b.servers.For(p.Model, mostAsked)
	if len(servers) == 0 {
		return Encoded{}, ErrNone("no server")
	}
	var err error
	for i, s := range servers {
		var question []byte
		if question, err = s.question(p); err != nil {
			return Encoded{}, err
		}
		var answer tokenized
		asking, cancel := share(ctx, len(servers)-i)
		err = post(asking, &s, "/tokenize", question, &answer)
		if cancel(); err == nil {
			if p.Chat && len(answer.Tokens) >= len(harmony) && slices.Equal(answer.Tokens[:len(harmony)], harmony) {
				return Encoded{}, ErrNone("harmony")
			}
			return Encoded{Tokens: answer.Tokens}, nil
		}
		if isNone(err) {
			break
		}
	}
	return Encoded{}, err
}

// share is the time for one of the servers that are left to be asked: should it hang, the others have as much.
func share(ctx context.Context, left int) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
}

// question is what a server is asked of a prompt.
func (s *Server) question(p *Prompt) ([]byte, error) {
	if s.SGLang {
		return askSGLang(p)
	}
	return json.Marshal(tokenize(p))
}

// tokenize is the body of a question to vLLM's /tokenize.
func tokenize(p *Prompt) map[string]any {
	q := map[string]any{"model": p.Model}
	if p.AddSpecial != nil {
		q["add_special_tokens"] = *p.AddSpecial
	}
	if !p.Chat {
		q["prompt"] = p.Text
		return q
	}
	q["messages"], q["continue_final_message"] = p.Messages, p.Continue
	// What engines do unless told otherwise is left unsaid: it may be an SGLang, before that is known, which only then
	// renders chats as those that it answers.
	if !p.AddGeneration {
		q["add_generation_prompt"] = false
	}
	if p.Tools != nil {
		q["tools"] = p.Tools
	}
	if p.Template != "" {
		q["chat_template"] = p.Template
	}
	values := map[string]json.RawMessage{}
	for key, value := range p.TemplateValues {
		values[key] = value
	}
	if p.Documents != nil {
		values["documents"] = p.Documents
	}
	if len(values) > 0 {
		q["chat_template_kwargs"] = values
	}
	return q
}

// post asks a server and decodes its answer. A server that does not take the prompt says that it has no tokens. No
// error has words of the server: they may be the prompt's.
func post(ctx context.Context, s *Server, path string, question []byte, said answering) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, bytes.NewReader(question))
	if err != nil {
		return err
	}
	for name, values := range s.Header {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/json")
	request.Host = cmp.Or(s.Host, request.Host)
	who := request.URL.Redacted()
	client := *s.Client
	client.CheckRedirect = stay
	response, err := client.Do(request)
	if err != nil {
		return unanswered(who, err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	switch {
	case err != nil:
		return unanswered(who, err)
	case response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnprocessableEntity:
		return ErrNone("refused")
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %d", who, response.StatusCode)
	}
	if json.Unmarshal(content, said) != nil || !said.hasTokens() {
		return errors.New(who + " does not answer with tokens")
	}
	return nil
}
