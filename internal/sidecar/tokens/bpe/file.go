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
	"strings"
	"unicode/utf8"
)

// file is a tokenizer.json.
type file struct {
	Added     []addedToken    `json:"added_tokens"`
	Normal    *normalizer     `json:"normalizer"`
	Pre       *preTokenizer   `json:"pre_tokenizer"`
	Post      *postProcessor  `json:"post_processor"`
	Model     model           `json:"model"`
	Truncated json.RawMessage `json:"truncation"`
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

type model struct {
	Type         string            `json:"type"`
	Written      json.RawMessage   `json:"vocab"`
	Vocabulary   map[string]uint32 `json:"-"`
	Merges       json.RawMessage   `json:"merges"`
	Dropout      *float64          `json:"dropout"`
	Prefix       *string           `json:"continuing_subword_prefix"`
	Suffix       *string           `json:"end_of_word_suffix"`
	ByteFallback bool              `json:"byte_fallback"`
	IgnoreMerges bool              `json:"ignore_merges"`
	Unknown      *string           `json:"unk_token"`
	FuseUnknown  bool              `json:"fuse_unk"`
	UnknownID    *int              `json:"unk_id"`
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

func (t *Tokenizer) readModel(f *file) error {
	m := &f.Model
	switch {
	case m.Type == "Unigram":
		return t.readUnigram(f)
	case m.Type != "BPE" && m.Type != "":
		return fmt.Errorf("model.type: %q is not known here; BPE and Unigram are", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.New("model.dropout: makes tokens by chance")
	case m.Prefix != nil && *m.Prefix != "" || m.Suffix != nil && *m.Suffix != "":
		return errors.New("model.continuing_subword_prefix and end_of_word_suffix are not known here")
	}
	if err := json.Unmarshal(m.Written, &m.Vocabulary); err != nil {
		return fmt.Errorf("model.vocab: %w", err)
	}
	if err := t.readMerges(m); err != nil {
		return err
	}
	if !f.Pre.isByteLevel() {
		return t.readCharacters(m)
	}
	if m.ByteFallback {
		return errors.New("model.byte_fallback: is not known here with a byte-level pre_tokenizer")
	}
	t.vocabulary = make(map[string]uint32, len(m.Vocabulary))
	for written, id := range m.Vocabulary {
		if text, ok := unwritten(written); ok {
			t.vocabulary[text] = id
		}
	}
	for b := range 256 {
		id, ok := t.vocabulary[string([]byte{byte(b)})]
		if !ok {
			return fmt.Errorf("model.vocab: has no token for the byte %d", b)
		}
		t.bytes[b] = id
	}
	return nil
}

func (t *Tokenizer) readMerges(m *model) error {
	var pairs [][2]string
	if json.Unmarshal(m.Merges, &pairs) != nil {
		var texts []string
		if err := json.Unmarshal(m.Merges, &texts); err != nil {
			return errors.New("model.merges: is no list of pairs")
		}
		for _, text := range texts {
			left, right, _ := strings.Cut(text, " ")
			pairs = append(pairs, [2]string{left, right})
		}
	}
	t.merges = newMerges(len(pairs))
	for rank, p := range pairs {
		left, ok1 := m.Vocabulary[p[0]]
		right, ok2 := m.Vocabulary[p[1]]
		both, ok3 := m.Vocabulary[p[0]+p[1]]
		if !ok1 || !ok2 || !ok3 {
			return fmt.Errorf("model.merges[%d]: %q is not of the vocabulary", rank, p)
		}
		t.merges.put(left, right, merged{uint32(rank), both})
	}
	return nil
}

// unwrittenBytes are what stands for the bytes in a vocabulary: themselves, and for those that are no visible
// characters others from U+0100 on.
var unwrittenBytes = func() map[rune]byte {
	from := map[rune]byte{}
	next := rune(256)
	for b := range 256 {
		to := rune(b)
		if b < '!' || b > '~' && b < 0xa1 || b == 0xad {
			to = next
			next++
		}
		from[to] = byte(b)
	}
	return from
}()

// unwritten returns the bytes that a token of the vocabulary stands for; false for one that is no bytes.
func unwritten(token string) (string, bool) {
	text := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := unwrittenBytes[r]
		if !ok {
			return "", false
		}
		text = append(text, b)
	}
	return string(text), true
}

func (t *Tokenizer) readNormalizer(f *file) error {
	if f.Normal == nil {
		return nil
	}
	parts := f.Normal.Parts
	if f.Normal.Type != "Sequence" {
		parts = []normalizer{*f.Normal}
	}
	for _, p := range parts {
		before, next := t.normal, p.function()
		if next == nil {
			return fmt.Errorf("normalizer.type: %q as it is there is not known here", p.Type)
		}
		if t.normal = next; before != nil {
			t.normal = func(text string) string { return next(before(text)) }
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
	parts := f.Pre.Parts
	if f.Pre.Type != "Sequence" {
		parts = []preTokenizer{*f.Pre}
	}
	bytes := false
	for _, p := range parts {
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
	for _, a := range f.Added {
		switch {
		case a.Content == "":
			continue
		case a.SingleWord:
			return fmt.Errorf("added_tokens: %q has to be a word of its own, which is not known here", a.Content)
		case a.Normalized && t.normal != nil && t.normal(a.Content) != a.Content:
			return fmt.Errorf("added_tokens: %q is normalized, which is not known here", a.Content)
		}
		// Where the text is normalized, those that are not come first.
		if a.Normalized && t.normal != nil {
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
	parts := f.Post.Parts
	if f.Post.Type != "Sequence" {
		parts = []postProcessor{*f.Post}
	}
	for _, p := range parts {
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
