package servers

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Prompt is a completion's, with the tokens that its server makes of it.
type Prompt struct {
	Model, Text, Salt string
	Tokens            []uint32
	// More are further keys of its requests.
	More map[string]any
	base string
	t    *testing.T
}

// Words is a text that begins with head and has so many words more, the same each time.
func Words(head string, words int) string {
	random := rand.New(rand.NewPCG(uint64(len(head)), uint64(words)))
	text := head
	for range words {
		text += " " + []string{"alpha", "river", "seven", "cloud", "import", "value"}[random.IntN(6)]
	}
	return text
}

// NewPrompt asks a server, whose address base is as a URL, for the tokens of a text.
func NewPrompt(t *testing.T, base, model, text string) *Prompt {
	t.Helper()
	p := &Prompt{Model: model, Text: text, base: base, t: t}
	var answer struct{ Tokens []uint32 }
	p.call("/tokenize", map[string]any{"model": model, "prompt": text}, &answer)
	p.Tokens = answer.Tokens
	return p
}

func (p *Prompt) call(path string, body map[string]any, answer any) {
	p.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := (&http.Client{Timeout: time.Minute}).Post(p.base+path, "application/json",
		strings.NewReader(string(text)))
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil || response.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: got %s, %v", path, response.Status, err)
	}
}

// Send has one token made and returns how many of the prompt's the server found in its cache.
func (p *Prompt) Send() (cached int) {
	p.t.Helper()
	body := map[string]any{"model": p.Model, "prompt": p.Text, "max_tokens": 1}
	if p.Salt != "" {
		body["cache_salt"] = p.Salt
	}
	for key, value := range p.More {
		body[key] = value
	}
	var answer struct {
		Usage struct {
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	p.call("/v1/completions", body, &answer)
	return answer.Usage.Details.Cached
}
