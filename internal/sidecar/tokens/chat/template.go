// Package chat makes the text of a chat as vLLM does: it brings the messages into the form that templates are written
// for, and renders the template that lies beside the model's tokenizer. Of what it is not sure it makes no text.
//
// Source: vLLM 0.32 and transformers 5.19, by whose results it is tested.
package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/jinja"
)

// Template is a model's chat template with what it needs. It is safe for concurrent use.
type Template struct {
	plain, tools variant // tools is for requests with tools
	special      *jinja.Dict
}

// variant is a template and the form of messages that it wants.
type variant struct {
	*jinja.Template
	parts bool
	// developer is whether it knows that role.
	developer bool
}

// ErrNone says that a model has no chat template.
var ErrNone = errors.New("there is no chat template")

// The files beside a tokenizer.json that templates come from, the first one that is there.
const (
	fileTemplate = "chat_template.jinja"
	fileConfig   = "tokenizer_config.json"
	// fileProcessor and folderMore hold templates that the engine may prefer.
	fileProcessor = "chat_template.json"
	folderMore    = "additional_chat_templates"
	// fileTools is the one there that the engine takes by itself, for requests with tools.
	fileTools = folderMore + "/tool_use.jinja"
)

// Files are those that Open reads, or refuses.
var Files = []string{fileConfig, fileTemplate, fileProcessor, fileTools}

// special are the tokens that templates can read.
var special = []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}

// Open reads the template of a folder. The error is ErrNone where there is none, else it says what is wrong with it or
// not known here.
func Open(dir string) (*Template, error) {
	for _, other := range []string{fileProcessor, folderMore} {
		if _, err := os.Stat(filepath.Join(dir, other)); err == nil {
			return nil, fmt.Errorf("%s: is not known here", filepath.Join(dir, other))
		}
	}
	var c struct {
		Template json.RawMessage `json:"chat_template"`
	}
	config, err := os.ReadFile(filepath.Join(dir, fileConfig))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		config = []byte("{}")
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, fileConfig), err)
	}
	source, err := os.ReadFile(filepath.Join(dir, fileTemplate))
	if err == nil {
		c.Template, _ = json.Marshal(string(source))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t, err := newTemplate(c.Template, config)
	if err != nil && !errors.Is(err, ErrNone) {
		return nil, fmt.Errorf("the chat template in %s: %w", dir, err)
	}
	return t, err
}

// newTemplate reads a template, or a list of those that have names.
func newTemplate(template, config json.RawMessage) (*Template, error) {
	var source string
	var named []struct{ Name, Template string }
	if len(template) == 0 || string(template) == "null" {
		return nil, ErrNone
	}
	if json.Unmarshal(template, &source) != nil {
		if err := json.Unmarshal(template, &named); err != nil {
			return nil, errors.New("is neither a text nor a list of named ones")
		}
	}
	withTools := source
	for _, n := range named {
		switch n.Name {
		case "default":
			source = n.Template
		case "tool_use":
			withTools = n.Template
		}
	}
	if withTools == "" {
		withTools = source
	}
	if source == "" {
		return nil, errors.New("has no default")
	}
	t := &Template{special: &jinja.Dict{}}
	var err error
	if t.plain, err = newVariant(source); err == nil {
		t.tools, err = newVariant(withTools)
	}
	if err != nil {
		return nil, err
	}
	return t, t.readSpecial(config)
}

// errHarmony is of templates in the format of gpt-oss: vLLM makes the prompts of its chats by that format's library,
// not by the template, and they differ.
var errHarmony = errors.New("is of the harmony format, whose prompts the engine makes without it")

func newVariant(source string) (variant, error) {
	t, err := jinja.Parse(source)
	if err != nil {
		return variant{}, err
	}
	if t.Mentions("<|start|>") && t.Mentions("<|channel|>") && t.Mentions("<|message|>") {
		return variant{}, errHarmony
	}
	return variant{t, t.WantsParts(), t.Mentions(`"developer"`) || t.Mentions("'developer'")}, nil
}

// readSpecial reads the special tokens. One that the template reads has to be there, null for none: a model's class may
// have others where nothing is said.
func (t *Template) readSpecial(config []byte) error {
	var tokens map[string]json.RawMessage
	if err := json.Unmarshal(config, &tokens); err != nil {
		return err
	}
	for _, id := range special {
		raw, ok := tokens[id]
		var token string
		var added struct{ Content string }
		switch {
		case !ok && (t.plain.Names(id) || t.tools.Names(id)):
			return fmt.Errorf("reads %s, which %s does not have", id, fileConfig)
		case !ok || string(raw) == "null":
		case json.Unmarshal(raw, &token) == nil:
			t.special.Set(id, token)
		case json.Unmarshal(raw, &added) == nil:
			t.special.Set(id, added.Content)
		default:
			return fmt.Errorf("%s in %s is no token", id, fileConfig)
		}
	}
	return nil
}
