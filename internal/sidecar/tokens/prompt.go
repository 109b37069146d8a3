package tokens

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/rawjson"
)

// Prompt is what a request asks for, as far as its tokens depend on it. Raw parts are as the client wrote them.
type Prompt struct {
	Model string
	// Salt is the request's cache_salt.
	Salt string
	// IDs are a prompt that came as tokens.
	IDs []uint32
	// Text is a prompt that came as text, if Chat is not set.
	Text string
	Chat bool
	// Messages, Tools and Documents are those of a chat.
	Messages, Tools, Documents json.RawMessage
	// Choice is tool_choice, by which some engines leave tools out.
	Choice json.RawMessage
	// Template and TemplateValues replace the model's chat template and add to what it reads.
	Template       string
	TemplateValues map[string]json.RawMessage
	// Processor and MediaIO are mm_processor_kwargs and media_io_kwargs, by which media become more or fewer tokens.
	Processor, MediaIO json.RawMessage
	// Reasoning, Task and InputIDs are keys by which SGLang makes a chat another prompt, and vLLM does not. Effort and
	// Format are reasoning_effort and response_format as the client wrote them, for engines that are handed all keys.
	Reasoning, Task, InputIDs, Effort, Format json.RawMessage
	// AddGeneration has the template end with the beginning of an answer; Continue has it end within the last message.
	AddGeneration, Continue bool
	// AddSpecial has the tokenizer add what begins and ends a text; nil leaves it to the API.
	AddSpecial *bool
	// Body is all of the request.
	Body []byte
}

// body is what is read of a request.
type body struct {
	Model, Salt      string
	Prompt           json.RawMessage
	Messages, Tools  json.RawMessage
	Choice           json.RawMessage
	Documents        json.RawMessage
	Template         string
	TemplateValues   map[string]json.RawMessage
	Effort           json.RawMessage
	Processor        json.RawMessage
	MediaIO          json.RawMessage
	AddGeneration    *bool
	Continue         bool
	AddSpecial       *bool
	Truncate, Embeds json.RawMessage
	Suffix, ExtraKey json.RawMessage
	LoRAPath, Format json.RawMessage
	Reasoning, Task  json.RawMessage
	InputIDs         json.RawMessage
}

// read reads a request in one pass. Of a key that stands there twice the last one counts.
func (b *body) read(content []byte) error {
	r := rawjson.New(content)
	err := r.Object(func(key string) error {
		raw, err := r.Skip()
		if err != nil {
			return err
		}
		switch value := b.field(key).(type) {
		case nil:
			return nil
		case *json.RawMessage:
			*value = raw
			return nil
		case *map[string]json.RawMessage:
			*value, err = readValues(raw)
			return err
		default:
			return json.Unmarshal(raw, value)
		}
	})
	if err == nil && !r.AtEnd() {
		err = rawjson.ErrSyntax
	}
	return err
}

// mostTemplateValues bounds the keys of chat_template_kwargs: templates read a handful.
const mostTemplateValues = 1024

// readValues reads an object, nil for null.
func readValues(raw []byte) (map[string]json.RawMessage, error) {
	if !given(raw) {
		return nil, nil
	}
	values := map[string]json.RawMessage{}
	r := rawjson.New(raw)
	return values, r.Object(func(key string) error {
		value, err := r.Skip()
		if values[key] = value; err == nil && len(values) > mostTemplateValues {
			err = errors.New("has too many values for the template")
		}
		return err
	})
}

// field is where the value of a key goes, nil for nowhere.
func (b *body) field(key string) any {
	switch key {
	case "model":
		return &b.Model
	case "cache_salt":
		return &b.Salt
	case "prompt":
		return &b.Prompt
	case "messages":
		return &b.Messages
	case "tools":
		return &b.Tools
	case "tool_choice":
		return &b.Choice
	case "documents":
		return &b.Documents
	case "chat_template":
		return &b.Template
	case "chat_template_kwargs":
		return &b.TemplateValues
	case "reasoning_effort":
		return &b.Effort
	case "mm_processor_kwargs":
		return &b.Processor
	case "media_io_kwargs":
		return &b.MediaIO
	case "add_generation_prompt":
		return &b.AddGeneration
	case "continue_final_message":
		return &b.Continue
	case "add_special_tokens":
		return &b.AddSpecial
	case "truncate_prompt_tokens":
		return &b.Truncate
	case "prompt_embeds":
		return &b.Embeds
	case "suffix":
		return &b.Suffix
	case "extra_key":
		return &b.ExtraKey
	case "lora_path":
		return &b.LoRAPath
	case "response_format":
		return &b.Format
	case "reasoning":
		return &b.Reasoning
	case "task":
		return &b.Task
	case "input_ids":
		return &b.InputIDs
	}
	return nil
}

// The APIs whose prompts can be read.
const (
	APIChat        = "chat"
	APICompletions = "completions"
)

// Read reads a request. The error is an ErrNone: its prompt's tokens cannot be told. The prompt aliases content.
func Read(api string, content []byte) (*Prompt, error) {
	var b body
	if b.read(content) != nil {
		return nil, ErrNone("unreadable")
	}
	p := &Prompt{Model: b.Model, Salt: b.Salt, AddSpecial: b.AddSpecial, Body: content}
	switch {
	case given(b.Truncate):
		return nil, ErrNone("truncated")
	case given(b.Embeds):
		return nil, ErrNone("embeddings")
	case given(b.ExtraKey):
		// SGLang keeps blocks of another key apart, which its events do not tell.
		return nil, ErrNone("extra key")
	case given(b.LoRAPath):
		// Names another adapter than the model to SGLang, and nothing to others.
		return nil, ErrNone("lora path")
	case api == APICompletions:
		return p, p.readText(&b)
	case api != APIChat:
		return nil, ErrNone("api")
	case len(b.Messages) == 0:
		return nil, ErrNone("no messages")
	}
	p.Chat, p.Messages, p.Template, p.Continue = true, b.Messages, b.Template, b.Continue
	p.AddGeneration = b.AddGeneration == nil || *b.AddGeneration
	if given(b.Tools) {
		p.Tools, p.Choice = b.Tools, b.Choice
	}
	p.Documents, p.Format, p.Effort = orNil(b.Documents), orNil(b.Format), orNil(b.Effort)
	p.Reasoning, p.Task, p.InputIDs = orNil(b.Reasoning), orNil(b.Task), orNil(b.InputIDs)
	p.TemplateValues, p.Processor, p.MediaIO = b.TemplateValues, b.Processor, b.MediaIO
	p.addEffort(b.Effort)
	return p, nil
}

// without is the request but for some of its keys.
func (p *Prompt) without(keys ...string) (fields map[string]json.RawMessage, err error) {
	if err = json.Unmarshal(p.Body, &fields); err != nil {
		return nil, err
	}
	for _, key := range keys {
		delete(fields, key)
	}
	return fields, nil
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

func orNil(raw json.RawMessage) json.RawMessage {
	if !given(raw) {
		return nil
	}
	return raw
}

// readText reads the prompt of a completion: one text, or one list of tokens.
func (p *Prompt) readText(b *body) error {
	var texts []string
	var lists [][]uint32
	switch {
	case given(b.Suffix):
		return ErrNone("suffix")
	case json.Unmarshal(b.Prompt, &p.Text) == nil:
	case json.Unmarshal(b.Prompt, &texts) == nil && len(texts) == 1:
		p.Text = texts[0]
	case json.Unmarshal(b.Prompt, &p.IDs) == nil && len(p.IDs) > 0:
	case json.Unmarshal(b.Prompt, &lists) == nil && len(lists) == 1:
		p.IDs = lists[0]
	default:
		return ErrNone("several prompts")
	}
	return nil
}

// addEffort has the template read reasoning_effort as vLLM does: with it, thinking is on unless it is none.
func (p *Prompt) addEffort(effort json.RawMessage) {
	if !given(effort) {
		return
	}
	values := map[string]json.RawMessage{"reasoning_effort": effort}
	thinking := "true"
	if bytes.Equal(effort, []byte(`"none"`)) {
		thinking = "false"
	}
	values["enable_thinking"] = json.RawMessage(thinking)
	for key, value := range p.TemplateValues {
		if key != "reasoning_effort" {
			values[key] = value
		}
	}
	p.TemplateValues = values
}

// HasMedia reports whether a chat has parts that are not text.
func (p *Prompt) HasMedia() bool {
	if !p.Chat {
		return false
	}
	var messages []struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(p.Messages, &messages) != nil {
		return true
	}
	for _, m := range messages {
		var parts []json.RawMessage
		if len(m.Content) == 0 || m.Content[0] != '[' {
			continue
		}
		if json.Unmarshal(m.Content, &parts) != nil || slices.ContainsFunc(parts, isMedia) {
			return true
		}
	}
	return false
}

// isMedia reports whether a part of a message is no text. One without a type is an image, too, if it has an image_url.
func isMedia(raw json.RawMessage) bool {
	if raw[0] == '"' {
		return false
	}
	var part struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &part) != nil {
		return true
	}
	switch part.Type {
	case "text", "refusal", "thinking", "input_text", "output_text":
		return false
	}
	return true
}
