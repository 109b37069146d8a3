package tokens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// service asks llm-d's tokenizer service, which renders prompts as vLLM does, by gRPC. What its protocol cannot say is
// left to the model servers.
type service struct {
	client *grpcClient
	// model is the name, or the folder, by which the service knows the model.
	model string
	// beginning is held by who has the service load the model; loaded is set, under it, once it has.
	beginning    chan struct{}
	loaded       bool
	text, images time.Duration
	servers      Servers
}

// How long the service may take, as in llm-d.
const (
	serviceTimeout      = 5 * time.Second
	serviceMediaTimeout = 30 * time.Second
)

const serviceMethod = "/tokenization.TokenizationService/"

func newService(c *scoring.TokenBackend, servers Servers) *service {
	network := "unix"
	if c.TCP {
		network = "tcp"
	}
	model := c.Model
	if path, ok := c.Mapped(); ok {
		model = path
		if filepath.Base(model) == fileTokenizer {
			model = filepath.Dir(model)
		}
	}
	return &service{client: newGRPC(network, c.Socket, grpcPing), model: model, beginning: make(chan struct{}, 1),
		text: serviceTimeout, images: serviceMediaTimeout, servers: servers}
}

// Tokens implements Backend.
func (s *service) Tokens(ctx context.Context, p *Prompt) (Encoded, error) {
	others := &engines{servers: s.servers}
	method, question, ok := s.question(p)
	if !ok || p.Chat && s.servers.SGLang(p.Model) && !p.plain() {
		return others.Tokens(ctx, p)
	}
	wait := s.text
	if p.HasMedia() {
		wait = s.images
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	answer, err := s.ask(ctx, method, question)
	var said *grpcError
	if errors.As(err, &said) && said.code == grpcUnimplemented {
		return others.Tokens(ctx, p)
	}
	if err != nil {
		return Encoded{}, err
	}
	r, err := readRendered(answer, p.Chat)
	if err != nil {
		return Encoded{}, err
	}
	return r.encoded()
}

// ask calls a method once the model is loaded. The service says of all mistakes alike that they are its own: one that
// has the model and fails again does not take the prompt. Its words are left out of errors: they may be the prompt's.
func (s *service) ask(ctx context.Context, method string, question []byte) ([]byte, error) {
	var said *grpcError
	for again := false; ; again = true {
		if err := s.load(ctx, again); err != nil {
			return nil, err
		}
		answer, err := s.client.call(ctx, serviceMethod+method, question)
		if err == nil || !errors.As(err, &said) {
			return answer, err
		}
		if said.code != grpcInternal {
			return nil, &grpcError{code: said.code}
		}
		if again {
			return nil, ErrNone("refused")
		}
	}
}

// load has the service load the model, unless it has done so. It may be another service than before: then anew.
func (s *service) load(ctx context.Context, anew bool) error {
	select {
	case s.beginning <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.beginning }()
	if s.loaded && !anew {
		return nil
	}
	s.loaded = false
	answer, err := s.client.call(ctx, serviceMethod+"InitializeTokenizer", appendLoad(nil, s.model))
	if err != nil {
		return fmt.Errorf("tokenizer service: %w", err)
	}
	if err := readLoaded(answer); err != nil {
		return fmt.Errorf("tokenizer service: %q: %w", s.model, err)
	}
	s.loaded = true
	return nil
}

// question is the method that makes a prompt's tokens, and what it is to be asked. It is not ok when the protocol
// cannot say what the prompt's tokens depend on.
func (s *service) question(p *Prompt) (method string, message []byte, ok bool) {
	if p.AddSpecial != nil {
		return "", nil, false
	}
	if !p.Chat {
		return "RenderCompletion", appendCompletion(nil, s.model, p.Text), true
	}
	var messages []map[string]json.RawMessage
	if json.Unmarshal(p.Messages, &messages) != nil {
		return "", nil, false
	}
	if (given(p.Processor) || given(p.MediaIO)) && p.HasMedia() {
		return "", nil, false
	}
	values := map[string]json.RawMessage{}
	for key, value := range p.TemplateValues {
		values[key] = value
	}
	if p.Documents != nil {
		values["documents"] = p.Documents
	}
	c := chatQuestion{model: s.model, template: p.Template, tools: p.Tools, addGeneration: p.AddGeneration,
		goOn: p.Continue}
	if len(values) > 0 {
		c.values, _ = json.Marshal(values)
	}
	for _, m := range messages {
		said, ok := readMessage(m)
		if !ok {
			return "", nil, false
		}
		c.messages = append(c.messages, said)
	}
	return "RenderChatCompletion", c.append(nil), true
}

// chatMessage is a message of a chat, as far as the protocol has one.
type chatMessage struct {
	role    string
	content *string
	parts   []chatPart
	calls   json.RawMessage
}

// chatPart is a text, or an image by its URL.
type chatPart struct {
	text  *string
	image string
}

// readMessage is not ok when a message has more than the protocol can say.
func readMessage(m map[string]json.RawMessage) (said chatMessage, ok bool) {
	for key, value := range m {
		if !given(value) {
			continue
		}
		switch key {
		case "role":
			ok = json.Unmarshal(value, &said.role) == nil
		case "content":
			if !said.readContent(value) {
				return said, false
			}
		case "tool_calls":
			said.calls = value
		default:
			return said, false
		}
	}
	return said, ok
}

// readContent reads a text, or its parts.
func (m *chatMessage) readContent(content json.RawMessage) bool {
	var text string
	if json.Unmarshal(content, &text) == nil {
		m.content = &text
		return true
	}
	var parts []map[string]json.RawMessage
	if json.Unmarshal(content, &parts) != nil || len(parts) == 0 {
		return false
	}
	for _, part := range parts {
		read, ok := readPart(part)
		if !ok {
			return false
		}
		m.parts = append(m.parts, read)
	}
	return true
}

func readPart(part map[string]json.RawMessage) (said chatPart, ok bool) {
	var kind string
	if json.Unmarshal(part["type"], &kind) != nil || len(part) != 2 {
		return said, false
	}
	switch kind {
	case "text":
		err := json.Unmarshal(part["text"], &said.text)
		return said, err == nil && said.text != nil
	case "image_url":
		var image map[string]string
		err := json.Unmarshal(part["image_url"], &image)
		said.image = image["url"]
		return said, err == nil && len(image) == 1 && said.image != ""
	}
	return said, false
}
