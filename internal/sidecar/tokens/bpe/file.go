// Package bpe makes tokens of text by the tokenizer.json of a model: byte-level BPE with the patterns that most models
// have, and BPE and Unigram of characters as SentencePiece makes them. What it does not know is refused when the file
// is read, so that no token is ever a wrong one.
//
// Source: the library tokenizers of Hugging Face, whose results it is tested against.
package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// file is a tokenizer.json.
type file struct {
	Added  []addedToken   `json:"added_tokens"`
	Normal *normalizer    `json:"normalizer"`
	Pre    *preTokenizer  `json:"pre_tokenizer"`
	Post   *postProcessor `json:"post_processor"`
	Model  model          `json:"model"`
}

type addedToken struct {
	ID         uint32 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	Left       bool   `json:"lstrip"`
	Right      bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

type normalizer struct {
	Type    string       `json:"type"`
	Parts   []normalizer `json:"normalizers"`
	Prepend string       `json:"prepend"`
	Content string       `json:"content"`
	Pattern pattern      `json:"pattern"`
}

// pattern is one of its fields.
type pattern struct {
	Regex  string  `json:"Regex"`
	String *string `json:"String"`
}

type preTokenizer struct {
	Type     string         `json:"type"`
	Parts    []preTokenizer `json:"pretokenizers"`
	AddSpace bool           `json:"add_prefix_space"`
	UseRegex *bool          `json:"use_regex"`
	Pattern  pattern        `json:"pattern"`
	Behavior string         `json:"behavior"`
	Invert   bool           `json:"invert"`
	// The rest is of Metaspace.
	Replacement string `json:"replacement"`
	Scheme      string `json:"prepend_scheme"`
	Split       *bool  `json:"split"`
}

type postProcessor struct {
	Type    string          `json:"type"`
	Parts   []postProcessor `json:"processors"`
	Single  []templatePart  `json:"single"`
	Special map[string]struct {
		IDs []uint32 `json:"ids"`
	} `json:"special_tokens"`
}

type templatePart struct {
	Special *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
	Sequence *struct{} `json:"Sequence"`
}

// New reads a tokenizer.json. The error says what in it is not known here.
func New(content []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(content, &f); err != nil {
		return nil, fmt.Errorf("is no tokenizer.json: %w", err)
	}
	t := &Tokenizer{ignoreMerges: f.Model.IgnoreMerges}
	for _, read := range []func(*file) error{t.readNormalizer, t.readModel, t.readPreTokenizer, t.readAdded,
		t.readPost} {
		if err := read(&f); err != nil {
			return nil, err
		}
	}
	t.readWholes()
	t.words.most = mostWords
	t.seen.most = mostSeen
	return t, nil
}

// inTurn returns the parts of a Sequence, and of another kind the whole.
func inTurn[T any](whole T, kind string, parts []T) []T {
	if kind == "Sequence" {
		return parts
	}
	return []T{whole}
}

func (t *Tokenizer) readNormalizer(f *file) error {
	if f.Normal == nil {
		return nil
	}
	for _, p := range inTurn(*f.Normal, f.Normal.Type, f.Normal.Parts) {
		before, next := t.normal, p.function()
		if next == nil {
			return fmt.Errorf("normalizer.type: %q as it is there is not known here", p.Type)
		}
		if t.normal = next; before != nil {
			t.normal = func(text string) string { return next(before(text)) }
		}
		switch p.Type {
		case "NFC":
			t.newer = append(t.newer, newerMarks)
		case "NFKC":
			t.newer = append(t.newer, newerMarks, newerForms)
		}
		if p.Type == "Replace" && *p.Pattern.String == " " && p.Content == blank {
			t.blanked = true
		}
	}
	return nil
}

func (t *Tokenizer) readPreTokenizer(f *file) error {
	if !f.Pre.isByteLevel() {
		return t.readBlanks(f.Pre)
	}
	bytes := false
	for _, p := range inTurn(*f.Pre, f.Pre.Type, f.Pre.Parts) {
		switch {
		case p.Type == "Split" && p.Pattern.Regex != "" && p.Behavior == "Isolated" && !p.Invert && t.split == nil &&
			!bytes:
			if t.split = splitters[p.Pattern.Regex]; t.split == nil {
				return fmt.Errorf("pre_tokenizer.pattern: %q is not known here", p.Pattern.Regex)
			}
		case p.Type == "ByteLevel" && !p.AddSpace && !bytes:
			bytes = true
			if p.UseRegex == nil || *p.UseRegex {
				if t.split != nil {
					return errors.New("pre_tokenizer: splits twice, which is not known here")
				}
				t.split = splitGPT2
			}
		default:
			return fmt.Errorf("pre_tokenizer: %s as it is there is not known here", p.Type)
		}
	}
	if !bytes || t.split == nil {
		return errors.New("pre_tokenizer: is not byte-level with a known pattern")
	}
	return nil
}

func (t *Tokenizer) readAdded(f *file) error {
	ids := map[string]uint32{}
	next := uint32(len(f.Model.Vocabulary))
	for _, a := range f.Added {
		if _, twice := ids[a.Content]; twice || a.Content == "" {
			continue // the first one counts
		}
		// The library goes by the vocabulary, and by the order of those that are not in it, whatever the file says.
		id, ok := f.Model.Vocabulary[a.Content]
		if !ok {
			id = next
		}
		ids[a.Content], next = id, max(next, id+1)
		switch {
		case a.ID != id:
			return fmt.Errorf("added_tokens: %q has the id %d, and the model servers take it for %d", a.Content, a.ID,
				id)
		case a.SingleWord:
			return fmt.Errorf("added_tokens: %q has to be a word of its own, which is not known here", a.Content)
		case a.Normalized && t.normal != nil && t.normal(a.Content) != a.Content:
			return fmt.Errorf("added_tokens: %q is normalized, which is not known here", a.Content)
		}
		// Those that are not normalized come first, also where no text is.
		if a.Normalized {
			t.late.add(a)
		} else {
			t.early.add(a)
		}
	}
	return nil
}

func (t *Tokenizer) readPost(f *file) error {
	if f.Post == nil {
		return nil
	}
	for _, p := range inTurn(*f.Post, f.Post.Type, f.Post.Parts) {
		switch p.Type {
		case "ByteLevel":
		case "TemplateProcessing":
			if err := t.readTemplate(&p); err != nil {
				return err
			}
		default:
			return fmt.Errorf("post_processor.type: %q is not known here", p.Type)
		}
	}
	return nil
}

// readTemplate reads which tokens stand before and behind a text.
func (t *Tokenizer) readTemplate(p *postProcessor) error {
	behind := false
	for _, part := range p.Single {
		switch {
		case part.Sequence != nil && !behind:
			behind = true
		case part.Special != nil && len(p.Special[part.Special.ID].IDs) > 0:
			if ids := p.Special[part.Special.ID].IDs; behind {
				t.after = append(t.after, ids...)
			} else {
				t.before = append(t.before, ids...)
			}
		default:
			return errors.New("post_processor.single: is not one text with special tokens around it")
		}
	}
	return nil
}

// valid reports whether text is what a JSON document can hold.
func valid(text string) bool { return utf8.ValidString(text) }
